"""Lists: parts of them, their order, what they have twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chartkit.engine.cel.ast import Call, Comprehension, Expr, Ident, ListLiteral, Select
from chartkit.engine.cel.declarations import Library, Macro, Overload, macro, overload
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library import costs
from chartkit.engine.cel.library.costs import bounded_members, bounded_work
from chartkit.engine.cel.library.extensions.bindings import bound
from chartkit.engine.cel.library.membership import Members
from chartkit.engine.cel.library.standard.macros import mapped
from chartkit.engine.cel.parser.building import Builder
from chartkit.engine.cel.times import Duration, Timestamp
from chartkit.engine.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
)
from chartkit.engine.cel.values import Uint, Value

_FLATTEN: Final = "The list with the members of inner lists in their place, to a depth (1)."
_MAX_RANGE: Final = 1_000_000
_ORDERED: Final = frozenset({bool, int, Uint, float, str, bytes, Timestamp, Duration})


@overload(
    "list_slice: list(T).slice(int, int) -> list(T)",
    "The members from a place on, up to but not including another.",
    "[1, 2, 3, 4].slice(1, 3)  // [2, 3]",
    "[1].slice(0, 2)  // error: cannot slice(0, 2), list is length 1",
    cost=costs.of_new_list,
)
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
                bounded_work(opened)
                pending.append(iter(member))
                break
            result.append(member)
        else:
            pending.pop()
            bounded_members(len(result))
    return result


@overload(
    "lists_range: lists.range(int) -> list(int)",
    "The whole numbers from 0 up to but not including a number, a million at most.",
    "lists.range(3)  // [0, 1, 2]",
    cost=costs.of_new_list,
)
def range_(count: int) -> list[int]:
    if count < 0:
        raise CelError(f"lists.range: size must be non-negative, got {count}")
    if count > _MAX_RANGE:
        raise CelError(f"lists.range: size {count} exceeds maximum allowed ({_MAX_RANGE})")
    return list(range(count))


reverse = overload(
    "list_reverse: list(T).reverse() -> list(T)",
    "The members, last one first.",
    "[1, 2, 3].reverse()  // [3, 2, 1]",
    cost=costs.of_new_list,
)(lambda members: members[::-1])


@overload(
    "list_distinct: list(T).distinct() -> list(T)",
    "The list without what it has twice.",
    "[1, 2, 1].distinct()  // [1, 2]",
    cost=costs.of_comparing_first,
)
def distinct(members: list[Value]) -> list[Value]:
    known, result = Members(), []
    for member in members:
        if not known.has(member):
            known.add(member)
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
    return [members[place] for place in order]


def sort(members: list[Value]) -> list[Value]:
    """The members in ascending order; raises `CelError`."""
    return sort_by_keys(members, members)


_COMPARABLE: Final = (INT, UINT, DOUBLE, BOOL, DURATION, TIMESTAMP, STRING, BYTES)
_SORT: Final = ("[3, 1, 2].sort()  // [1, 2, 3]", "['b', 'a'].sort()  // ['a', 'b']")


def _sorts() -> Iterator[Overload]:
    for kind in _COMPARABLE:
        yield overload(
            f"list_{kind}_sort: list({kind}).sort() -> list({kind})",
            "The members in ascending order.",
            *(_SORT if kind == INT else ()),
            cost=costs.of_comparing_first,
        )(sort)
        yield overload(
            f"list_{kind}_sortByAssociatedKeys: "
            f"list(T).@sortByAssociatedKeys(list({kind})) -> list(T)",
            "What `sortBy` does with the keys it computed.",
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


MACROS: tuple[Macro, ...] = (
    macro(
        "items.sortBy(x, key)",
        _sort_by,
        "The list in the order of the keys that the expression makes of its elements.",
        "['bb', 'a', 'ccc'].sortBy(s, -size(s))  // ['ccc', 'bb', 'a']",
    ),
)

LIBRARY: Final = Library(
    "cel.lib.ext.lists",
    (
        slice_,
        overload(
            "list_flatten: list(list(T)).flatten() -> list(T)",
            _FLATTEN,
            "[[1], [2, 3]].flatten()  // [1, 2, 3]",
            cost=costs.of_flattening,
        )(_flatten),
        overload(
            "list_flatten_int: list(dyn).flatten(int) -> list(dyn)",
            _FLATTEN,
            "[dyn([dyn([1])]), dyn(2)].flatten(2)  // [1, 2]",
            cost=costs.of_flattening,
        )(_flatten),
        range_,
        reverse,
        distinct,
        *_sorts(),
    ),
    macros=MACROS,
    doc="Lists: parts of them, their order, what they have twice.",
)
