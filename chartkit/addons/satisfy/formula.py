"""The demands of a rule on an object, as a formula of tests of its fields.

A formula is necessary: an object that passes the rule meets it. Parts of a policy that are not
understood are `Unknown`, which says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from chartkit.addons.satisfy.values import MISSING, Test, negated, removable
from chartkit.model import FieldPath, Json

Scope: TypeAlias = Mapping[str, FieldPath]
"""The path of the element that each variable names."""
_ABSENT: Final = Test(
    "not set", lambda value: value is MISSING or value is None, (MISSING,), is_closed=True
)


@dataclass(frozen=True, slots=True)
class Place:
    """A field: its steps from the object, or from the element of a list that a loop names."""

    variable: str = ""
    steps: tuple[str | int, ...] = ()

    def child(self, *steps: str | int) -> Place:
        """Return the place of a field below."""
        return Place(self.variable, (*self.steps, *steps))


def resolved(place: Place, scope: Scope) -> FieldPath:
    return (*scope.get(place.variable, ()), *place.steps)


def value_at(body: Json, path: FieldPath) -> Json:
    """Return the value at a path; MISSING if it has none."""
    for step in path:
        if isinstance(body, dict):
            body = body.get(step, MISSING)
        elif isinstance(body, list) and isinstance(step, int) and step < len(body):
            body = body[step]
        else:
            return MISSING
    return body


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a want: policy and rule as results name them; pointer: in the policy."""

    policy: str
    rule: str
    pointer: str


@dataclass(frozen=True, slots=True, eq=False)
class Atom:
    """A test of one field."""

    place: Place
    test: Test
    source: Source


@dataclass(frozen=True, slots=True, eq=False)
class All:
    """A formula that holds if all parts hold."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Any:
    """A formula that holds if one part holds."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Every:
    """A formula for every element of the list at a place, which need not be there."""

    variable: str
    place: Place
    part: Formula


@dataclass(frozen=True, slots=True, eq=False)
class Some:
    """A formula for some element of the list at a place."""

    variable: str
    place: Place
    part: Formula


@dataclass(frozen=True, slots=True)
class Unknown:
    """A part of a policy that is not understood."""

    what: str = ""


Formula: TypeAlias = Atom | All | Any | Every | Some | Unknown

TRUE: Final = All(())
FALSE: Final = Any(())


def all_of(*parts: Formula) -> Formula:
    """Return the formula of all parts, in its shortest form."""
    return _flat(All, parts, TRUE, FALSE)


def any_of(*parts: Formula) -> Formula:
    """Return the formula of any part, in its shortest form."""
    return _flat(Any, parts, FALSE, TRUE)


def _flat(
    kind: type[All | Any], parts: tuple[Formula, ...], neutral: Formula, decisive: All | Any
) -> Formula:
    flat: list[Formula] = []
    for part in parts:
        if not isinstance(part, All | Any) or (part.parts and not isinstance(part, kind)):
            flat.append(part)
        elif isinstance(part, kind):
            flat += part.parts
        else:
            return decisive
    if not flat:
        return neutral
    return flat[0] if len(flat) == 1 else kind(tuple(flat))


def every(variable: str, place: Place, part: Formula) -> Formula:
    """Return a formula for every element of a list, of which values may as well be taken away."""
    if isinstance(part, Atom) and part.place == Place(variable):
        part = replace(part, test=removable(part.test))
    return Every(variable, place, part)


def opposite(formula: Formula) -> Formula:
    """Return the formula that holds where another does not."""
    match formula:
        case Atom():
            test = formula.test
            if test.wants == "set":
                return replace(formula, test=_ABSENT)
            return replace(formula, test=negated(test))
        case All():
            return any_of(*map(opposite, formula.parts))
        case Any():
            return all_of(*map(opposite, formula.parts))
        case Every():
            return Some(formula.variable, formula.place, opposite(formula.part))
        case Some():
            return every(formula.variable, formula.place, opposite(formula.part))
        case Unknown():
            return formula


def lenient(formula: Formula) -> Formula:
    """Return conditions whose errors count as not met, as in a loop."""
    return tested(formula, _lenient)


def _lenient(test: Test) -> Test:
    if test.opposite_of is not None:
        return negated(_lenient(test.opposite_of), test.wants)
    return replace(test, needs_value=False)


def tested(formula: Formula, change: Callable[[Test], Test]) -> Formula:
    """Return a formula with other tests."""
    return with_atoms(formula, lambda atom: replace(atom, test=change(atom.test)))


def with_atoms(formula: Formula, change: Callable[[Atom], Atom]) -> Formula:
    """Return a formula with other atoms."""
    match formula:
        case Atom():
            return change(formula)
        case All() | Any():
            return type(formula)(tuple(with_atoms(part, change) for part in formula.parts))
        case Every() | Some():
            return replace(formula, part=with_atoms(formula.part, change))
        case Unknown():
            return formula


def truth(formula: Formula, body: Json, scope: Scope) -> bool | None:
    """Report whether an object meets a formula; None where that is not known."""
    match formula:
        case Atom():
            return formula.test.holds(value_at(body, resolved(formula.place, scope)))
        case All():
            return _joined((truth(part, body, scope) for part in formula.parts), False)
        case Any():
            return _joined((truth(part, body, scope) for part in formula.parts), True)
        case Every() | Some():
            wanted = isinstance(formula, Some)
            path = resolved(formula.place, scope)
            listed = value_at(body, path)
            count = len(listed) if isinstance(listed, list) else 0
            inner = ({**scope, formula.variable: (*path, index)} for index in range(count))
            return _joined((truth(formula.part, body, inside) for inside in inner), wanted)
        case Unknown():
            return None


def _joined(truths: Iterator[bool | None], decisive: bool) -> bool | None:
    is_open = False
    for value in truths:
        if value is decisive:
            return decisive
        is_open = is_open or value is None
    return None if is_open else not decisive


def atoms(formula: Formula) -> Iterator[Atom]:
    match formula:
        case Atom():
            yield formula
        case All() | Any():
            for part in formula.parts:
                yield from atoms(part)
        case Every() | Some():
            yield from atoms(formula.part)
