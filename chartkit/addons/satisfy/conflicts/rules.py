"""Rules that no object keeps together, and rules that others leave nothing to decide.

Both are deduced from what rules want of the same fields, and only what is shown is reported: that
a search finds no object shows nothing. Each rule of a conflict is necessary: without it there is
an object that the engine accepts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Final

from chartkit.addons.satisfy.formula import (
    TRUE,
    All,
    Any,
    Every,
    Formula,
    Some,
    all_of,
    any_of,
    atoms,
    opposite,
)
from chartkit.addons.satisfy.solver import SearchLimitError, Solver, with_value
from chartkit.addons.satisfy.wants.rules import Want, wants_of
from chartkit.addons.satisfy.witness.search import Search, Witness
from chartkit.addons.satisfy.witness.skeletons import skeletons
from chartkit.engine import (
    ENFORCE,
    OFFLINE,
    Phase,
    Request,
    RunnablePolicy,
    as_submitted,
    evaluate,
)
from chartkit.engine.cel_policies.run import CompiledCelPolicy
from chartkit.engine.cel_policies.scope import Attributes
from chartkit.engine.cluster_policy.compile import CompiledPolicy
from chartkit.engine.cluster_policy.match import compile_kinds
from chartkit.engine.kubernetes.kinds import POD_SPECS, kind_of
from chartkit.model import Body, Location, Resource, RuleResult

_MOST_STEPS: Final = 2_000
_MOST_PAIRS: Final = 400
_SECONDS: Final = 0.5
"""The time for the object that shows that a rule is necessary."""

Fields = frozenset[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Rules that no object of a kind keeps together. is_minimal: whether there is an object that
    passes the others for each of them, which the engine accepts."""

    kind: str
    wants: tuple[Want, ...]
    is_minimal: bool
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Undecided:
    """Rules about the same fields that are too many, or too intricate, to be decided."""

    kind: str
    wants: tuple[Want, ...]


@dataclass(frozen=True, slots=True)
class Shadowed:
    """A rule that decides nothing: another one denies every object that it applies to."""

    kind: str
    rule: Want
    denying: Want


@dataclass(frozen=True, slots=True)
class Together:
    """What policies say together of objects of one kind."""

    resource: Resource
    wants: tuple[Want, ...]


def together(policies: Sequence[RunnablePolicy]) -> tuple[Together, ...]:
    """Return what is wanted of each kind by two rules or more.

    Of a kind with a Pod template the rules about Pods count as rules about Pods alone, unless
    another rule speaks of the template.
    """
    found = []
    for kind, body in skeletons().items():
        resource = Resource(body, Location(f"<{kind}>"))
        if kind in POD_SPECS:
            wants = _wants([each for each in policies if _names(each, resource)], resource)
            if any("template" in path for want in wants for path in _fields_of(want.passes)):
                wants = _wants(policies, resource)
        else:
            wants = _wants(policies, resource)
        if len(wants) > 1:
            found.append(Together(resource, wants))
    return tuple(found)


def _wants(policies: Sequence[RunnablePolicy], resource: Resource) -> tuple[Want, ...]:
    request = Request(resource)
    concerned = (policy for policy in policies if policy.concerns(request))
    return tuple(want for policy in concerned for want in wants_of(policy, resource))


def _names(policy: RunnablePolicy, resource: Resource) -> bool:
    """Report whether a policy has rules about a kind that were not made from rules about Pods."""
    if isinstance(policy, CompiledPolicy):
        kind = kind_of(resource)
        return Phase.VALIDATE in policy.phases and any(
            compile_kinds(rule.match.kinds)(kind, "") for rule in policy.policy.rules
        )
    return isinstance(policy, CompiledCelPolicy) and any(
        evaluator.policy is policy.policy
        for evaluator in policy.evaluators_of(Attributes(Request(resource)))
    )


def conflicts(found: Sequence[Together]) -> Iterator[Conflict | Undecided]:
    """Yield the smallest sets of rules that no object passes, each once, and what is not
    decided."""
    known: set[frozenset[tuple[str, str]]] = set()
    for each in found:
        named: set[int] = set()
        compared: set[tuple[int, int]] = set()
        # A rule that refuses whatever it matches conflicts with nothing.
        fields = {
            id(want): _fields_of(_wanted(want))
            for want in each.wants
            if not _refuted(each.resource, _wanted(want))
        }
        for group in _groups(each.wants):
            left = [want for want in group if fields.get(id(want)) and id(want) not in named]
            for conflict in _in_group(each.resource, left, fields, compared):
                # Of a conflict that is named, the others go on to the next groups.
                named |= {id(conflict.wants[-1])} if isinstance(conflict, Conflict) else set()
                key = frozenset((want.policy, _written(want)) for want in conflict.wants)
                if key not in known:
                    known.add(key)
                    yield conflict


