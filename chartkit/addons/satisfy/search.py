"""The search for a witness: an object that all policies accept, as small as it can be.

The engine judges; the policies' own text says what to change, and changes are taken back where
others are refused because of them. What is not found within the limits is not decided.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Final

from chartkit.addons.satisfy.fields import completed, type_test
from chartkit.addons.satisfy.formula import Formula, all_of, atoms, value_at
from chartkit.addons.satisfy.solver import SearchLimitError, Solver, apply, with_value
from chartkit.addons.satisfy.values import MISSING
from chartkit.addons.satisfy.wants import RuleKey, Want, key_of, location_of, wants_of
from chartkit.engine import RunnablePolicy
from chartkit.engine.kubernetes.kinds import kind_of
from chartkit.model import (
    Body,
    FieldPath,
    Json,
    Location,
    Resource,
    RuleResult,
    RuleType,
    Status,
    path_step,
    pointer_steps,
    same,
)

JudgeObject = Callable[[Body], Sequence[RuleResult]]
"""Returns the results of an object's admission: mutations first, then validations."""

_BAD: Final = frozenset((Status.FAIL, Status.ERROR))
_MOST_ROUNDS: Final = 60
_MOST_WAYS: Final = 12
_IDENTITY: Final = ("apiVersion", "kind")
_NAMES: Final = (("metadata", "name"), ("metadata", "namespace"))
_MOST_VALUES: Final = 4
"""The values of its type that are tried in a field."""


@dataclass(frozen=True, slots=True)
class Reason:
    """A rule that wants a field, and the place in its policy that says so."""

    policy: str
    rule: str
    location: Location


@dataclass(frozen=True, slots=True)
class Witness:
    """An object that is accepted. reasons: by the path of a field, the rules without which the
    object could do without it."""

    body: Body
    reasons: Mapping[FieldPath, tuple[Reason, ...]]


@dataclass(frozen=True, slots=True)
class NotDecided:
    """A search without an end. left: results that no change could help; wants: of the rules that
    were looked at together; body: the object that they refused; is_refuted: whether these are shown
    to exclude each other for objects that they match."""

    left: tuple[RuleResult, ...]
    wants: tuple[Want, ...]
    body: Body
    is_refuted: bool = False


