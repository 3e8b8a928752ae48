"""Rules that no object keeps together, and mutations that do not settle, as findings of `policies
lint` and `render`: location, message, hint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, starmap
from typing import Final

from chartkit.addons.satisfy.conflicts.rules import (
    Conflict,
    Shadowed,
    Undecided,
    conflicts,
    shadowed,
    together,
)
from chartkit.addons.satisfy.fields import skeletons
from chartkit.addons.satisfy.formula import TRUE, Formula, Source, value_at
from chartkit.addons.satisfy.search import changed_paths
from chartkit.addons.satisfy.solver import SearchLimitError, Solver, apply
from chartkit.addons.satisfy.wants import RuleKey, Want, key_of, match_formula
from chartkit.engine import OFFLINE, Phase, Request, RunnablePolicy, as_submitted, evaluate
from chartkit.engine.cluster_policy.autogen import written_name
from chartkit.engine.cluster_policy.compile import CompiledPolicy
from chartkit.engine.kubernetes.kinds import kind_of
from chartkit.engine.why import value_text
from chartkit.model import (
    Body,
    FieldPath,
    Json,
    Location,
    Resource,
    Severity,
    Status,
    path_text,
    same,
)
from chartkit.wording import abridged

_MOST_ROUNDS: Final = 5
"""The rounds after which mutations that still change the object never settle: an API server asks
its webhooks a second time at most."""

_MOST_OBJECTS: Final = 50
_MOST_MATCHES: Final = 200
"""The objects of a kind that mutations are applied to, and the rules whose match is asked."""

_MOST_POLICIES: Final = 200
_MOST_FOUND: Final = 100
"""The policies of a kind, and what is named in a run."""

_MOST_APPLIED: Final = 10_000
"""The policies that are applied in a run, each of them to one object."""

_MOST_STEPS: Final = 2_000

_Writes = dict[FieldPath, Json]


@dataclass(frozen=True, slots=True)
class Unsettled:
    """Rules that change a field each time that the mutations are applied. rules: policy and rule;
    field: path in the object; values: that it has one after the other."""

    kind: str
    rules: tuple[RuleKey, ...]
    field: FieldPath
    values: tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class Unapplied:
    """Policies whose mutations were not applied to a kind any more: they are too many."""

    kind: str
    policies: tuple[RunnablePolicy, ...]


def unsettled(policies: Sequence[RunnablePolicy]) -> Iterator[Unsettled | Unapplied]:
    """Yield the mutations that undo each other or never settle, each pair of rules once, and what
    is left out after a bounded number of them. They are applied to the smallest object of each
    kind, and to objects that the first rules match."""
    mutating = [policy for policy in policies if Phase.MUTATE in policy.phases]
    yielded: set[frozenset[RuleKey]] = set()
    left = _MOST_APPLIED
    for body in skeletons().values() if mutating else ():
        resource = as_submitted(Resource(body))
        concerned = [policy for policy in mutating if policy.concerns(Request(resource))]
        if len(concerned) > _MOST_POLICIES:
            yield Unapplied(resource.kind, tuple(concerned[_MOST_POLICIES:]))
            del concerned[_MOST_POLICIES:]
        objects = _objects(resource, concerned) if concerned else iter(())
        for start in islice(objects, _MOST_OBJECTS):
            if left < len(concerned) or len(yielded) > _MOST_FOUND:
                yield Unapplied(resource.kind, tuple(concerned))
                break
            left -= len(concerned)
            for fight in _of_object(start, concerned):
                key = frozenset((policy, written_name(rule)) for policy, rule in fight.rules)
                if key not in yielded:
                    yielded.add(key)
                    yield fight
                if len(yielded) > _MOST_FOUND:
                    yield Unapplied(resource.kind, tuple(concerned))
                    break
            if len(yielded) > _MOST_FOUND:
                break


def _objects(resource: Resource, policies: Sequence[RunnablePolicy]) -> Iterator[Body]:
    """Yield the smallest object, and as it is where it meets the match of each rule."""
    seen: list[Body] = []
    for formula in (*islice(_matches(resource, policies), _MOST_MATCHES), TRUE):
        solver = Solver(resource.body, kind_of(resource), _MOST_STEPS)
        try:
            solution = next(iter(solver.solutions(formula)), None)
        except SearchLimitError:
            continue
        body = resource.body if solution is None else apply(resource.body, solution)
        if not any(same(body, other) for other in seen):
            seen.append(body)
            yield body


def _matches(resource: Resource, policies: Sequence[RunnablePolicy]) -> Iterator[Formula]:
    kind = kind_of(resource)
    for policy in policies:
        if not isinstance(policy, CompiledPolicy):
            continue
        for rule in policy.rules_for(kind, "", Phase.MUTATE):
            source = Source(policy.policy.id, rule.rule.name, "/spec")
            yield match_formula(rule.rule, kind, source, policy.policy.namespace)


def _of_object(body: Body, policies: Sequence[RunnablePolicy]) -> Iterator[Unsettled]:
    writes: dict[RuleKey, _Writes] = {}
    for _ in range(_MOST_ROUNDS):
        before = body
        body, writes = _round(body, policies)
        if not any(writes.values()):
            return
    kind = str(body.get("kind"))
    pairs: set[tuple[RuleKey, RuleKey]] = set()
    for path in sorted({path for written in writes.values() for path in written}, key=path_text):
        writing = (rule for rule, written in writes.items() if path in written)
        for first, other in combinations(writing, 2):
            values = (writes[first][path], writes[other][path])
            if (first, other) not in pairs and not same(*values):
                pairs.add((first, other))
                yield Unsettled(kind, (first, other), path, values)
    if not pairs and not same(before, body):
        rule = next(rule for rule, written in writes.items() if written)
        path = next(iter(writes[rule]))
        yield Unsettled(kind, (rule,), path, (value_at(before, path), value_at(body, path)))


def _round(body: Body, policies: Sequence[RunnablePolicy]) -> tuple[Body, dict[RuleKey, _Writes]]:
    """Apply the mutations once; return the object after them, and what each rule wrote."""
    writes: dict[RuleKey, _Writes] = {}
    for result in evaluate(policies, Request(Resource(body)), OFFLINE, (Phase.MUTATE,)):
        if result.status is Status.PASS and result.patched and result.patched_target is None:
            after = result.patched
            written = {path: value_at(after, path) for path in changed_paths(body, after)}
            writes.setdefault(key_of(result), {}).update(written)
            body = after
    return body, writes


Found = tuple[Severity | None, Location, str, str | None]
"""A severity (None for the rule's own), a location, a message and a hint."""

CONFLICT = "CK751"
"""The ID of rules that exclude each other."""
_SHADOWED = "CK752"
_UNSETTLED = "CK753"
_FEWER = "check fewer policies in one run"


def findings(policies: Sequence[RunnablePolicy]) -> Iterator[tuple[str, *Found]]:
    """Yield the findings about policies together, each behind the ID of its rule."""
    wants = together(policies)
    for conflict in conflicts(wants):
        yield (
            CONFLICT,
            *(_conflict(conflict) if isinstance(conflict, Conflict) else _undecided(conflict)),
        )
    for shadow in shadowed(wants):
        yield _SHADOWED, *(_shadowed(shadow) if isinstance(shadow, Shadowed) else _unseen(shadow))
    by_id = {policy.policy.id: policy for policy in policies}
    for change in unsettled(policies):
        yield (
            _UNSETTLED,
            *(_unsettled(change, by_id) if isinstance(change, Unsettled) else _unapplied(change)),
        )


def _conflict(conflict: Conflict) -> Found:
    first, *others = conflict.wants
    narrow = any(want.applies is not TRUE for want in conflict.wants)
    which = f"{conflict.kind} that these rules match" if narrow else conflict.kind
    about = f" ({', '.join(conflict.fields)})" if conflict.fields else ""
    names = ", ".join(map(_name, conflict.wants))
    places = "; ".join(f"{_name(want)}: {want.location}" for want in others)
    smallest = "without any one of them an object passes; " if conflict.is_minimal else ""
    message = f"no {which} passes all of {names}{about}"
    return None, first.location, message, f"{smallest}change one of them: {places}"


def _undecided(undecided: Undecided) -> Found:
    names = abridged([_name(want) for want in undecided.wants])
    message = f"whether a {undecided.kind} can pass all of these rules is not decided: {names}"
    return Severity.NOTE, undecided.wants[0].location, message, _FEWER


def _name(want: Want) -> str:
    return _rule_name(want.policy, want.rule)


def _rule_name(policy: str, rule: str) -> str:
    return f"{policy}/{written_name(rule)}" if rule else policy


def _shadowed(shadow: Shadowed) -> Found:
    denying = shadow.denying
    message = f"{_name(shadow.rule)} decides nothing: {_name(denying)} denies every {shadow.kind}"
    hint = f"remove one of them; the other is at {denying.location}"
    return None, shadow.rule.location, f"{message} that it applies to", hint


def _unseen(undecided: Undecided) -> Found:
    names = abridged([_name(want) for want in undecided.wants])
    message = f"whether another rule leaves these nothing to decide is not decided: {names}"
    return Severity.NOTE, undecided.wants[0].location, message, _FEWER


def _unsettled(loop: Unsettled, policies: Mapping[str, RunnablePolicy]) -> Found:
    names = list(starmap(_rule_name, loop.rules))
    location = policies[loop.rules[0][0]].policy.resource.location
    field = path_text(loop.field)
    if len(names) > 1:
        first, second = map(value_text, loop.values)
        what = f"undo each other: {field} of a {loop.kind} becomes {first}, then {second}"
        return None, location, f"{names[0]} and {names[1]} {what}", "let one of them set it"
    what = f"changes {field} of a {loop.kind} again each time that it is applied"
    hint = "let it match only objects without the change: mutations are applied again"
    return None, location, f"{names[0]} never settles: it {what}", hint


def _unapplied(unapplied: Unapplied) -> Found:
    names = abridged([policy.policy.name for policy in unapplied.policies])
    message = f"whether the mutations of a {unapplied.kind} settle is not decided: {names}"
    return Severity.NOTE, unapplied.policies[0].policy.resource.location, message, _FEWER