def shadowed(found: Sequence[Together]) -> Iterator[Shadowed]:
    """Yield the rules that apply only to objects that another enforced rule denies."""
    known: set[tuple[str, str]] = set()
    for each in found:
        wide = [want for want in each.wants if want.applies is TRUE and _is_enforced(want)]
        fields = {id(want): _fields_of(want.passes) for want in wide}
        for want in each.wants:
            own = _fields_of(_applying(want))
            near = (other for other in wide if other is not want and own & fields[id(other)])
            denying = next((other for other in near if _shadows(each.resource, other, want)), None)
            if denying is not None and (want.policy, _written(want)) not in known:
                known.add((want.policy, _written(want)))
                yield Shadowed(each.resource.kind, want, denying)


def _applying(want: Want) -> Formula:
    return all_of(want.applies, want.conditions)


def _is_enforced(want: Want) -> bool:
    return want.compiled.action(want.rule, "") == ENFORCE


def _shadows(resource: Resource, other: Want, want: Want) -> bool:
    applies = _applying(want)
    together = _refuted(resource, all_of(applies, other.formula))
    return together and not _refuted(resource, applies) and not _refuted(resource, other.formula)


def _written(want: Want) -> str:
    return want.source.pointer


def _bound(resource: Resource) -> Body:
    """Return the part that every object of a kind has: of Pods, one container."""
    kind = resource.kind
    bound: Body = {"apiVersion": resource.api_version, "kind": kind, "metadata": {}}
    if kind == "Pod" or kind in POD_SPECS:
        steps = tuple(POD_SPECS.get(kind, "spec").split("."))
        bound = with_value(bound, (*steps, "containers", 0), {})
    return bound


def _groups(wants: Sequence[Want]) -> Iterator[tuple[Want, ...]]:
    """Yield sets of rules that apply to the same objects, or to all: those that match every object,
    and with them those of each other match."""
    everywhere = tuple(want for want in wants if want.applies is TRUE)
    if len(everywhere) > 1:
        yield everywhere
    narrow: dict[str, list[Want]] = {}
    for want in wants:
        if want.applies is not TRUE:
            narrow.setdefault(_match_text(want), []).append(want)
    for group in narrow.values():
        yield (*everywhere, *group)


def _match_text(want: Want) -> str:
    body = want.compiled.policy.resource.body
    spec = body["spec"]
    if want.rule:
        index = int(want.source.pointer.rpartition("/")[2])
        rule = spec["rules"][index]
        return json.dumps([body["kind"], rule.get("match"), rule.get("exclude")], default=str)
    return json.dumps(spec.get("matchConstraints"), default=str)


def _in_group(
    resource: Resource,
    group: Sequence[Want],
    fields: Mapping[int, Fields],
    compared: set[tuple[int, int]],
) -> Iterator[Conflict | Undecided]:
    """Yield the conflicts of rules that apply to the same objects; fields: what each speaks of;
    compared: the pairs of rules that were looked at before, which grow."""
    for near in _connected(group, fields):
        if _decided(resource, near) is not False:
            yield from _among(resource, near, fields, compared)


def _wanted(want: Want) -> Formula:
    """Return what a rule wants of an object that it matches."""
    return any_of(opposite(want.conditions), want.passes)


def _among(
    resource: Resource,
    near: Sequence[Want],
    fields: Mapping[int, Fields],
    compared: set[tuple[int, int]],
) -> Iterator[Conflict | Undecided]:
    """Yield the conflicts of rules: first those of two, which a search through all of them together
    may not come to."""
    wants = list(near)
    pairs = [pair for pair in combinations(wants, 2) if _share(pair, fields)]
    for one, other in pairs[:_MOST_PAIRS]:
        key = (id(one), id(other))
        if key in compared:
            continue
        compared.add(key)
        if one in wants and other in wants and _decided(resource, (one, other)):
            yield _conflict(resource, (one, other))
            wants.remove(other)
    while len(wants) > 1:
        refuted = _decided(resource, wants)
        if refuted is None:
            yield Undecided(resource.kind, tuple(wants))
        if not refuted:
            return
        core = _smallest(resource, wants)
        yield _conflict(resource, core)
        wants.remove(core[-1])


