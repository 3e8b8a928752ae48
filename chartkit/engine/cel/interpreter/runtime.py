"""The functions of generated code. Each answers only if it is certain, and otherwise raises.

Python holds `True` for 1, looks into texts with `in` and `[]`, and counts from the end of a list;
CEL does not. Every function here looks at the classes of its arguments first, and where anything
is not as usual it leaves the question to the exact closures by raising `Undecided`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any, Final

from chartkit.engine.cel.interpreter.attributes import MISSING
from chartkit.engine.cel.values import (
    INT_MAX,
    INT_MIN,
    NONE,
    OptionalValue,
    Uint,
    Value,
    equal,
    same,
)


class Undecided(Exception):  # noqa: N818 - no error: the exact closures are to decide
    """Generated code does not know the answer."""


UNDECIDED: Final = (
    Undecided,
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""The errors of generated code besides `CelError`; never a failure, only a reason to be exact."""

LONG: Final = 1000
"""Texts, lists and maps beyond this size are left to the closures, which count what they cost."""

LONG_TEXT: Final = 2000
LONG_LIST: Final = 256

_PLAIN = frozenset({type(None), bool, int, Uint, float, list, dict, bytes})
_CONTAINERS = frozenset({list, dict})
_SCALARS = frozenset({type(None), bool, int, Uint, float, str, bytes})

Fields = tuple[str | int, ...]
"""Names of fields and places in lists, one after the other."""

Meter = list[int]
"""One number: what the evaluation may still cost."""


def condition(value: Value) -> bool:
    """A condition's value, which must be a bool."""
    if value is True or value is False:
        return value
    raise Undecided


def is_text(value: Value, text: str) -> bool:
    """`value == text` for a text that the author wrote."""
    kind = value.__class__
    if kind is str:
        return value == text
    if kind in _PLAIN:
        return False
    raise Undecided


def equals(left: Value, right: Value) -> bool:
    """`left == right`; lists and maps with others inside are left to the closures."""
    kind = left.__class__
    if kind is str:
        if right.__class__ is not str:
            return False if right.__class__ in _PLAIN else equal(left, right)
        if len(left) > LONG:  # type: ignore[arg-type]
            raise Undecided
        return left == right
    if kind is list or kind is dict:
        small(left)
    return equal(left, right)


def small(value: Value) -> None:
    """Raises `Undecided` for what is long, and for lists and maps with others inside."""
    kind = value.__class__
    if kind is str or kind is bytes:
        if len(value) > LONG_TEXT:  # type: ignore[arg-type]
            raise Undecided
    elif kind is list or kind is dict:
        if len(value) > LONG_LIST:  # type: ignore[arg-type]
            raise Undecided
        for member in value if kind is list else value.values():  # type: ignore[attr-defined, union-attr]
            if member.__class__ in _CONTAINERS:
                raise Undecided


def contained(value: Value, members: Value) -> bool:
    """`value in members`."""
    kind = members.__class__
    if kind is list:
        if len(members) > LONG_LIST:  # type: ignore[arg-type]
            raise Undecided
        if value.__class__ is str:
            return value in members  # type: ignore[operator]
        if value.__class__ in _CONTAINERS:
            raise Undecided
        return any(same(value, member) for member in members)  # type: ignore[attr-defined]
    if kind is dict and value.__class__ is str:
        return value in members  # type: ignore[operator]
    raise Undecided


def present(value: Value, field: str) -> bool:
    """`has(value.field)`."""
    kind = value.__class__
    if kind is dict:
        return field in value  # type: ignore[operator]
    if kind in _SCALARS:
        return False
    if isinstance(value, dict):
        try:
            value[field]
        except KeyError:
            return False
        return True
    raise Undecided


def path(value: Value, fields: Fields) -> Value:
    """Return the value of `value.?first.?second`, or `MISSING`."""
    if value.__class__ is OptionalValue:
        if not value.present:
            return MISSING
        value = value.value
    for field in fields:
        if field.__class__ is int:
            if value.__class__ is not list:
                raise Undecided
            value = value[field] if 0 <= field < len(value) else MISSING
            if value is MISSING:
                return MISSING
        elif value.__class__ is dict:
            value = value.get(field, MISSING)
            if value is MISSING:
                return MISSING
        elif isinstance(value, dict):
            try:
                value = value[field]
            except KeyError:
                return MISSING
        elif value.__class__ in _SCALARS:
            return MISSING
        else:
            raise Undecided
    return value


