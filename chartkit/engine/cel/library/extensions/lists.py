"""Lists: parts of them, their order, what they have twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chartkit.engine.cel.declarations import Example, Library, Overload, overload
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library import costs
from chartkit.engine.cel.library.membership import Members
from chartkit.engine.cel.library.sizes import bounded_members, bounded_work
from chartkit.engine.cel.macros.lists import MACROS
from chartkit.engine.cel.times import Duration, Timestamp
from chartkit.engine.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    INT,
    LIST_DYN,
    STRING,
    TIMESTAMP,
    UINT,
    T,
    list_of,
)
from chartkit.engine.cel.values import Uint, Value

_LIST: Final = list_of(T)
_FLATTEN: Final = "The list with the members of inner lists in their place, to a depth (1)."
_MAX_RANGE: Final = 1_000_000
_ORDERED: Final = frozenset({bool, int, Uint, float, str, bytes, Timestamp, Duration})


@overload(
    "slice",
    "list_slice",
    _LIST,
    INT,
    INT,
    returns=_LIST,
    member=True,
    cost=costs.of_new_list,
    doc="The members from a place on, up to but not including another.",
    examples=(
        Example("[1, 2, 3, 4].slice(1, 3)", "[2, 3]"),
        Example("[1].slice(0, 2)", "cannot slice(0, 2), list is length 1", error=True),
    ),
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
    "lists.range",
    "lists_range",
    INT,
    returns=list_of(INT),
    cost=costs.of_new_list,
    doc="The whole numbers from 0 up to but not including a number, a million at most.",
    examples=(Example("lists.range(3)", "[0, 1, 2]"),),
)
def range_(count: int) -> list[int]:
    if count < 0:
        raise CelError(f"lists.range: size must be non-negative, got {count}")
    if count > _MAX_RANGE:
        raise CelError(f"lists.range: size {count} exceeds maximum allowed ({_MAX_RANGE})")
    return list(range(count))


@overload(
    "reverse",
    "list_reverse",
    _LIST,
    returns=_LIST,
    member=True,
    cost=costs.of_new_list,
    doc="The members, last one first.",
    examples=(Example("[1, 2, 3].reverse()", "[3, 2, 1]"),),
)
def reverse(members: list[Value]) -> list[Value]:
    return members[::-1]


@overload(
    "distinct",
    "list_distinct",
    _LIST,
    returns=_LIST,
    member=True,
    cost=costs.of_comparing_first,
    doc="The list without what it has twice.",
    examples=(Example("[1, 2, 1].distinct()", "[1, 2]"),),
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
_SORT: Final = (
    Example("[3, 1, 2].sort()", "[1, 2, 3]"),
    Example("['b', 'a'].sort()", "['a', 'b']"),
)


def _sorts() -> Iterator[Overload]:
    for kind in _COMPARABLE:
        yield overload(
            "sort", f"list_{kind}_sort", list_of(kind), returns=list_of(kind), member=True,
            cost=costs.of_comparing_first, doc="The members in ascending order.",
            examples=_SORT if kind == INT else (),
        )(sort)  # fmt: skip
        yield overload(
            "@sortByAssociatedKeys", f"list_{kind}_sortByAssociatedKeys", _LIST, list_of(kind),
            returns=_LIST, member=True, cost=costs.of_comparing_last,
            doc="What `sortBy` does with the keys it computed.",
        )(sort_by_keys)  # fmt: skip


LIBRARY: Final = Library(
    "cel.lib.ext.lists",
    (
        slice_,
        overload(
            "flatten", "list_flatten", list_of(_LIST), returns=_LIST, member=True,
            cost=costs.of_flattening, doc=_FLATTEN,
            examples=(Example("[[1], [2, 3]].flatten()", "[1, 2, 3]"),),
        )(_flatten),
        overload(
            "flatten", "list_flatten_int", LIST_DYN, INT, returns=LIST_DYN, member=True,
            cost=costs.of_flattening, doc=_FLATTEN,
            examples=(Example("[dyn([dyn([1])]), dyn(2)].flatten(2)", "[1, 2]"),),
        )(_flatten),
        range_,
        reverse,
        distinct,
        *_sorts(),
    ),
    macros=MACROS,
    doc="Lists: parts of them, their order, what they have twice.",
)  # fmt: skip
