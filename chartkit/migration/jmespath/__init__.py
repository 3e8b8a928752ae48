"""Expressions in JMESPath as expressions in CEL: the tree node by node, functions by a table.

It imports its parent's modules; conditions and rule types import it.
"""

from __future__ import annotations

from chartkit.migration.jmespath.environment import Names
from chartkit.migration.jmespath.projections import stream_of
from chartkit.migration.jmespath.terms import Constant, Generator, Stream, Term, Value
from chartkit.migration.jmespath.translate import Translator

__all__ = ["Constant", "Generator", "Names", "Stream", "Term", "Translator", "Value", "stream_of"]
