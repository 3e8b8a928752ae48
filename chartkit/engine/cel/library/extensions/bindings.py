"""`cel.bind`: a value with a name of its own in one expression."""

from __future__ import annotations

from typing import Final

from chartkit.engine.cel.declarations import Library
from chartkit.engine.cel.macros.bindings import MACROS

LIBRARY: Final = Library(
    "cel.lib.ext.cel.bindings", macros=MACROS, doc="Names for values within an expression."
)
