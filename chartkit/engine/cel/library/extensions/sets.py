"""`sets`: lists as sets, where order and repetition do not count."""

from __future__ import annotations

from typing import Final

from chartkit.engine.cel.declarations import Library, declared, overload
from chartkit.engine.cel.library import costs
from chartkit.engine.cel.library.membership import Members
from chartkit.engine.cel.values import Value


@overload("list_sets_contains_list: sets.contains(list(T), list(T)) -> bool", cost=costs.of_product)
def contains(members: list[Value], wanted: list[Value]) -> bool:
    known = Members(members)
    return all(map(known.has, wanted))


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
    known = Members(right)
    return any(map(known.has, left))


LIBRARY: Final = Library("cel.lib.ext.sets", overloads=declared(globals()))
