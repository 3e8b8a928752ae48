"""Optionals: values that may be absent, and what is asked of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from chartkit.engine.cel.ast import Expr, Ident
from chartkit.engine.cel.declarations import Library, Macro, macro, overload
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

_UNWRAP: Final = "The values of a list of optionals that are there."
_INDEX: Final = "A member of a list or a map's value, as an optional: absent where it is not there."
_MISSING: Final = object()

of = overload(
    "optional_of: optional.of(V) -> optional_type(V)",
    "An optional with a value, whatever the value is.",
    "optional.of(null).hasValue()  // true",
)(lambda value: OptionalValue(True, value))


@overload(
    "optional_ofNonZeroValue: optional.ofNonZeroValue(V) -> optional_type(V)",
    "An optional with a value; absent where the value is null, false, zero or empty.",
    "optional.ofNonZeroValue('').hasValue()  // false",
    "optional.ofNonZeroValue(1)  // optional.of(1)",
)
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


none = overload(
    "optional_none: optional.none() -> optional_type(V)",
    "The optional that is absent.",
    "optional.none().hasValue()  // false",
)(lambda: NONE)


@overload(
    "optional_value: optional_type(V).value() -> V",
    "The value of an optional; an error where it is absent.",
    "optional.of(1).value()  // 1",
    "optional.none().value()  // error: optional.none() dereference",
)
def value(optional: OptionalValue) -> Value:
    if not optional.present:
        raise CelError("optional.none() dereference")
    return optional.value


has_value = overload(
    "optional_hasValue: optional_type(V).hasValue() -> bool",
    "Whether an optional has a value.",
    "{'a': 1}[?'b'].hasValue()  // false",
)(lambda optional: optional.present)

either = overload(
    "optional_or_optional: optional_type(V).or(optional_type(V)) -> optional_type(V)",
    "The first of two optionals that has a value; the second is evaluated only if needed.",
    "optional.none().or(optional.of(2))  // optional.of(2)",
)(lambda first, second: first if first.present else second)


@overload(
    "optional_orValue_value: optional_type(V).orValue(V) -> V",
    "The value of an optional, or another value where it is absent.",
    "{'a': 1}[?'b'].orValue(0)  // 0",
)
def or_value(optional: OptionalValue, default: Value) -> Value:
    return optional.value if optional.present else default


@overload(
    "select_optional_field: _?._(dyn, string) -> optional_type(V)",
    "A field as an optional: absent where it is not there.",
    "dyn({'a': 1}).?a  // optional.of(1)",
    "dyn({'a': {'b': 1}}).?x.b  // optional.none()",
)
def select_optional(operand: Value, field: str) -> OptionalValue:
    if isinstance(operand, OptionalValue):
        operand = operand.value if operand.present else None
    if isinstance(operand, list):
        raise CelError("unsupported index type 'string' in list")
    fields = operand.fields if isinstance(operand, Struct) else operand
    if not isinstance(fields, Mapping):
        return NONE
    return OptionalValue(True, fields[field]) if field in fields else NONE


@overload(
    "list_optindex_optional_int: _[?_](list(V), int) -> optional_type(V)",
    _INDEX,
    "[1, 2][?5]  // optional.none()",
    "{'a': 1}[?'a']  // optional.of(1)",
)
def optional_member(members: list[Value], index: Value) -> OptionalValue:
    place = list_index(index)
    return OptionalValue(True, members[place]) if 0 <= place < len(members) else NONE


@overload("map_optindex_optional_value: _[?_](map(K, V), K) -> optional_type(V)", _INDEX)
def optional_entry(entries: dict[Value, Value], key: Value) -> OptionalValue:
    found = find_key(entries, key, _MISSING)
    return NONE if found is _MISSING else OptionalValue(True, found)


def _member_of_optional(optional: OptionalValue, index: Value) -> OptionalValue:
    if not optional.present:
        return NONE
    if isinstance(optional.value, list):
        return optional_member.implementation(optional.value, index)  # type: ignore[no-any-return]
    return optional_entry.implementation(optional.value, index)  # type: ignore[no-any-return]


@overload(
    "list_first: list(V).first() -> optional_type(V)",
    "The first member of a list; absent where the list is empty.",
    "[1, 2].first()  // optional.of(1)",
)
def first(members: list[Value]) -> OptionalValue:
    return OptionalValue(True, members[0]) if members else NONE


@overload(
    "list_last: list(V).last() -> optional_type(V)",
    "The last member of a list; absent where the list is empty.",
    "[1, 2].last()  // optional.of(2)",
)
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


unwrap = overload(
    "optional_unwrap: optional.unwrap(list(optional_type(V))) -> list(V)",
    _UNWRAP,
    "optional.unwrap([optional.of(1), optional.none()])  // [1]",
)(_unwrapped)
unwrap_opt = overload(
    "optional_unwrapOpt: list(optional_type(V)).unwrapOpt() -> list(V)",
    _UNWRAP,
    "[optional.of(1), optional.none()].unwrapOpt()  // [1]",
)(_unwrapped)


def _bound_value(
    make: Builder, target: Expr, args: tuple[Expr, ...], function: str
) -> tuple[Expr, Expr]:
    """Return whether the optional has a value, and the expression in which the variable is the
    value."""
    variable, result = args
    if not isinstance(variable, Ident):
        raise make.fail(variable, f"{function}() variable name must be a simple identifier")
    value = make.member_call(make.copy(target), "value")
    return make.member_call(target, "hasValue"), bound(make, variable.name, value, result)


def _opt_map(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    if target is None:
        return None
    present, result = _bound_value(make, target, args, "optMap")
    some, none = make.call("optional.of", result), make.call("optional.none")
    return make.call("_?_:_", present, some, none)


def _opt_flat_map(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    if target is None:
        return None
    present, result = _bound_value(make, target, args, "optFlatMap")
    return make.call("_?_:_", present, result, make.call("optional.none"))


MACROS: tuple[Macro, ...] = (
    macro(
        "optional.optMap(x, result)",
        _opt_map,
        "An optional of what the expression makes of the value; none where there is no value.",
        "optional.of(2).optMap(n, n * 2).value()  // 4",
    ),
    macro(
        "optional.optFlatMap(x, result)",
        _opt_flat_map,
        "The optional that the expression makes of the value; none where there is no value.",
        "optional.of({'a': 1}).optFlatMap(m, m.?b).hasValue()  // false",
    ),
)

LIBRARY: Final = Library(
    "cel.lib.optional",
    (
        of,
        of_non_zero_value,
        none,
        value,
        has_value,
        either,
        or_value,
        select_optional,
        optional_member,
        overload(
            "optional_list_optindex_optional_int: "
            "_[?_](optional_type(list(V)), int) -> optional_type(V)",
            _INDEX,
        )(_member_of_optional),
        optional_entry,
        overload(
            "optional_map_optindex_optional_value: "
            "_[?_](optional_type(map(K, V)), K) -> optional_type(V)",
            _INDEX,
        )(_member_of_optional),
        overload(
            "optional_list_index_int: _[_](optional_type(list(V)), int) -> optional_type(V)",
            _INDEX,
            "{'a': [1, 2]}.?a[0]  // optional.of(1)",
        )(_member_of_optional),
        overload(
            "optional_map_index_value: _[_](optional_type(map(K, V)), K) -> optional_type(V)",
            _INDEX,
        )(_member_of_optional),
        first,
        last,
        unwrap,
        unwrap_opt,
    ),
    macros=MACROS,
    variables={"optional_type": type_constant(opaque("optional_type"), optional_of(DYN))},
    doc="Values that may be absent.",
)