def _share(pair: tuple[Want, Want], fields: Mapping[int, Fields]) -> bool:
    one, other = pair
    return not fields[id(one)].isdisjoint(fields[id(other)])


def _conflict(resource: Resource, core: tuple[Want, ...]) -> Conflict:
    return Conflict(resource.kind, core, _is_minimal(resource, core), _shared(core))


def _smallest(resource: Resource, wants: Sequence[Want]) -> tuple[Want, ...]:
    core = list(wants)
    for want in wants:
        fewer = [other for other in core if other is not want]
        if _decided(resource, fewer):
            core = fewer
    return tuple(core)


def _is_minimal(resource: Resource, core: Sequence[Want]) -> bool:
    for want in core:
        others = [other for other in core if other is not want]
        if not isinstance(_witness(resource, others), Witness):
            return False
    return True


def _witness(resource: Resource, wants: Sequence[Want]) -> object:
    """Return a witness for some rules; the results of other rules do not count."""
    keys = {(want.policy, want.rule) for want in wants}
    policies = list({id(want.compiled): want.compiled for want in wants}.values())

    def judge(body: Body) -> list[RuleResult]:
        request = Request(as_submitted(Resource(body)))
        results = evaluate(policies, request, OFFLINE, (Phase.VALIDATE,))
        return [each for each in results if (each.policy_id, each.rule) in keys]

    return Search(resource, policies, judge, _SECONDS).run()


def _decided(resource: Resource, wants: Sequence[Want]) -> bool | None:
    """Return whether some rules exclude each other; None where that is not decided."""
    solver = Solver(_bound(resource), kind_of(resource), _MOST_STEPS)
    try:
        found = next(iter(islice(solver.solutions(all_of(*map(_wanted, wants))), 1)), None)
    except SearchLimitError:
        return None
    return found is None and solver.is_complete


def _refuted(resource: Resource, formula: Formula) -> bool:
    solver = Solver(_bound(resource), kind_of(resource), _MOST_STEPS)
    try:
        return next(iter(solver.solutions(formula)), None) is None and solver.is_complete
    except SearchLimitError:
        return False


def _connected(wants: Sequence[Want], fields: Mapping[int, Fields]) -> Iterator[tuple[Want, ...]]:
    """Yield the rules that speak of the same fields, directly or through others."""
    left = list(wants)
    while left:
        found = [left.pop(0)]
        seen = set(fields[id(found[0])])
        grown = True
        while grown:
            near = [want for want in left if _touches(fields[id(want)], seen)]
            grown = bool(near)
            found += near
            seen.update(*(fields[id(want)] for want in near))
            left = [want for want in left if want not in near]
        if len(found) > 1:
            yield tuple(found)


def _touches(fields: Fields, seen: AbstractSet[tuple[str, ...]]) -> bool:
    """Report whether rules speak of a field of some others, or of one above or below it."""
    if not fields.isdisjoint(seen):
        return True
    return not (_above(fields).isdisjoint(seen) and _above(seen).isdisjoint(fields))


def _above(fields: AbstractSet[tuple[str, ...]]) -> set[tuple[str, ...]]:
    return {path[:end] for path in fields for end in range(1, len(path))}


def _shared(core: Sequence[Want]) -> tuple[str, ...]:
    """Return the fields that every rule of a core speaks of."""
    found = [_fields_of(_wanted(want)) for want in core]
    return tuple(sorted(".".join(filter(None, path)) for path in frozenset.intersection(*found)))


def _fields_of(formula: Formula) -> Fields:
    """Return the paths of the tests of a formula, `[]` for an index."""
    return frozenset(_paths(formula, {}))


def _paths(formula: Formula, scope: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    match formula:
        case All() | Any():
            for part in formula.parts:
                yield from _paths(part, scope)
        case Every() | Some():
            steps = (*scope.get(formula.place.variable, ()), *map(str, formula.place.steps))
            yield from _paths(formula.part, {**scope, formula.variable: (*steps, "[]")})
        case _:
            for atom in atoms(formula):
                if atom.test.wants != "an object":
                    place = atom.place
                    yield (*scope.get(place.variable, ()), *map(str, place.steps))
