"""Rules that no object keeps together, and rules that others leave nothing to decide.

Both are deduced from what rules want of the same fields, and only what is shown is reported: that
a search finds no object shows nothing. Each rule of a conflict is necessary: without it there is
an object that the engine accepts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import islice
from typing import Final

from chartkit.addons.satisfy.fields import skeletons
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
from chartkit.addons.satisfy.search import Search, Witness
from chartkit.addons.satisfy.solver import SearchLimitError, Solver, with_value
from chartkit.addons.satisfy.wants import Want, key_of, wants_of
from chartkit.engine import ENFORCE, OFFLINE, Phase, Request, RunnablePolicy, as_submitted, evaluate
from chartkit.engine.cel_policies.checks import cluster_refusals
from chartkit.engine.cel_policies.run import CompiledCelPolicy
from chartkit.engine.cel_policies.scope import Attributes
from chartkit.engine.cluster_policy.compile import CompiledPolicy
from chartkit.engine.cluster_policy.match import compile_kinds
from chartkit.engine.kubernetes.kinds import POD_SPECS, kind_of
from chartkit.model import Body, Location, Resource, RuleResult, gathered

_MOST_STEPS: Final = 2_000
_MOST_PAIRS: Final = 400
_RUN_STEPS: Final = 200_000
"""The steps of all searches of a run; the searches of one kind take at most half of the rest."""
_MOST_WITNESSES: Final = 40
_SECONDS: Final = 0.5
"""The searches of a run for objects that show a rule to be necessary, and the time of each."""

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
    """The rules of several policies about objects of one kind."""

    resource: Resource
    wants: tuple[Want, ...]


def together(policies: Sequence[RunnablePolicy]) -> tuple[Together, ...]:
    """Return the wants that two rules or more have of each kind. Of a kind with a Pod template the
    rules about Pods count as rules about Pods alone, unless another rule speaks of the template.
    Policies that no cluster takes want nothing."""
    policies = [policy for policy in policies if not _is_refused(policy)]
    kinds = []
    for kind, body in skeletons().items():
        resource = Resource(body, Location(f"<{kind}>"))
        if kind in POD_SPECS:
            wants = _wants([form for form in policies if _names(form, resource)], resource)
            if any("template" in path for want in wants for path in _fields_of(want.passes)):
                wants = _wants(policies, resource)
        else:
            wants = _wants(policies, resource)
        if len(wants) > 1:
            kinds.append(Together(resource, wants))
    return tuple(kinds)


def _is_refused(policy: RunnablePolicy) -> bool:
    return isinstance(policy, CompiledCelPolicy) and bool(cluster_refusals(policy.policy))


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


@dataclass(slots=True)
class _Budget:
    """The work that searches of a run may still do. steps: of solvers, and of grouping rules."""

    steps: int = _RUN_STEPS
    witnesses: int = _MOST_WITNESSES

    def refuted(self, resource: Resource, *formulas: Formula) -> bool | None:
        """Report whether no object meets some formulas together; None where that is not decided."""
        most = max(0, min(_MOST_STEPS, self.steps))
        # The part that every object of a kind has: of Pods, one container.
        kind = resource.kind
        bound: Body = {"apiVersion": resource.api_version, "kind": kind, "metadata": {}}
        if kind == "Pod" or kind in POD_SPECS:
            steps = tuple(POD_SPECS.get(kind, "spec").split("."))
            bound = with_value(bound, (*steps, "containers", 0), {})
        solver = Solver(bound, kind_of(resource), most)
        try:
            solution = next(iter(solver.solutions(all_of(*formulas))), None)
        except SearchLimitError:
            return None
        finally:
            self.steps -= most - solver.left
        return solution is None and solver.is_complete

    def excluding(self, resource: Resource, wants: Sequence[Want]) -> bool | None:
        """Report whether some rules exclude each other; None where that is not decided."""
        self.steps -= len(wants)
        if self.steps <= 0:
            return None
        return self.refuted(resource, *map(_wanted, wants))


def conflicts(sets: Sequence[Together], steps: int = _RUN_STEPS) -> Iterator[Conflict | Undecided]:
    """Yield the smallest sets of rules that no object passes, and what some steps do not decide."""
    left = _Budget(steps)
    yielded: set[frozenset[tuple[str, str]]] = set()
    for group in sets:
        budget = _Budget(left.steps // 2, left.witnesses)
        for conflict in _of_kind(group, budget):
            key = frozenset((want.policy, _written(want)) for want in conflict.wants)
            if key not in yielded:
                yielded.add(key)
                yield conflict
        left = _Budget(left.steps - left.steps // 2 + budget.steps, budget.witnesses)


def _of_kind(joined: Together, budget: _Budget) -> Iterator[Conflict | Undecided]:
    resource = joined.resource
    # A rule that refuses whatever it matches conflicts with nothing.
    fields = {
        id(want): _fields_of(_wanted(want))
        for want in joined.wants
        if not budget.refuted(resource, _wanted(want))
    }
    named: set[int] = set()
    skipped: list[Want] = []
    for everywhere, group in _groups(joined.wants):
        first, own = (
            [want for want in wants if fields.get(id(want)) and id(want) not in named]
            for wants in (everywhere, group)
        )
        budget.steps -= len(first) + len(own)
        if budget.steps <= 0:
            skipped += own
            continue
        new = set(map(id, own))
        for near in _connected([*first, *own], fields):
            # What applies everywhere is compared with itself once.
            if new.isdisjoint(map(id, near)) or budget.excluding(resource, near) is False:
                continue
            for conflict in _among(resource, near, _pairs(near, new, fields), budget):
                # Of a conflict that is named, the others go on to the next groups.
                named |= {id(conflict.wants[-1])} if isinstance(conflict, Conflict) else set()
                yield conflict
    if skipped:
        yield Undecided(resource.kind, tuple(skipped))


def shadowed(groups: Sequence[Together], steps: int = _RUN_STEPS) -> Iterator[Shadowed | Undecided]:
    """Yield the rules that apply only to objects that another enforced rule denies; where the
    steps are used up, the rules that were not looked at, and nothing more."""
    budget = _Budget(steps)
    yielded: set[tuple[str, str]] = set()
    for joined in groups:
        wide = [want for want in joined.wants if want.applies is TRUE and _is_enforced(want)]
        fields = {id(want): _fields_of(want.passes) for want in wide}
        for at, want in enumerate(joined.wants):
            own = _fields_of(_applying(want))
            budget.steps -= len(wide) if own else 0
            if budget.steps <= 0:
                yield Undecided(joined.resource.kind, joined.wants[at:])
                return
            near = (other for other in wide if other is not want and own & fields[id(other)])
            denying = next(
                (other for other in near if _shadows(joined.resource, other, want, budget)), None
            )
            if denying is not None and (want.policy, _written(want)) not in yielded:
                yielded.add((want.policy, _written(want)))
                yield Shadowed(joined.resource.kind, want, denying)


def _applying(want: Want) -> Formula:
    return all_of(want.applies, want.conditions)


def _is_enforced(want: Want) -> bool:
    return want.compiled.action(want.rule, "") == ENFORCE


def _shadows(resource: Resource, other: Want, want: Want, budget: _Budget) -> bool:
    applies = _applying(want)
    if not budget.refuted(resource, applies, other.formula):
        return False
    return not budget.refuted(resource, applies) and not budget.refuted(resource, other.formula)


def _written(want: Want) -> str:
    return want.source.pointer


def _groups(wants: Sequence[Want]) -> Iterator[tuple[Sequence[Want], Sequence[Want]]]:
    """Yield sets of rules that apply to the same objects, each behind the set that applies to all
    of these objects: first rules for every object, then the rules of each match."""
    everywhere = [want for want in wants if want.applies is TRUE]
    if len(everywhere) > 1:
        yield (), everywhere
    narrow = gathered((_match_text(want), want) for want in wants if want.applies is not TRUE)
    for group in narrow.values():
        yield everywhere, group


def _match_text(want: Want) -> str:
    body = want.compiled.policy.resource.body
    spec = body["spec"]
    if "rules" in spec:
        rule = spec["rules"][int(want.source.pointer.rpartition("/")[2])]
        return json.dumps([body["kind"], rule.get("match"), rule.get("exclude")], default=str)
    return json.dumps(spec.get("matchConstraints"), default=str)


def _wanted(want: Want) -> Formula:
    """Return the formula of a rule for an object that it matches."""
    return any_of(opposite(want.conditions), want.passes)


def _among(
    resource: Resource, near: Sequence[Want], pairs: Iterable[tuple[Want, Want]], budget: _Budget
) -> Iterator[Conflict | Undecided]:
    """The conflicts of rules, pairs first: a search through all may not reach them."""
    wants = list(near)
    for first, other in islice(pairs, _MOST_PAIRS):
        if first in wants and other in wants and budget.excluding(resource, (first, other)):
            yield _conflict(resource, (first, other), budget)
            wants.remove(other)
    while len(wants) > 1:
        refuted = budget.excluding(resource, wants)
        if refuted is None:
            yield Undecided(resource.kind, tuple(wants))
        if not refuted:
            return
        smallest_core = list(wants)
        for want in wants:
            fewer = [other for other in smallest_core if other is not want]
            if budget.excluding(resource, fewer):
                smallest_core = fewer
        core = tuple(smallest_core)
        yield _conflict(resource, core, budget)
        wants.remove(core[-1])


def _pairs(
    near: Sequence[Want], new: AbstractSet[int], fields: Mapping[int, Fields]
) -> Iterator[tuple[Want, Want]]:
    """Yield the pairs of rules that speak of a field both, of which the second one is new."""
    speaking = gathered(
        (path, number)
        for number, want in enumerate(near)
        if id(want) in new
        for path in fields[id(want)]
    )
    for number, want in enumerate(near):
        others = {other for path in fields[id(want)] for other in speaking.get(path, ())}
        yield from ((want, near[other]) for other in sorted(others) if other > number)


def _conflict(resource: Resource, core: tuple[Want, ...], budget: _Budget) -> Conflict:
    budget.witnesses -= len(core)
    is_minimal = budget.witnesses >= 0 and all(
        isinstance(_witness(resource, [other for other in core if other is not want]), Witness)
        for want in core
    )
    # The fields that every rule of the core speaks of.
    paths = frozenset.intersection(*(_fields_of(_wanted(want)) for want in core))
    fields = sorted(".".join(filter(None, path)) for path in paths)
    return Conflict(resource.kind, core, is_minimal, tuple(fields))


def _witness(resource: Resource, wants: Sequence[Want]) -> object:
    """Return a witness for some rules; the results of other rules do not count."""
    keys = {want.key for want in wants}
    policies = list({id(want.compiled): want.compiled for want in wants}.values())

    def judge(body: Body) -> list[RuleResult]:
        request = Request(as_submitted(Resource(body)))
        results = evaluate(policies, request, OFFLINE, (Phase.VALIDATE,))
        return [result for result in results if key_of(result) in keys]

    return Search(resource, policies, judge, _SECONDS).run()


def _connected(wants: Sequence[Want], fields: Mapping[int, Fields]) -> list[list[Want]]:
    """Return the sets of rules that speak of the same fields, or of one above or below another,
    directly or through others."""
    spoken = frozenset[tuple[str, ...]]().union(*(fields[id(want)] for want in wants))
    parents = {path: path for path in spoken}

    def top(path: tuple[str, ...]) -> tuple[str, ...]:
        while parents[path] != path:
            parents[path] = path = parents[parents[path]]
        return path

    for want in wants:
        first = next(iter(fields[id(want)]))
        for path in fields[id(want)]:
            for above in (path, *(path[:end] for end in range(1, len(path)))):
                if above in spoken:
                    parents[top(above)] = top(first)
    groups = gathered((top(next(iter(fields[id(want)]))), want) for want in wants)
    return [near for near in groups.values() if len(near) > 1]


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
