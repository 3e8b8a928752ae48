"""`sets`: lists as sets, where order and repetition do not count."""

from __future__ import annotations

from typing import Final

from chartkit.engine.cel.declarations import Example, Library, declared, overload
from chartkit.engine.cel.library import costs
from chartkit.engine.cel.library.membership import Members
from chartkit.engine.cel.types import BOOL, T, list_of
from chartkit.engine.cel.values import Value


@overload(
    "sets.contains",
    "list_sets_contains_list",
    list_of(T),
    list_of(T),
    returns=BOOL,
    cost=costs.of_product,
    doc="Whether the first list has every member of the second.",
    examples=(
        Example("sets.contains([1, 2, 3], [3, 1])", "true"),
        Example("sets.contains(['a'], ['a', 'b'])", "false"),
    ),
)
def contains(members: list[Value], wanted: list[Value]) -> bool:
    known = Members(members)
    return all(map(known.has, wanted))


@overload(
    "sets.equivalent",
    "list_sets_equivalent_list",
    list_of(T),
    list_of(T),
    returns=BOOL,
    cost=costs.of_product_twice,
    doc="Whether two lists have the same members.",
    examples=(Example("sets.equivalent([1, 2, 2], [2, 1])", "true"),),
)
def equivalent(left: list[Value], right: list[Value]) -> bool:
    left_members, right_members = Members(left), Members(right)
    return all(map(left_members.has, right)) and all(map(right_members.has, left))


@overload(
    "sets.intersects",
    "list_sets_intersects_list",
    list_of(T),
    list_of(T),
    returns=BOOL,
    cost=costs.of_product,
    doc="Whether two lists have a member in common.",
    examples=(
        Example("sets.intersects([1, 2], [2, 3])", "true"),
        Example("sets.intersects([1], [])", "false"),
    ),
)
def intersects(left: list[Value], right: list[Value]) -> bool:
    known = Members(right)
    return any(map(known.has, left))


LIBRARY: Final = Library(
    "cel.lib.ext.sets", overloads=declared(globals()), doc="Lists compared as sets."
)
