"""Guards of overloads: cel-go's check of arguments when a function is called.

Types without their parameters are compared; of a list the first element and of a map the first
entry are looked at too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from chartkit.engine.cel.times import Duration, Timestamp
from chartkit.engine.cel.types import Type, TypeKind
from chartkit.engine.cel.values import Opaque, OptionalValue, Struct, Uint, Value

Guard = Callable[[Value], bool]

_CLASSES: Final[dict[TypeKind, type]] = {
    TypeKind.NULL: type(None),
    TypeKind.BOOL: bool,
    TypeKind.INT: int,
    TypeKind.UINT: Uint,
    TypeKind.DOUBLE: float,
    TypeKind.STRING: str,
    TypeKind.BYTES: bytes,
    TypeKind.TIMESTAMP: Timestamp,
    TypeKind.DURATION: Duration,
    TypeKind.TYPE: Type,
}
_ANYTHING = frozenset({TypeKind.DYN, TypeKind.ANY, TypeKind.PARAMETER})


def guard_of(type_: Type) -> Guard | None:
    """The check for a parameter of a type; None where every value passes."""
    kind = type_.kind
    if kind in _ANYTHING:
        return None
    if kind is TypeKind.LIST:
        return _list_guard(type_)
    if kind is TypeKind.MAP:
        return _map_guard(type_)
    if kind is TypeKind.WRAPPER:
        return _wrapper_guard(type_)
    expected = _CLASSES.get(kind)
    if expected is None:
        return _named_guard(type_.name)
    return lambda value: value.__class__ is expected


def looks_inside(type_: Type) -> bool:
    """Return whether the check depends on more than the class of the value."""
    if type_.kind is TypeKind.STRUCT:
        return True
    return type_.kind in (TypeKind.LIST, TypeKind.MAP) and any(
        guard_of(parameter) is not None for parameter in type_.parameters
    )


def _list_guard(type_: Type) -> Guard:
    inner = guard_of(type_.parameters[0]) if type_.parameters else None
    if inner is None:
        return lambda value: value.__class__ is list
    return lambda value: value.__class__ is list and (not value or inner(value[0]))


def _map_guard(type_: Type) -> Guard:
    key, member = map(guard_of, type_.parameters) if type_.parameters else (None, None)
    if key is None and member is None:
        return lambda value: isinstance(value, dict)

    def fits(value: Value) -> bool:
        if not isinstance(value, dict):
            return False
        for first in value:
            return (key is None or key(first)) and (member is None or member(value[first]))
        return True

    return fits


def _wrapper_guard(type_: Type) -> Guard | None:
    inner = guard_of(type_.parameters[0])
    return None if inner is None else lambda value: value is None or inner(value)


def _named_guard(name: str) -> Guard:
    def fits(value: Value) -> bool:
        if isinstance(value, Opaque):
            return value.cel_type.name == name
        if value.__class__ is OptionalValue:
            return name == "optional_type"
        return value.__class__ is Struct and value.type.name == name

    return fits
