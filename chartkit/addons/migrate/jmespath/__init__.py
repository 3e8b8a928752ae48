"""Expressions in JMESPath as expressions in CEL: the tree node by node, functions by a table.

It imports its parent's modules; conditions and rule types import it.
"""

from __future__ import annotations

from chartkit.addons.migrate.jmespath.projections import stream_of
from chartkit.addons.migrate.jmespath.terms import Constant, Generator, Names, Stream, Term, Value
from chartkit.addons.migrate.jmespath.translate import Translator

__all__ = ["Constant", "Generator", "Names", "Stream", "Term", "Translator", "Value", "stream_of"]
