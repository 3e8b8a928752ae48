"""Values of fields that meet a formula: a search through its choices, in which what holds already
comes first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from chartkit.addons.satisfy.fields import UNUSUAL, type_test
from chartkit.addons.satisfy.formula import (
    All,
    Any,
    Atom,
    Every,
    Formula,
    Scope,
    Some,
    Unknown,
    resolved,
    truth,
    value_at,
)
from chartkit.addons.satisfy.values import MISSING, Meeting, Test, Undecided, meet, one_of
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from chartkit.model import FieldPath, Json, same

_MOST_STEPS: Final = 20_000

Goal = tuple[Formula, Scope]
_IDENTITY: Final = (("apiVersion",), ("kind",))
"""The fields whose change would make another object."""
_RANKS: Final = {True: 0, False: 1, None: 2}


@dataclass(frozen=True, slots=True)
class Assignment:
    """The value of a field, and the tests that want it."""

    value: Json
    is_certain: bool
    atoms: tuple[Atom, ...]


Solution = Mapping[FieldPath, Assignment]


class SearchLimitError(Exception):
    """A search that took more steps than it may."""


@dataclass(slots=True)
class _State:
    """The demands on one way through the choices. wants: by path the tests of its field;
    lengths: of lists; loops: by list what is wanted of every element that is added; undecided:
    fields of which no value is known yet; parents: fields that have something below; choices: that
    are still to be made."""

    wants: dict[FieldPath, tuple[Atom, ...]] = field(default_factory=dict)
    lengths: dict[FieldPath, int] = field(default_factory=dict)
    loops: dict[FieldPath, tuple[tuple[Every, Scope], ...]] = field(default_factory=dict)
    undecided: set[FieldPath] = field(default_factory=set)
    parents: set[FieldPath] = field(default_factory=set)
    choices: list[Goal] = field(default_factory=list)

    def copy(self) -> _State:
        maps = (dict(self.wants), dict(self.lengths), dict(self.loops))
        return _State(*maps, set(self.undecided), set(self.parents), list(self.choices))


class Solver:
    """Solves formulas for one object.

    body: of which the values come first where they pass; only its lists bind the search; kind:
    gives the types of its fields, None without them. left: the steps that are left; is_complete:
    whether the last search looked at every choice, and each was refused for a reason that is shown;
    without a solution the formula cannot be met then.
    """

    def __init__(
        self, body: Json, kind: GroupVersionKind | None = None, most_steps: int = _MOST_STEPS
    ) -> None:
        self._body = body
        self._kind = kind
        self.left = most_steps
        self._truths: dict[tuple[int, tuple[FieldPath, ...]], tuple[bool | None, Formula]] = {}
        self.is_complete = True

    def solutions(self, formula: Formula) -> Iterator[Solution]:
        """Yield the ways to meet a formula, those with the fewest changes of choices first. Raises
        SearchLimitError."""
        state = _State()
        waiting: list[Iterator[tuple[list[Goal], _State]]] = [iter([([(formula, {})], state)])]
        while waiting:
            way = next(waiting[-1], None)
            if way is None:
                waiting.pop()
                continue
            state = way[1].copy()
            if not self._settle(way[0], state):
                continue
            if state.choices:
                # What the object does not meet comes first, and of that what has the fewest ways.
                state.choices.sort(key=self._order)
                waiting.append(self._branches(*state.choices.pop(0), state))
            else:
                yield from self._assigned(state)

    def _settle(self, goals: list[Goal], state: _State) -> bool:
        """Add the wants and choices of goals; report whether every field can have a value."""
        goals = goals[::-1]
        while goals:
            self.left -= 1
            if self.left < 0:
                self.is_complete = False
                raise SearchLimitError
            formula, scope = goals.pop()
            match formula:
                case Atom():
                    if not self._want(formula, scope, state):
                        return False
                case All():
                    goals += [(part, scope) for part in reversed(formula.parts)]
                case Every():
                    path = resolved(formula.place, scope)
                    state.loops[path] = (*state.loops.get(path, ()), (formula, scope))
                    every = [
                        (formula.part, {**scope, formula.variable: (*path, index)})
                        for index in range(self._length(path, state))
                    ]
                    goals += every
                case Any() | Some():
                    state.choices.append((formula, scope))
                case Unknown():
                    pass
        for path in state.undecided:
            try:
                tests = self._tests(path, state.wants[path])
                if meet(tests, value_at(self._body, path)) is None:
                    return False
            except Undecided:
                self.is_complete = False
                return False
        state.undecided.clear()
        return True

    def _order(self, goal: Goal) -> tuple[bool, int]:
        formula, scope = goal
        ways = len(formula.parts) if isinstance(formula, Any) else 2
        return self._truth(formula, scope) is True, ways

    def _truth(self, formula: Formula, scope: Scope) -> bool | None:
        key = (id(formula), tuple(scope.values()))
        if key not in self._truths:
            self._truths[key] = truth(formula, self._body, scope), formula
        return self._truths[key][0]

    def _rank(self, part: Formula, scope: Scope) -> tuple[bool, int, bool]:
        """Return the rank of a way of a choice: a field that few manifests have comes last, and a
        test that takes the usual value of its field first."""
        is_met, is_other = self._truth(part, scope), False
        if isinstance(part, Atom) and self._kind is not None:
            typed = type_test(self._kind, resolved(part.place, scope))
            usual = () if typed is None else typed.usual
            is_other = bool(usual) and not any(map(part.test.holds, usual))
        return not is_met and is_unusual(part), _RANKS[is_met], is_other

    def _branches(
        self, formula: Formula, scope: Scope, state: _State
    ) -> Iterator[tuple[list[Goal], _State]]:
        """Yield the ways of a choice, what the object does already first."""
        if isinstance(formula, Any):
            for part in sorted(formula.parts, key=lambda part: self._rank(part, scope)):
                yield [(part, scope)], state
            return
        assert isinstance(formula, Some)
        path = resolved(formula.place, scope)
        count = self._length(path, state)
        inner = [{**scope, formula.variable: (*path, index)} for index in range(count + 1)]
        ranked_scopes = sorted(inner[:-1], key=lambda way: _RANKS[self._truth(formula.part, way)])
        for inside in ranked_scopes:
            yield [(formula.part, inside)], state
        grown = state.copy()
        grown.lengths[path] = count + 1
        added = [
            (loop.part, {**outer, loop.variable: (*path, count)})
            for loop, outer in state.loops.get(path, ())
        ]
        yield [(formula.part, inner[-1]), *added], grown

    def _length(self, path: FieldPath, state: _State) -> int:
        listed = value_at(self._body, path)
        return state.lengths.get(path, len(listed) if isinstance(listed, list) else 0)

    def _want(self, atom: Atom, scope: Scope, state: _State) -> bool:
        """Add a want; report whether the field can still have a value."""
        path = resolved(atom.place, scope)
        atoms = state.wants[path] = (*state.wants.get(path, ()), atom)
        is_there = not atom.test.holds(MISSING)
        if is_there:
            state.parents.update(path[:depth] for depth in range(len(path)))
        try:
            if self._value(path, atoms, value_at(self._body, path), state) is None:
                return False
        except Undecided:
            state.undecided.add(path)
        return not is_there or self._has_room(path, state)

    def _has_room(self, path: FieldPath, state: _State) -> bool:
        """Report whether no field above one that is there is wanted to be away, or no object."""
        for depth in range(len(path)):
            above = path[:depth]
            if above not in state.wants:
                continue
            try:
                current = value_at(self._body, above)
                if self._value(above, state.wants[above], current, state) is None:
                    return False
            except Undecided:
                state.undecided.add(above)
        return True

    def _tests(self, path: FieldPath, atoms: tuple[Atom, ...]) -> list[Test]:
        typed = None if self._kind is None else type_test(self._kind, path)
        if path in _IDENTITY:
            typed = one_of((value_at(self._body, path),))
        return [*(atom.test for atom in atoms), *((typed,) if typed is not None else ())]

    def _assigned(self, state: _State) -> Iterator[Solution]:
        assigned: dict[FieldPath, Assignment] = {}
        for path, atoms in state.wants.items():
            current = value_at(self._body, path)
            try:
                meeting = self._value(path, atoms, current, state)
            except Undecided:
                self.is_complete = False
                return
            if meeting is None:
                return
            assigned[path] = Assignment(meeting.value, meeting.is_certain, atoms)
        gone = {path for path, assignment in assigned.items() if assignment.value is MISSING}
        yield {
            path: assignment
            for path, assignment in assigned.items()
            if not any(path[:depth] in gone for depth in range(1, len(path)))
        }

    def _value(
        self, path: FieldPath, atoms: tuple[Atom, ...], current: Json, state: _State
    ) -> Meeting | None:
        tests = self._tests(path, atoms)
        meeting = meet(tests, current)
        if meeting is None or not self._has_members(path, state):
            return meeting
        # What is below the field is there, so that it is an object or a list.
        kept = current if isinstance(current, dict | list) else self._empty(path, state)
        if all(test.holds(kept) for test in tests):
            return Meeting(kept if kept is current else type(kept)(), True)
        if any(test.is_closed and not _has_container(test) for test in tests):
            return None
        raise Undecided

    def _has_members(self, path: FieldPath, state: _State) -> bool:
        """Report whether something below a field is wanted to be there."""
        depth = len(path)
        return path in state.parents or any(
            grown[:depth] == path and count > self._length(grown, _State())
            for grown, count in state.lengths.items()
        )

    def _empty(self, path: FieldPath, state: _State) -> Json:
        paths = [*state.wants, *((*grown, 0) for grown in state.lengths)]
        below = (other[len(path)] for other in paths if other[: len(path)] == path != other)
        return [{}] if any(isinstance(step, int) for step in below) else {"": None}


def _has_container(test: Test) -> bool:
    return any(isinstance(value, dict | list) for value in test.probes)


@lru_cache(maxsize=2048)
def is_unusual(formula: Formula) -> bool:
    """Report whether a formula wants a field to be there that few manifests have."""
    match formula:
        case Atom():
            return not (UNUSUAL.isdisjoint(formula.place.steps) or formula.test.holds(MISSING))
        case All():
            return any(map(is_unusual, formula.parts))
        case Any():
            return bool(formula.parts) and all(map(is_unusual, formula.parts))
        case Some():
            return is_unusual(formula.part)
        case _:
            return False


def apply(body: Json, solution: Solution) -> Json:
    """Return an object with the values of a solution."""
    for path, assignment in sorted(solution.items(), key=lambda item: len(item[0])):
        if assignment.value is not MISSING and not same(assignment.value, value_at(body, path)):
            body = with_value(body, path, assignment.value)
    gone = [path for path, assignment in solution.items() if assignment.value is MISSING]
    # Items of lists from the last to the first, so that the places of the others stay.
    for path in sorted(gone, key=lambda path: [*map(_order, path)], reverse=True):
        body = with_value(body, path, MISSING)
    return body


def _order(step: str | int) -> tuple[int, str]:
    return (step, "") if isinstance(step, int) else (0, step)


def with_value(body: Json, path: FieldPath, value: Json) -> Json:
    """Return an object with another value at a path, which is made; MISSING takes it away."""
    if not path:
        return body if value is MISSING else value
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        items = list(body) if isinstance(body, list) else []
        if step < len(items):
            if value is MISSING and not rest:
                return items[:step] + items[step + 1 :]
            items[step] = with_value(items[step], rest, value)
        elif value is not MISSING:
            items.append(with_value(None, rest, value))
        return items
    members = dict(body) if isinstance(body, dict) else {}
    if value is MISSING and (not rest or step not in members):
        members.pop(step, None)
        return members
    members[str(step)] = with_value(members.get(str(step)), rest, value)
    return members
