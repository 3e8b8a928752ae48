"""Functions that Kyverno has under two names: `Get` and `get`, `sha1` and `hash.sha1`; and the
variables through which they are called: `resource`, `http`, `json` …"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from chartkit.engine.cel.declarations import (
    Implementation,
    Overload,
    Variable,
    Work,
    overload,
    type_constants,
)
from chartkit.engine.cel.notation import named
from chartkit.engine.cel.types import opaque
from chartkit.engine.cel.values import Opaque

_Declare = Callable[[Implementation], tuple[Overload, ...]]


def member(signature: str, *, hosted: bool = False) -> _Declare:
    """Declares a member function under its name and, as Kyverno had it first, with a capital.

    The id in the signature lacks the ending that tells the two apart.
    """

    def declare(implementation: Implementation) -> tuple[Overload, ...]:
        camel = overload(signature, hosted=hosted)(implementation)
        return _both(camel, "camel", "pascal", camel.function[0].upper() + camel.function[1:])

    return declare


def members(code: Mapping[str, Implementation], *, hosted: bool = False) -> tuple[Overload, ...]:
    """Declares member functions by their signatures."""
    return tuple(item for text in code for item in member(text, hosted=hosted)(code[text]))


def prefixed(signature: str, *, hosted: bool = False, work: Work | None = None) -> _Declare:
    """Declares a function `prefix.name` and, as Kyverno had it first, `name` alone."""

    def declare(implementation: Implementation) -> tuple[Overload, ...]:
        declared = overload(signature, hosted=hosted, work=work)(implementation)
        return _both(declared, "prefixed", "non_prefixed", declared.function.rpartition(".")[2])

    return declare


def _both(camel: Overload, ending: str, older_ending: str, older: str) -> tuple[Overload, Overload]:
    newer = replace(camel, id=f"{camel.id}_{ending}")
    return newer, replace(camel, id=f"{camel.id}_{older_ending}", function=older, newer=newer)


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
            **type_constants(kind.cel_type),
        }
    )
