"""`kubernetes.lists`: order, sums and positions in lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from typing import Any, Final

from chartkit.engine.cel.declarations import Library, declared, overload, overloads
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.costs import TRAVERSAL
from chartkit.engine.cel.library.kubernetes.refusing import NO_SUCH_OVERLOAD
from chartkit.engine.cel.times import Duration, Timestamp
from chartkit.engine.cel.values import Uint, Value, checked_int, checked_uint, same

_COMPARABLE: Final = (
    *("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes"),
)
_SUMMABLE: Final[Mapping[str, Value]] = {
    "int": 0,
    "uint": Uint(0),
    "double": 0.0,
    "duration": Duration(0),
}
_CLASSES: Final = frozenset({int, Uint, float, bool, Duration, Timestamp, str, bytes})
_NUMBERS: Final = frozenset({int, Uint, float})


def _cost(args: Sequence[Value], _result: Value) -> int:
    return _traversed(args[0])


def _traversed(value: Value) -> int:
    """The cost of going through a value with all that it holds."""
    if isinstance(value, str):
        return int(len(value.encode("utf-8", "replace")) * TRAVERSAL)
    if isinstance(value, bytes):
        return int(len(value) * TRAVERSAL)
    if isinstance(value, list):
        return sum(map(_traversed, value))
    if isinstance(value, dict):
        return sum(_traversed(key) + _traversed(member) for key, member in value.items())
    return 1


def _order(left: Any, right: Any) -> int:
    """-1, 0 or 1; 0 also for two values that have no order, as the functions take it."""
    kinds = left.__class__, right.__class__
    if kinds[0] is not kinds[1]:
        if not _NUMBERS.issuperset(kinds):
            return 0
        if float in kinds:
            left, right = float(left), float(right)
    return int(left > right) - int(left < right)


def _comparable(value: Value) -> Value:
    if value.__class__ not in _CLASSES:
        raise CelError(NO_SUCH_OVERLOAD)
    return value


def _is_sorted(values: list[Value]) -> bool:
    for value in values[:1]:
        _comparable(value)
    return all(_order(left, _comparable(right)) <= 0 for left, right in pairwise(values))


def _best(name: str, wanted: int) -> Callable[[list[Value]], Value]:
    def best(values: list[Value]) -> Value:
        if not values:
            raise CelError(f"{name} called on empty list")
        chosen = _comparable(values[0])
        for value in values[1:]:
            if _order(_comparable(value), chosen) == wanted:
                chosen = value
        return chosen

    return best


def _summing(zero: Value) -> Callable[[list[Value]], Value]:
    return lambda values: reduce(_add, values, zero)


def _add(left: Any, right: Any) -> Value:
    kind = left.__class__
    if kind is Duration and right.__class__ is Timestamp:
        return right.plus(left)
    if kind is Timestamp and right.__class__ is Duration:
        return left.plus(right)
    if right.__class__ is not kind or kind is Timestamp:
        raise CelError(NO_SUCH_OVERLOAD)
    if kind is Duration:
        return Duration(checked_int(left.nanoseconds + right.nanoseconds))
    if kind is Uint:
        return checked_uint(int(left) + int(right))
    return left + right if kind is float else checked_int(left + right)


_SORTED: Final = overloads(
    {
        f"list_{kind}_is_sorted_bool: list({kind}).isSorted() -> bool": _is_sorted
        for kind in _COMPARABLE
    },
    cost=_cost,
)
_REDUCED: Final = overloads(
    {
        f"list_{kind}_{function}_{kind}: list({kind}).{function}() -> {kind}": code
        for function, code_of in (
            ("sum", {kind: _summing(zero) for kind, zero in _SUMMABLE.items()}),
            ("min", dict.fromkeys(_COMPARABLE, _best("min", -1))),
            ("max", dict.fromkeys(_COMPARABLE, _best("max", 1))),
        )
        for kind, code in code_of.items()
    },
    cost=_cost,
)


@overload("list_a_index_of_int: list(A).indexOf(A) -> int", cost=_cost)
def _index_of(values: list[Value], wanted: Value) -> int:
    return next((at for at, value in enumerate(values) if same(value, wanted)), -1)


@overload("list_a_last_index_of_int: list(A).lastIndexOf(A) -> int", cost=_cost)
def _last_index_of(values: list[Value], wanted: Value) -> int:
    places = range(len(values) - 1, -1, -1)
    return next((at for at in places if same(values[at], wanted)), -1)


LIBRARY: Final = Library("kubernetes.lists", overloads=declared(globals()))
