"""The changes of an object that make a rule pass, drawn from the text of its policy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from chartkit.addons.satisfy.formula import Formula, value_at
from chartkit.addons.satisfy.solver import SearchLimitError, Solution, Solver, apply
from chartkit.addons.satisfy.values import MISSING
from chartkit.addons.satisfy.wants import Want, location_of, wants_of
from chartkit.engine import RunnablePolicy
from chartkit.engine.kubernetes.kinds import kind_of
from chartkit.model import FieldPath, Json, Location, Resource, RuleResult, pointer_of, same

DELETE: Final = MISSING
"""The value of a change that takes its field away."""

_MOST_WAYS: Final = 8


@dataclass(frozen=True, slots=True)
class Change:
    """One change of an object.

    pointer: JSON pointer of the field, whose parents may be missing; an index one behind a list's
    last appends to it; value: the new one, or DELETE; certain: whether the policy leaves no other
    value, or takes one that is safe (False where a person must decide, such as which registry);
    wants: what the policy asks of the field, in words; location: of that in the policy.
    """

    pointer: str
    value: Json
    certain: bool
    wants: str
    policy: str
    rule: str
    location: Location


Repair = tuple[Change, ...]
"""Changes that make a rule pass together."""


def repairs(resource: Resource, policy: RunnablePolicy, result: RuleResult) -> Sequence[Repair]:
    """Return the ways to make a failed result pass, those with the fewest guesses and changes
    first; each is a set of changes that belong together. The engine confirms them: parts of a
    policy that are not understood yield no changes."""
    wants = [want for want in wants_of(policy, resource) if want.rule == result.rule]
    ways = [repair for want in wants for repair in _of_want(resource, want)]
    unique = {tuple((change.pointer, repr(change.value)) for change in way): way for way in ways}
    return sorted(unique.values(), key=_cost)


def _cost(repair: Repair) -> tuple[int, int]:
    return sum(not change.certain for change in repair), len(repair)


def _of_want(resource: Resource, want: Want) -> Iterator[Repair]:
    for solution in ways(resource, want.repair):
        changes = tuple(changes_of(resource.body, solution, want.compiled))
        if changes:
            yield changes


def ways(resource: Resource, formula: Formula) -> list[Solution]:
    """Return the first ways to meet a formula."""
    solver = Solver(resource.body, kind_of(resource))
    try:
        return list(islice(solver.solutions(formula), _MOST_WAYS))
    except SearchLimitError:
        return []


def changes_of(body: Json, solution: Solution, policy: RunnablePolicy) -> Iterator[Change]:
    """Yield the changes of an object that a solution makes; policy: whose wants they are."""
    after = apply(body, solution)
    done: set[FieldPath] = set()
    for path, assignment in sorted(solution.items(), key=lambda item: [*map(str, item[0])]):
        if same(assignment.value, value_at(body, path)) or assignment.value is value_at(body, path):
            continue
        if assignment.value in ({}, []) and any(
            other[: len(path)] == path != other and below.value is not MISSING
            for other, below in solution.items()
        ):
            continue
        # The path of a list, or an item, that is not there yet around a field; else the field's
        # own.
        whole: FieldPath = path
        for depth, step in enumerate(path):
            if isinstance(step, int) and value_at(body, path[: depth + 1]) is MISSING:
                listed = value_at(body, path[:depth])
                whole = path[: depth + 1] if isinstance(listed, list) else path[:depth]
                break
        if whole in done:
            continue
        done.add(whole)
        value = assignment.value if whole == path else value_at(after, whole)
        current = value_at(body, path)
        source = next(
            (atom for atom in assignment.atoms if not atom.test.holds(current)), assignment.atoms[0]
        ).source
        yield Change(
            pointer_of(*whole),
            value,
            assignment.is_certain
            and not (value is MISSING and isinstance(value_at(body, path), dict | list)),
            "; ".join(dict.fromkeys(atom.test.wants for atom in assignment.atoms)),
            source.policy,
            source.rule,
            location_of(policy, source),
        )
