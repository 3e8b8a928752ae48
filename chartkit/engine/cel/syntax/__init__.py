"""Expressions as their authors write them, read and formatted.

`read` gives the tree of a text, and `format_expression` prints a tree. Macros are calls here; their
expansions are the parser's matter.
"""

from __future__ import annotations

from chartkit.engine.cel.syntax.format import format_expression, unparse
from chartkit.engine.cel.syntax.reading import read
from chartkit.engine.cel.syntax.tree import Expr

__all__ = ["Expr", "format_expression", "read", "unparse"]