@dataclass(slots=True)
class Search:
    """A search for one object. judge: of the environment; deadline: by `time.monotonic`."""

    skeleton: Resource
    policies: Sequence[RunnablePolicy]
    judge: JudgeObject
    seconds: float = 5.0
    _deadline: float = field(init=False)
    _wants: dict[RuleKey, Want] = field(init=False)

    def __post_init__(self) -> None:
        self._deadline = time.monotonic() + self.seconds
        self._wants = {
            want.key: want for policy in self.policies for want in wants_of(policy, self.skeleton)
        }

    def run(self) -> Witness | NotDecided:
        """Return a witness, or the results in its way."""
        end = self.find(self.skeleton.body)
        if isinstance(end, NotDecided) and not end.is_refuted:
            # An object that passes, with values of their types in the fields that results name: a
            # way for rules whose text is not understood.
            body, failing = end.body, {key_of(result): result for result in end.left}
            while failing and time.monotonic() < self._deadline:
                for changed in self._with_fields(body, failing.values()):
                    left = self.failing(changed)
                    if _is_closer(left, failing):
                        body, failing = changed, left
                        break
                else:
                    break
            end = replace(end, left=tuple(failing.values()), body=body) if failing else body
        return end if isinstance(end, NotDecided) else self.minimal(end)

    def find(self, body: Body) -> Body | NotDecided:
        """An object that passes, made of another one with as few changes as the search sees."""
        active: dict[RuleKey, Want] = {}
        tried = body
        failing = self.failing(body)
        for _ in range(_MOST_ROUNDS):
            if not failing:
                return body
            wants = {key: self._wants[key] for key in failing if key in self._wants}
            if wants.keys() <= active.keys():
                return NotDecided(tuple(failing.values()), tuple(active.values()), tried)
            active |= wants
            way = self._way(body, active)
            if isinstance(way, NotDecided):
                return way
            tried, failing = way
            if not failing:
                return tried
        return NotDecided(tuple(failing.values()), tuple(active.values()), tried)

    def _with_fields(self, body: Body, results: Iterable[RuleResult]) -> Iterator[Body]:
        kind = kind_of(self.skeleton)
        for pointer in dict.fromkeys(chain.from_iterable(result.fields for result in results)):
            path = tuple(map(path_step, pointer_steps(pointer)))
            is_identity = path[0] in _IDENTITY or path[:2] in _NAMES
            test = None if is_identity else type_test(kind, path)
            for value in test.offers[:_MOST_VALUES] if test is not None else ():
                if not same(value, value_at(body, path)):
                    yield completed(kind, with_value(body, path, value), body)

    def _way(
        self, body: Body, active: Mapping[RuleKey, Want]
    ) -> tuple[Body, dict[RuleKey, RuleResult]] | NotDecided:
        """The first object that meets the wants so far, and the rules that it fails."""
        solver = Solver(body, kind_of(self.skeleton))
        goal: Formula = all_of(*(want.repair for want in active.values()))
        # The first of the ways after which the fewest rules fail.
        best, left = body, dict[RuleKey, RuleResult]()
        is_refuted = False
        try:
            for solution in islice(solver.solutions(goal), _MOST_WAYS):
                changed = completed(kind_of(self.skeleton), apply(body, solution), body)
                failing = self.failing(changed)
                if not failing or not failing.keys() <= active.keys():
                    return changed, failing
                if not left or len(failing) < len(left):
                    best, left = changed, failing
                if time.monotonic() > self._deadline:
                    break
            else:
                is_refuted = not left and solver.is_complete
        except SearchLimitError:
            pass
        return NotDecided(tuple(left.values()), tuple(active.values()), best, is_refuted)

    def failing(self, body: Body) -> dict[RuleKey, RuleResult]:
        """Return the results that refuse an object, by rule."""
        return {
            key_of(result): result
            for result in self.judge(body)
            if result.status in _BAD and result.type is RuleType.VALIDATION
        }

    def minimal(self, body: Body) -> Witness:
        """Return an object without the changes that no rule wants."""
        skeleton = self.skeleton.body
        for path in list(changed_paths(skeleton, body)):
            smaller = _without(skeleton, body, path)
            if smaller is not None and self._is_whole(smaller) and not self.failing(smaller):
                body = smaller
        reasons = {}
        for path in changed_paths(skeleton, body):
            smaller = _without(skeleton, body, path)
            if smaller is not None:
                reasons[path] = tuple(self._reasons(path, self.failing(smaller)))
        return Witness(body, {path: kept for path, kept in reasons.items() if kept})

    def _is_whole(self, body: Body) -> bool:
        """Report whether nothing is left out that an API server asks for."""
        return same(completed(kind_of(self.skeleton), body, self.skeleton.body), body)

    def _reasons(self, path: FieldPath, failing: Iterable[RuleKey]) -> Iterator[Reason]:
        for key in failing:
            want = self._wants.get(key)
            policy, rule = key
            if want is None:
                yield Reason(policy, rule, self.skeleton.location)
            else:
                yield Reason(policy, rule, place_of(want, path))


def _is_closer(left: Mapping[RuleKey, RuleResult], before: Mapping[RuleKey, RuleResult]) -> bool:
    """Report whether fewer rules fail than before, or the same ones over fewer fields."""
    if not left.keys() <= before.keys():
        return False
    fields = sum(len(result.fields) for result in left.values())
    return (len(left), fields) < (len(before), sum(len(old.fields) for old in before.values()))


def place_of(want: Want, path: FieldPath) -> Location:
    """Return the place in a policy that speaks of a field, else the place of the rule."""
    names = [step for step in path if isinstance(step, str)]
    best, length = want.source, 0
    for atom in atoms(want.passes):
        steps = [step for step in atom.place.steps if isinstance(step, str)]
        ends = [steps[:end] for end in range(len(steps), 0, -1)]
        tail = next((end for end in ends if names[-len(end) :] == end), [])
        if len(tail) > length:
            best, length = atom.source, len(tail)
    return location_of(want.compiled, best)


def changed_paths(before: Json, after: Json, path: FieldPath = ()) -> Iterator[FieldPath]:
    """Yield the paths that differ: a new whole before its parts, last items of lists first."""
    if before is MISSING or type(before) is not type(after) or not isinstance(after, dict | list):
        if not same(before, after):
            if path:
                yield path
            if isinstance(after, dict | list):
                yield from _parts(MISSING, after, path)
        return
    yield from _parts(before, after, path)


def _parts(before: Json, after: Json, path: FieldPath) -> Iterator[FieldPath]:
    for step in after if isinstance(after, dict) else reversed(range(len(after))):
        own = value_at(before, (step,)) if before is not MISSING else MISSING
        yield from changed_paths(own, after[step], (*path, step))


def _without(skeleton: Json, body: Body, path: FieldPath) -> Body | None:
    """An object with a field as in the skeleton; None where it is so already, or is gone."""
    current, original = value_at(body, path), value_at(skeleton, path)
    if current is MISSING or same(current, original):
        return None
    changed: Body = with_value(body, path, original)
    return changed
