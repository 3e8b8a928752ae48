"""The standard library of CEL: what every environment has."""

from __future__ import annotations

from types import MappingProxyType

from chartkit.engine.cel.declarations import Library
from chartkit.engine.cel.library.standard import containers, functions, operators
from chartkit.engine.cel.library.standard.macros import MACROS
from chartkit.engine.cel.library.standard.protobuf import STRUCTS, VARIABLES

LIBRARY = Library(
    "standard",
    overloads=(*operators.OVERLOADS, *containers.OVERLOADS, *functions.OVERLOADS),
    macros=MACROS,
    structs=STRUCTS,
    variables=MappingProxyType(dict(VARIABLES)),
)
