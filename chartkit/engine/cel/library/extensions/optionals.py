"""Optionals: values that may be absent, and what is asked of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from chartkit.engine.cel.ast import Expr, Ident
from chartkit.engine.cel.declarations import Library, Macro, declared, macro, overload, overloads
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.extensions.bindings import bound
from chartkit.engine.cel.library.printing import show
from chartkit.engine.cel.library.standard.containers import find_key, list_index
from chartkit.engine.cel.library.standard.protobuf import type_constant
from chartkit.engine.cel.parser.building import Builder
from chartkit.engine.cel.times import MIN_SECONDS, Duration, Timestamp
from chartkit.engine.cel.types import (
    DYN,
    opaque,
    optional_of,
)
from chartkit.engine.cel.values import NONE, OptionalValue, Struct, Value
from chartkit.go.duration import SECOND

_MISSING: Final = object()

of = overload("optional_of: optional.of(V) -> optional_type(V)")(
    lambda value: OptionalValue(True, value)
)


@overload("optional_ofNonZeroValue: optional.ofNonZeroValue(V) -> optional_type(V)")
def of_non_zero_value(value: Value) -> OptionalValue:
    return NONE if _is_zero(value) else OptionalValue(True, value)


def _is_zero(value: Value) -> bool:
    if isinstance(value, Duration):
        return not value.nanoseconds
    if isinstance(value, Timestamp):
        return value.nanoseconds == MIN_SECONDS * SECOND
    if isinstance(value, Struct):
        return not value.fields
    return value is None or (
        isinstance(value, bool | int | float | str | bytes | list | dict) and not value
    )


none = overload("optional_none: optional.none() -> optional_type(V)")(lambda: NONE)


@overload("optional_value: optional_type(V).value() -> V")
def value(optional: OptionalValue) -> Value:
    if not optional.present:
        raise CelError("optional.none() dereference")
    return optional.value


_CHOICES: Final = overloads(
    {
        "optional_hasValue: optional_type(V).hasValue() -> bool": lambda optional: optional.present,
        "optional_or_optional: optional_type(V).or(optional_type(V)) -> optional_type(V)": (
            lambda first, second: first if first.present else second
        ),
        "optional_orValue_value: optional_type(V).orValue(V) -> V": (
            lambda optional, default: optional.value if optional.present else default
        ),
    }
)


@overload("select_optional_field: _?._(dyn, string) -> optional_type(V)")
def select_optional(operand: Value, field: str) -> OptionalValue:
    if isinstance(operand, OptionalValue):
        operand = operand.value if operand.present else None
    if isinstance(operand, list):
        raise CelError("unsupported index type 'string' in list")
    fields = operand.fields if isinstance(operand, Struct) else operand
    if not isinstance(fields, Mapping):
        return NONE
    return OptionalValue(True, fields[field]) if field in fields else NONE


def _member(members: list[Value], index: Value) -> OptionalValue:
    position = list_index(index)
    return OptionalValue(True, members[position]) if 0 <= position < len(members) else NONE


def _entry(entries: dict[Value, Value], key: Value) -> OptionalValue:
    value = find_key(entries, key, _MISSING)
    return NONE if value is _MISSING else OptionalValue(True, value)


def _member_of_optional(optional: OptionalValue, index: Value) -> OptionalValue:
    if not optional.present:
        return NONE
    held = optional.value
    return _member(held, index) if isinstance(held, list) else _entry(held, index)  # type: ignore[arg-type]


_INDEX: Final = overloads(
    {
        "list_optindex_optional_int: _[?_](list(V), int) -> optional_type(V)": _member,
        "optional_list_optindex_optional_int: "
        "_[?_](optional_type(list(V)), int) -> optional_type(V)": _member_of_optional,
        "map_optindex_optional_value: _[?_](map(K, V), K) -> optional_type(V)": _entry,
        "optional_map_optindex_optional_value: "
        "_[?_](optional_type(map(K, V)), K) -> optional_type(V)": _member_of_optional,
        "optional_list_index_int: "
        "_[_](optional_type(list(V)), int) -> optional_type(V)": _member_of_optional,
        "optional_map_index_value: "
        "_[_](optional_type(map(K, V)), K) -> optional_type(V)": _member_of_optional,
    }
)


@overload("list_first: list(V).first() -> optional_type(V)")
def first(members: list[Value]) -> OptionalValue:
    return OptionalValue(True, members[0]) if members else NONE


@overload("list_last: list(V).last() -> optional_type(V)")
def last(members: list[Value]) -> OptionalValue:
    return OptionalValue(True, members[-1]) if members else NONE


def _unwrapped(members: list[Value]) -> list[Value]:
    values = []
    for member in members:
        if not isinstance(member, OptionalValue):
            raise CelError(f"value {show(member)} is not optional")
        if member.present:
            values.append(member.value)
    return values


_UNWRAP: Final = overloads(
    {
        "optional_unwrap: optional.unwrap(list(optional_type(V))) -> list(V)": _unwrapped,
        "optional_unwrapOpt: list(optional_type(V)).unwrapOpt() -> list(V)": _unwrapped,
    }
)


def _mapped(
    function: str, name: str, make: Builder, target: Expr | None, args: tuple[Expr, ...]
) -> Expr | None:
    """The result with the optional's value as the variable, or none; function: wraps it."""
    if target is None:
        return None
    variable, result = args
    if not isinstance(variable, Ident):
        raise make.fail(variable, f"{name}() variable name must be a simple identifier")
    value = make.member_call(make.copy(target), "value")
    present = make.member_call(target, "hasValue")
    some = bound(make, variable.name, value, result)
    some = make.call(function, some) if function else some
    return make.call("_?_:_", present, some, make.call("optional.none"))


MACROS: tuple[Macro, ...] = (
    macro("optional.optMap(x, result)", partial(_mapped, "optional.of", "optMap")),
    macro("optional.optFlatMap(x, result)", partial(_mapped, "", "optFlatMap")),
)

LIBRARY: Final = Library(
    "cel.lib.optional",
    declared(globals()),
    macros=MACROS,
    variables={"optional_type": type_constant(opaque("optional_type"), optional_of(DYN))},
)
