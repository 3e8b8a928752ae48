"""The variables through which Kyverno's functions are called: `resource`, `http`, `json` …"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from chartkit.engine.cel.declarations import Variable
from chartkit.engine.cel.signatures import named
from chartkit.engine.cel.types import opaque, type_of_type
from chartkit.engine.cel.values import Opaque


@dataclass(frozen=True, slots=True)
class Context(Opaque):
    """A value with functions and nothing in it; two of one type are the same.

    setting: what its functions shall heed, such as a service's certificate authority.
    """

    setting: str = ""

    def __str__(self) -> str:
        return self.cel_type.name


def context_class(type_name: str) -> type[Context]:
    """The class of such values; each type has its own, as every type of CEL's values has."""
    return type("Context", (Context,), {"__slots__": (), "cel_type": named(opaque(type_name))})


def context_variable(name: str, type_name: str) -> Mapping[str, Variable]:
    """The variables that name such a value and its type."""
    kind = context_class(type_name)
    return MappingProxyType(
        {
            name: Variable(kind.cel_type, kind(), has_value=True),
            type_name: Variable(type_of_type(kind.cel_type), kind.cel_type, has_value=True),
        }
    )
