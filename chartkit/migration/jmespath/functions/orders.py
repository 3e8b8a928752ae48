"""Lists in another order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from chartkit.engine.cel.syntax import build as cel
from chartkit.migration.conversion import NotConvertible
from chartkit.migration.expressions.place import ANY_LIST, TEXT, Place
from chartkit.migration.jmespath.environment import Names
from chartkit.migration.jmespath.functions.declaration import declare, there
from chartkit.migration.jmespath.terms import Constant, Stream, Term, Value, computed

ORDERED: Final = (TEXT, "int", "double")
"""The types of what both languages put in the same order."""


@declare
def sort(_names: Names, args: Sequence[Term]) -> Term:
    """A list in ascending order."""
    elements = listed(args[0], "sort")
    inner = elements.type.removeprefix("[]")
    if inner not in ORDERED:
        raise NotConvertible("sort of values whose types are not known")
    return computed(cel.method(elements.value, "sort"), elements.type)


@declare
def reverse(_names: Names, args: Sequence[Term]) -> Term:
    """A list with its last element first."""
    (term,) = args
    if isinstance(term, Constant) and isinstance(term.value, str | list):
        return Constant(term.value[::-1])
    elements = listed(term, "reverse")
    return computed(cel.method(elements.value, "reverse"), elements.type)


def listed(term: Term, role: str) -> Place:
    """Return a list that must be there; raises `NotConvertible`."""
    match term:
        case Stream():
            return term.required().listed()
        case Value():
            place = replace(term, place=term.place.taken_for(ANY_LIST))
            if place.place.is_list:
                return there(place)
    raise NotConvertible(f"{role} of a value that is no list")