def optional_path(value: Value, fields: Fields) -> OptionalValue:
    """`value.?first.?second`."""
    member = path(value, fields)
    return NONE if member is MISSING else OptionalValue(True, member)


def path_or(value: Value, fields: Fields, default: Value) -> Value:
    """`value.?first.?second.orValue(default)`."""
    member = path(value, fields)
    return default if member is MISSING else member


def has_path(value: Value, fields: Fields) -> bool:
    """`value.?first.?second.hasValue()`."""
    return path(value, fields) is not MISSING


def value_or(value: Value, default: Value) -> Value:
    """Kyverno's `value.orValue(default)`, which returns a value that is not an optional."""
    if value.__class__ is OptionalValue:
        return value.value if value.present else default
    return value


def has_value(value: Value) -> bool:
    """`value.hasValue()`."""
    if value.__class__ is not OptionalValue:
        raise Undecided
    return value.present


def at(value: Value, index: int) -> Value:
    """`value[place]` for a place that the author wrote, not below 0."""
    if value.__class__ is list:
        return value[index]
    raise Undecided


def index(value: Value, key: Value) -> Value:
    """`value[key]`."""
    if key.__class__ is str:
        if isinstance(value, dict):
            return value[key]
    elif key.__class__ is int and value.__class__ is list and key >= 0:
        return value[key]
    raise Undecided


def contains(text: Value, part: Value) -> bool:
    """`text.contains(part)`."""
    if text.__class__ is str and part.__class__ is str:
        if len(part) > 100 or len(text) > LONG_TEXT:
            raise Undecided
        return part in text
    raise Undecided


def comparison(compare: Callable[[Any, Any], bool]) -> Callable[[Value, Value], bool]:
    """`<` and its kin for two ints, two texts or two doubles."""

    def run(left: Value, right: Value) -> bool:
        kind = left.__class__
        if kind is right.__class__ and (kind is int or kind is float):
            return compare(left, right)
        if kind is str is right.__class__ and len(left) <= LONG:  # type: ignore[arg-type]
            return compare(left, right)
        raise Undecided

    return run


def plus(left: Value, right: Value) -> Value:
    """`left + right` for two ints, texts or lists."""
    kind = left.__class__
    if kind is right.__class__:
        if kind is str or kind is list:
            if len(left) + len(right) <= LONG_TEXT:  # type: ignore[arg-type]
                return left + right  # type: ignore[operator]
        elif kind is int and INT_MIN <= left + right <= INT_MAX:  # type: ignore[operator]
            return left + right  # type: ignore[operator]
    raise Undecided


def items(values: Value, meter: Meter, weight: int) -> Iterable[Value]:
    """Return the members that a macro visits; weight: the most work of one round."""
    if values.__class__ is not list and not isinstance(values, dict):
        raise Undecided
    charge(meter, len(values) * weight)
    return values


def charge(meter: Meter, cost: int) -> None:
    """Charge a cost; raises `Undecided` where the limit may be near."""
    meter[0] -= cost
    if meter[0] < 0:
        raise Undecided


def exactly_one(holds: Iterable[bool]) -> bool:
    """Report whether one of them is true."""
    return sum(holds) == 1


NAMES: Final[dict[str, object]] = {
    "_all": all,
    "_any": any,
    "_at": at,
    "_b": condition,
    "_contains": contains,
    "_eq": equals,
    "_ge": comparison(operator.ge),
    "_gt": comparison(operator.gt),
    "_has": present,
    "_has_path": has_path,
    "_has_value": has_value,
    "_in": contained,
    "_index": index,
    "_is": is_text,
    "_items": items,
    "_le": comparison(operator.le),
    "_len": len,
    "_lt": comparison(operator.lt),
    "_one": exactly_one,
    "_path": optional_path,
    "_path_or": path_or,
    "_plus": plus,
    "_value_or": value_or,
}
"""The names that generated code may use, beside its own; it sees no builtins."""
