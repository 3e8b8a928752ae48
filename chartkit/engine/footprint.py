"""The part of an object that a policy reads: known from the policy, before it judges anything.

Objects that are equal in it get the same verdict. What cannot be told of an expression raises
`UnboundedError`, and its policy judges each object anew.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Hashable, Iterable
from typing import Final

from chartkit.model import Json


class UnboundedError(Exception):
    """An expression of which it cannot be told what it reads."""


class Footprint:
    """A value of the object and what is read of it: nothing but its type, all of it, members of an
    object, elements of a list.

    is_whole: whether all of it is read; is_sized: whether the number of its members is; is_keyed:
    whether an object's keys are looked through. A scalar is always read.
    """

    __slots__ = ("elements", "is_keyed", "is_sized", "is_whole", "members")

    def __init__(self) -> None:
        self.is_whole = self.is_sized = self.is_keyed = False
        self.members: dict[str, Footprint] = {}
        self.elements: Footprint | None = None

    def member(self, name: str) -> Footprint:
        """Return the footprint of a member of an object."""
        found = self.members.get(name)
        if found is None:
            found = self.members[name] = Footprint()
        return found

    def element(self) -> Footprint:
        """Return the footprint of every element of a list, whose length is read then."""
        if self.elements is None:
            self.elements = Footprint()
        return self.elements

    def add(self, other: Footprint) -> None:
        """Add what another footprint reads of the same value."""
        self.is_whole |= other.is_whole
        self.is_sized |= other.is_sized
        self.is_keyed |= other.is_keyed
        for name, each in other.members.items():
            self.member(name).add(each)
        if other.elements is not None:
            self.element().add(other.elements)

    def compile(self) -> Projection:
        """Return the projection to what is read."""
        if self.is_whole:
            return _frozen
        element = None if self.elements is None else self.elements.compile()
        if self.is_keyed:
            return _keyed(element)
        members = [(name, self.members[name].compile()) for name in sorted(self.members)]
        return _partial(members, element, self.is_sized)


Projection = Callable[[Json], Hashable]
"""Returns the same for two values if, and mostly only if, they are equal in a footprint."""

_MISSING: Final = ("missing",)
_OBJECT: Final = "object"
_LIST: Final = "list"


def _scalar(value: Json) -> Hashable:
    # 1, 1.0 and True are equal and different all the same.
    return value.__class__, repr(value)


def _frozen(value: Json) -> Hashable:
    if value.__class__ is str or value is None:
        text: str | None = value
        return text
    if isinstance(value, dict | list):
        try:
            return marshal.dumps(value, 0)
        except ValueError:
            # Numbers that a policy marked: equal to nothing.
            return object()
    return _scalar(value)


def _keyed(element: Projection | None) -> Projection:
    def project(value: Json) -> Hashable:
        if isinstance(value, list):
            return (_LIST,) if element is None else (_LIST, *map(element, value))
        return _frozen(value)

    return project


def _partial(
    members: Iterable[tuple[str, Projection]], element: Projection | None, is_sized: bool
) -> Projection:
    pairs = tuple(members)

    def project(value: Json) -> Hashable:
        kind = value.__class__
        if kind is str or value is None:
            return value  # type: ignore[no-any-return]
        if kind is dict:
            read: list[Hashable] = [_OBJECT, len(value)] if is_sized else [_OBJECT]
            for name, inner in pairs:
                member = value.get(name, _MISSING)
                read.append(member if member is _MISSING else inner(member))
            return tuple(read)
        if kind is list:
            return (_LIST,) if element is None else (_LIST, *map(element, value))
        return _scalar(value)

    return project


class Values:
    """The values of the object that an expression may have, each with the number of lists around
    it that the expression made."""

    __slots__ = ("places",)

    def __init__(self, places: Iterable[tuple[Footprint, int]] = ()) -> None:
        self.places = frozenset(places)

    def member(self, name: str) -> Values:
        """Return the values of a member."""
        return Values((each.member(name), 0) for each, lists in self.places if not lists)

    def element(self) -> Values:
        """Return the values of the elements of a list."""
        return Values(
            (each, lists - 1) if lists else (each.element(), 0) for each, lists in self.places
        )

    def listed(self) -> Values:
        """Return the values of a list that has these for elements."""
        return Values((each, lists + 1) for each, lists in self.places)

    def flattened(self) -> Values:
        """Return the values of a list in which the elements of lists stand for these."""
        places: set[tuple[Footprint, int]] = set()
        for each, lists in self.places:
            inner = each if lists else each.element()
            places.add((inner, max(lists - 1, 1)))
            if lists < _NESTED:
                places.add((inner.element(), 1))
        return Values(places)

    def joined(self, *others: Values) -> Values:
        """Return these and other values."""
        if any(isinstance(other, Root) for other in others):
            raise UnboundedError(_AS_A_WHOLE)
        return Values(self.places.union(*(other.places for other in others)))

    def read(self) -> Values:
        """Note that all of the values is read, and return none: what is made of them is new."""
        for each, _ in self.places:
            each.is_whole = True
        return NOTHING_READ

    def size(self) -> Values:
        """Note that their size is read."""
        for each, lists in self.places:
            if not lists:
                each.is_sized = True
                each.element()
        return NOTHING_READ

    def keys(self) -> Values:
        """Note that the keys of objects are looked through."""
        for each, lists in self.places:
            if not lists:
                each.is_keyed = True
        return NOTHING_READ


_NESTED: Final = 2
_AS_A_WHOLE: Final = "a variable as a whole"
NOTHING_READ: Final = Values()
"""The value of what has nothing of the object in it, or what was read already."""


class Root(Values):
    """A variable whose members are variables; a name that is not among them is the same for all
    objects."""

    __slots__ = ("_members", "_others")

    def __init__(self, members: dict[str, Values], others: Values | None = NOTHING_READ) -> None:
        """others: the value of any other name; None where it cannot be told."""
        super().__init__()
        self._members = members
        self._others = others

    def member(self, name: str) -> Values:
        found = self._members.get(name, self._others)
        if found is None:
            raise UnboundedError(name)
        return found

    def _refuse(self, *_: object) -> Values:
        raise UnboundedError(_AS_A_WHOLE)

    element = listed = flattened = joined = read = size = keys = _refuse
