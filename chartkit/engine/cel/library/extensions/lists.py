"""Lists: parts of them, their order, what they have twice; `sets`: lists as sets, where order and
repetition do not count."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chartkit.engine.cel.ast import Call, Comprehension, Expr, Ident, ListLiteral, Select
from chartkit.engine.cel.declarations import (
    Library,
    Macro,
    Overload,
    macro,
    overload,
    overloads,
)
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library import costs
from chartkit.engine.cel.library.costs import MAX_MEMBERS, MAX_WORK, bounded
from chartkit.engine.cel.library.extensions.bindings import bound
from chartkit.engine.cel.library.membership import Members
from chartkit.engine.cel.library.standard.macros import mapped
from chartkit.engine.cel.parser.building import Builder
from chartkit.engine.cel.times import Duration, Timestamp
from chartkit.engine.cel.types import BOOL, BYTES, DOUBLE, DURATION, INT, STRING, TIMESTAMP, UINT
from chartkit.engine.cel.values import Uint, Value

_MAX_RANGE: Final = 1_000_000
_ORDERED: Final = frozenset({bool, int, Uint, float, str, bytes, Timestamp, Duration})


@overload("list_slice: list(T).slice(int, int) -> list(T)", cost=costs.of_new_list)
def slice_(members: list[Value], start: int, end: int) -> list[Value]:
    call = f"cannot slice({start}, {end})"
    if start < 0 or end < 0:
        raise CelError(f"{call}, negative indexes not supported")
    if start > end:
        raise CelError(f"{call}, start index must be less than or equal to end index")
    if len(members) < end:
        raise CelError(f"{call}, list is length {len(members)}")
    return members[start:end]


def _flatten(members: list[Value], depth: int = 1) -> list[Value]:
    if depth < 0:
        raise CelError("level must be non-negative")
    result: list[Value] = []
    pending = [iter(members)]
    opened = 1
    while pending:
        for member in pending[-1]:
            if len(pending) <= depth and isinstance(member, list):
                opened += 1
                bounded(opened, MAX_WORK)
                pending.append(iter(member))
                break
            result.append(member)
        else:
            pending.pop()
            bounded(len(result), MAX_MEMBERS)
    return result


@overload("lists_range: lists.range(int) -> list(int)", cost=costs.of_new_list)
def range_(count: int) -> list[int]:
    if count < 0:
        raise CelError(f"lists.range: size must be non-negative, got {count}")
    if count > _MAX_RANGE:
        raise CelError(f"lists.range: size {count} exceeds maximum allowed ({_MAX_RANGE})")
    return list(range(count))


reverse = overload("list_reverse: list(T).reverse() -> list(T)", cost=costs.of_new_list)(
    lambda members: members[::-1]
)


@overload("list_distinct: list(T).distinct() -> list(T)", cost=costs.of_comparing_first)
def distinct(members: list[Value]) -> list[Value]:
    seen, result = Members(), []
    for member in members:
        if not seen.has(member):
            seen.add(member)
            result.append(member)
    return result


def sort_by_keys(members: list[Value], keys: list[Value]) -> list[Value]:
    """The members in the order of their keys; raises `CelError`."""
    if len(members) != len(keys):
        sizes = f"{len(members)} and {len(keys)} elements respectively"
        expected = "expected a list of the same size as the associated keys list"
        raise CelError(f"@sortByAssociatedKeys() {expected}, but got {sizes}")
    if not members:
        return members
    kind = keys[0].__class__
    if kind not in _ORDERED:
        raise CelError("list elements must be comparable")
    if any(key.__class__ is not kind for key in keys):
        raise CelError("list elements must have the same type")
    order = sorted(range(len(keys)), key=keys.__getitem__)  # type: ignore[arg-type]
    return [members[index] for index in order]


def sort(members: list[Value]) -> list[Value]:
    """The members in ascending order; raises `CelError`."""
    return sort_by_keys(members, members)


_COMPARABLE: Final = (INT, UINT, DOUBLE, BOOL, DURATION, TIMESTAMP, STRING, BYTES)


def _sorts() -> Iterator[Overload]:
    for kind in _COMPARABLE:
        yield overload(
            f"list_{kind}_sort: list({kind}).sort() -> list({kind})", cost=costs.of_comparing_first
        )(sort)
        yield overload(
            f"list_{kind}_sortByAssociatedKeys: "
            f"list(T).@sortByAssociatedKeys(list({kind})) -> list(T)",
            cost=costs.of_comparing_last,
        )(sort_by_keys)


_INPUT = "@__sortBy_input__"
_SORT_BY_KEYS = "@sortByAssociatedKeys"
_SORTABLE = (ListLiteral, Select, Ident, Comprehension, Call)


def _sort_by(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    if target is None:
        return None
    if not isinstance(target, _SORTABLE):
        raise make.fail(
            target,
            "sortBy can only be applied to a list, identifier, comprehension, call or select "
            "expression",
        )
    keys = mapped(make, make.ident(_INPUT), args)
    if keys is None:
        return None
    return bound(make, _INPUT, target, make.member_call(make.ident(_INPUT), _SORT_BY_KEYS, keys))


MACROS: tuple[Macro, ...] = (macro("items.sortBy(x, key)", _sort_by),)

LIBRARY: Final = Library(
    "cel.lib.ext.lists",
    (
        slice_,
        *overloads(
            {
                "list_flatten: list(list(T)).flatten() -> list(T)": _flatten,
                "list_flatten_int: list(dyn).flatten(int) -> list(dyn)": _flatten,
            },
            cost=costs.of_flattening,
        ),
        range_,
        reverse,
        distinct,
        *_sorts(),
    ),
    macros=MACROS,
)


@overload("list_sets_contains_list: sets.contains(list(T), list(T)) -> bool", cost=costs.of_product)
def contains(members: list[Value], wanted: list[Value]) -> bool:
    present = Members(members)
    return all(map(present.has, wanted))


@overload(
    "list_sets_equivalent_list: sets.equivalent(list(T), list(T)) -> bool",
    cost=costs.of_product_twice,
)
def equivalent(left: list[Value], right: list[Value]) -> bool:
    left_members, right_members = Members(left), Members(right)
    return all(map(left_members.has, right)) and all(map(right_members.has, left))


@overload(
    "list_sets_intersects_list: sets.intersects(list(T), list(T)) -> bool", cost=costs.of_product
)
def intersects(left: list[Value], right: list[Value]) -> bool:
    others = Members(right)
    return any(map(others.has, left))


SETS_LIBRARY: Final = Library("cel.lib.ext.sets", (contains, equivalent, intersects))
