"""The standard library of CEL: what every environment has."""

from __future__ import annotations

from types import MappingProxyType

from chartkit.engine.cel.declarations import Library
from chartkit.engine.cel.library.standard import (
    accessors,
    arithmetic,
    containers,
    conversions,
    logic,
    ordering,
    strings,
)
from chartkit.engine.cel.library.standard.macros import MACROS
from chartkit.engine.cel.library.standard.protobuf import STRUCTS, VARIABLES

LIBRARY = Library(
    "standard",
    overloads=(
        *logic.OVERLOADS,
        *arithmetic.OVERLOADS,
        *ordering.OVERLOADS,
        *containers.OVERLOADS,
        *conversions.OVERLOADS,
        *strings.OVERLOADS,
        *accessors.OVERLOADS,
    ),
    macros=MACROS,
    structs=STRUCTS,
    variables=MappingProxyType(dict(VARIABLES)),
)
