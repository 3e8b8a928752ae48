"""The proof of a conversion: both forms over requests made from what they look at."""

from __future__ import annotations

import gc
import hashlib
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import cycle
from typing import Final

from chartkit.addons.migrate.proof.coverage import Tally
from chartkit.addons.migrate.proof.forms import Form, Said
from chartkit.addons.migrate.proof.known import ASSUMPTIONS, NamedDifferences
from chartkit.addons.migrate.proof.leaves.cel import cel_leaves
from chartkit.addons.migrate.proof.leaves.leaf import Leaf
from chartkit.addons.migrate.proof.leaves.legacy import (
    legacy_leaves,
    literals_in,
    matched_leaves,
)
from chartkit.addons.migrate.proof.leaves.paths import CLUSTER, IMAGE, SUBRESOURCE, Path
from chartkit.addons.migrate.proof.minimize import as_pod, minimized, signature
from chartkit.addons.migrate.proof.model import (
    Answer,
    Aspect,
    Difference,
    Proof,
    canonical,
    difference,
)
from chartkit.addons.migrate.proof.requests import schema
from chartkit.addons.migrate.proof.requests.case import Case
from chartkit.addons.migrate.proof.requests.cases import (
    Cases,
    Learned,
    Space,
    as_sent,
    base_case,
    in_turns,
    is_of_another,
)
from chartkit.addons.migrate.proof.requests.cluster import by_resource, existing, world_of
from chartkit.addons.migrate.proof.requests.facets import Facet, ImpliedTypes, facets_of
from chartkit.addons.migrate.proof.requests.recorded import besides
from chartkit.engine import (
    NO_ATTACHMENTS,
    OFFLINE,
    Phase,
    PolicyAttachments,
    Request,
    World,
    as_submitted,
)
from chartkit.engine.cel_policies.kinds.validating import INDEX
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.cleanup.deleting import DeletingPolicy
from chartkit.engine.cluster_policy.policy import Policy, read_match
from chartkit.engine.jmespath.nodes import current_sources, use_sources
from chartkit.engine.kubernetes.kinds import (
    DEFAULT_NAMESPACE,
    GroupVersionKind,
    kind_of,
)
from chartkit.model import Body, Resource, Status

_MOST_DIFFERENCES: Final = 8
_FAULTS: Final = (Status.FAIL, Status.WARN, Status.ERROR)
_TRACED: Final = 2
"""So many requests with one change are traced for the branches that they take."""
_KIND: Final[tuple[Path, ...]] = (("object", "apiVersion"), ("object", "kind"))
_NAMESPACE: Final[Path] = ("object", "metadata", "namespace")
_UNLOOKED: Final = 255
"""After so many requests a proof looks at the clock again."""
_COLLECTED: Final = 2_000_000
"""The objects made after which Python searches for garbage: by default, 700."""
_TRIED: Final = 4
"""So many times the most requests are made at most: an API server sends few of some policies'."""
_MOST_GIVEN: Final = 12
"""The most given objects of one kind that are changed; more are asked about as they are."""


@dataclass(frozen=True, slots=True)
class ProofOptions:
    """Settings of a proof.

    budget: seconds of processor time for the requests of one policy; most_requests: the most
    requests; passed_over: aspects that are not compared; exceptions: those of legacy_attachments as
    they are written; world: registries and services; cluster: objects that exist, for policies that
    look them up; clock: gives seconds; stops_early: whether the first difference of a request as
    an API server sends it ends the proof, and none is made smaller.
    """

    budget: float = 5.0
    most_requests: int = 100_000
    passed_over: frozenset[Aspect] = frozenset()
    exceptions: tuple[Resource, ...] = ()
    named: NamedDifferences = field(default_factory=NamedDifferences)
    world: World = OFFLINE
    cluster: tuple[Resource, ...] = ()
    legacy_attachments: PolicyAttachments = NO_ATTACHMENTS
    new_attachments: PolicyAttachments = NO_ATTACHMENTS
    clock: Callable[[], float] = time.process_time
    stops_early: bool = False


DEFAULTS: Final = ProofOptions()


def prove(
    legacy: Resource,
    converted: Sequence[Resource],
    objects: Sequence[Resource] = (),
    requests: Sequence[Case] = (),
    options: ProofOptions = DEFAULTS,
) -> Proof:
    """Return the requests of which a legacy policy and what replaces it say different things.

    objects: of tests, a folder or a recording, asked about as they are and changed; requests: given
    ones. The same input gives the same requests in the same order. Raises CompileError for a policy
    that Kyverno refuses.
    """
    # Random values and the time that passes are not differences.
    now = current_sources().now()
    settled = replace(current_sources(), now=lambda: now, chance=_Settled())
    with use_sources(settled), rarely_collected(_COLLECTED):
        return _Prover(legacy, converted, options).run(objects, requests)


@contextmanager
def rarely_collected(after: int) -> Iterator[None]:
    """Search for garbage rarely: a proof keeps most of what it makes, and leaves few cycles; after:
    so many objects made."""
    before = gc.get_threshold()
    gc.set_threshold(after, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


class _Settled(random.Random):
    """Chance that always falls on the first of the possibilities."""

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        return (range(start) if stop is None else range(start, stop, step))[0]


def requests_of(
    legacy: Resource, converted: Sequence[Resource], options: ProofOptions = DEFAULTS
) -> Iterator[Case]:
    """Return the requests that a proof makes, in its order, without asking about them."""
    return _Prover(legacy, converted, options).requests()


class _Prover:
    """One proof."""

    def __init__(
        self, legacy: Resource, converted: Sequence[Resource], options: ProofOptions
    ) -> None:
        self._options = options
        # No aspect of an answer is about the fields over which a policy fails.
        self._world = replace(options.world, wants_fields=False)
        self._legacy = Form([legacy], options.legacy_attachments)
        self._new = Form(converted, options.new_attachments)
        # Objects that violate already do so whatever exceptions say.
        self._without_exceptions = Form(converted) if options.exceptions else self._new
        self._policies = [item.policy for item in (*self._legacy.admitting, *self._new.admitting)]
        self._namespace = legacy.namespace
        seed = json.dumps([form.body for form in (legacy, *converted)], sort_keys=True, default=str)
        self._seed = hashlib.sha256(seed.encode()).hexdigest()
        self._leaves = self._read()
        lookups = (leaf.lookup for leaf in self._leaves if leaf.lookup is not None)
        cluster = {**existing(lookups), **by_resource(options.cluster)}
        # What is deleted on a schedule is there already, and no user asks for it.
        self._around: Body = {"userInfo": None} if self._legacy.cleaning else {}
        self._around |= {CLUSTER: cluster} if cluster else {}
        if options.world.images is OFFLINE.images and any(
            leaf.path[0] == IMAGE for leaf in self._leaves
        ):
            self._around[IMAGE] = schema.least(schema.IMAGE_TYPE)
        self._tally = Tally(self._legacy, self._new)
        self._found: dict[tuple[object, ...], Difference] = {}
        self._types = ImpliedTypes(())
        self._traced: Counter[Hashable] = Counter()
        self._outcomes: set[tuple[object, ...]] = set()
        self._spaces: list[Space] = []
        self._named: Counter[str] = Counter()
        self._unanswered = 0
        self._requests = 0
        self._decided = 0
        self._is_shown = False

    def run(self, objects: Sequence[Resource], requests: Sequence[Case]) -> Proof:
        options = self._options
        started, looks = options.clock(), cycle((True, *[False] * _UNLOOKED))
        self._spaces, left_out = self._make_spaces(objects)
        self._types = ImpliedTypes(facet for space in self._spaces for facet in space.facets)
        cases = Cases(
            # Each look at the clock is a call of the system, and there are many more requests.
            lambda: next(looks) and options.clock() - started > options.budget,
            _TRIED * options.most_requests,
        )
        for case in self._all(cases, objects, requests):
            if options.named.leaves_out(case):
                left_out[ASSUMPTIONS] += 1
            elif is_of_another(case, self._spaces):
                left_out["requests that a subresource does not take"] += 1
            elif _is_no_scan(case):
                left_out["background scans of other operations than CREATE"] += 1
            else:
                self._compare(case)
            if self._requests >= options.most_requests or len(self._found) >= 4 * _MOST_DIFFERENCES:
                break
            if cases.is_over() or (options.stops_early and self._is_shown):
                break
        differences = self._differences()
        facets = (facet for space in self._spaces for facet in space.facets)
        coverage = self._tally.coverage(facets, cases.refused)
        unanswered = Counter({"answers of registries and services": self._unanswered})
        return Proof(
            self._requests,
            self._decided,
            tuple(differences),
            coverage,
            dict(sorted((+(left_out + cases.left_out + unanswered)).items())),
            options.clock() - started,
            dict(self._named),
        )

    def requests(self) -> Iterator[Case]:
        self._spaces, _ = self._make_spaces(())
        return self._all(Cases(), (), ())

    def _all(
        self,
        cases: Cases,
        objects: Sequence[Resource],
        requests: Sequence[Case],
    ) -> Iterator[Case]:
        yield from requests
        yield from in_turns([self._given(objects), cases.of(self._spaces, self._seed)])

    def _given(self, objects: Sequence[Resource]) -> Iterator[Case]:
        """Yield the given objects that a policy may speak of, as they are."""
        policies = (*self._legacy.admitting, *self._new.admitting)
        cleans = bool(self._legacy.cleaning or self._new.cleaning)
        for resource in objects:
            case = base_case(as_submitted(resource).body, str(resource.location), self._around)
            request = case.request()
            if cleans or any(policy.concerns(request) for policy in policies):
                yield case
                document = {key: value for key, value in case.document.items() if key != "userInfo"}
                yield Case(document, case.origin)

    # What varies

    def _make_spaces(self, objects: Sequence[Resource]) -> tuple[list[Space], Counter[str]]:
        left_out = Counter[str]()
        spaces = []
        kinds = self._kinds()
        for kind in kinds:
            bases = tuple(self._bases(kind, objects))
            facets, unknown = self._facets(kind, bases[0])
            templated = kind in schema.TEMPLATED and schema.POD in kinds
            left_out["fields that no kind has"] += 0 if templated else len(unknown)
            controllers = self._controllers(kind)
            if controllers and schema.REPLICATION_CONTROLLER not in controllers:
                left_out["ReplicationControllers, to which no policy in CEL is extended"] += 1
            spaces.append(Space(kind, bases, tuple(facets), controllers))
        for part in schema.subresources_of(self._selectors()):
            document = {SUBRESOURCE: {"name": part.name, "of": list(part.whole)}}
            least_body = self._least(part.kind)
            old = {"oldObject": least_body} if part.operation == "UPDATE" else {}
            around = {**(self._around or {}), **document, **old, "operation": part.operation}
            base = base_case(least_body, "least object", around)
            spaces.append(Space(part.kind, (base,), tuple(self._facets(part.kind, base)[0])))
        return spaces, +left_out

    def _facets(self, kind: GroupVersionKind, base: Case) -> tuple[list[Facet], set[Path]]:
        """Return the facets of a kind, and the places that it does not have."""
        assumed = self._options.named.assumed
        read = besides(self._leaves, self._parts(), self._ask_legacy, base, kind, assumed)
        return facets_of([*self._leaves, *read], kind, assumed)

    def _read(self) -> list[Leaf]:
        leaves = [leaf for item in self._options.exceptions for leaf in matched_leaves(item)]
        if self._namespace:
            leaves.append(Leaf(_NAMESPACE, (self._namespace, DEFAULT_NAMESPACE), "namespace", 1))
        in_cel = (policy for policy in self._policies if isinstance(policy, CelPolicy))
        expressed = [leaf for policy in in_cel for leaf in cel_leaves(policy)]
        paths = dict.fromkeys(leaf.path for leaf in expressed)
        # Values that are known to meet a rule come before the others.
        for policy in self._policies:
            leaves += legacy_leaves(policy, paths) if isinstance(policy, Policy) else ()
        leaves += expressed
        for cleaner in (*self._legacy.cleaning, *self._new.cleaning):
            if isinstance(cleaner, DeletingPolicy):
                leaves += cel_leaves(cleaner.policy)
            else:
                leaves += matched_leaves(cleaner.resource)
        return leaves

    def _ask_legacy(self, case: Case, request: Request) -> Said:
        world = world_of(case.document, self._options.world)
        return self._legacy.ask(case, world, request=request)

    def _parts(self) -> Iterator[tuple[str, Body]]:
        """Yield the rules, exceptions and cleanup policies of the legacy form with their names."""
        for policy in self._legacy.admitting:
            for rule in policy.policy.rules if isinstance(policy.policy, Policy) else ():
                yield rule.name, rule.body
        for part in (*self._options.exceptions, *(item.resource for item in self._legacy.cleaning)):
            yield part.name, part.body["spec"]

    def _selectors(self) -> list[str]:
        policies = (policy for policy in self._policies if isinstance(policy, Policy))
        return [kind for policy in policies for rule in policy.rules for kind in rule.match.kinds]

    def _kinds(self) -> list[GroupVersionKind]:
        selectors = self._selectors()
        policies = [policy for policy in self._policies if isinstance(policy, CelPolicy)]
        for cleaner in (*self._legacy.cleaning, *self._new.cleaning):
            if isinstance(cleaner, DeletingPolicy):
                policies.append(cleaner.policy)
            else:
                selectors += read_match(cleaner.resource.body["spec"]["match"]).kinds
        kinds = schema.kinds_of(selectors, policies)
        compared = [value for leaf in self._leaves if leaf.path in _KIND for value in leaf.values]
        if compared:
            # The versions that the legacy form compares, whether or not the new one does.
            written = (literal for _, body in self._parts() for literal in literals_in(body))
            compared += [text for text in written if isinstance(text, str) and "/" in text]
        texts = (value for value in compared if isinstance(value, str))
        return [*kinds, *schema.compared_kinds(kinds, texts)]

    def _controllers(self, kind: GroupVersionKind) -> tuple[GroupVersionKind, ...]:
        """Return the controllers that a policy about Pods is tried with."""
        if kind != schema.POD or not self._legacy.admitting:
            return ()
        named = any(
            "replicationcontrollers" in rule.resources
            for policy in (runnable.policy for runnable in self._new.admitting)
            if isinstance(policy, CelPolicy) and policy.constraints is not None
            for rule in policy.constraints.rules
        )
        return tuple(
            kind for kind in schema.TEMPLATED if named or kind != schema.REPLICATION_CONTROLLER
        )

    def _least(self, kind: GroupVersionKind) -> Body:
        least_body = schema.least_object(kind)
        if self._namespace and "namespace" in least_body["metadata"]:
            least_body["metadata"]["namespace"] = self._namespace
        return least_body

    def _bases(self, kind: GroupVersionKind, objects: Sequence[Resource]) -> Iterator[Case]:
        yield base_case(self._least(kind), "least object", self._around)
        for resource in [item for item in objects if kind_of(item) == kind][:_MOST_GIVEN]:
            yield base_case(as_submitted(resource).body, str(resource.location), self._around)

    # Comparison

    def _compare(self, case: Case) -> None:
        request = case.request()
        legacy, new = self._ask(case, request)
        if legacy.answer.asks_others or new.answer.asks_others:
            self._unanswered += 1
            return
        self._requests += 1
        self._decided += legacy.answer.decides or new.answer.decides
        self._tally.count(case, legacy, new)
        self._learn(case, request, legacy, new)
        aspect = self._aspect(legacy, new)
        if aspect is None:
            return
        name = self._name(aspect, case, legacy, new)
        if name:
            self._named[name] += 1
            return
        typed = self._types.agree(case.document)
        key = (typed, *signature(aspect, case, legacy, new))
        before = self._found.get(key)
        count = 1 if before is None else before.count + 1
        # A request as an API server sends it tells more than one without the defaults.
        stored = (before is None or not before.stored) and as_sent(case) is case
        self._is_shown = self._is_shown or stored
        if before is None or stored:
            said = legacy.answer, new.answer
            self._found[key] = Difference(aspect, case, *said, count, stored=stored, typed=typed)
        else:
            self._found[key] = replace(before, count=count)

    def _learn(self, case: Case, request: Request, legacy: Said, new: Said) -> None:
        """Keep a request with a new outcome, to be changed further."""
        outcome = (
            kind_of(request.resource),
            tuple((result.rule, result.status) for result in legacy.results),
            tuple((one.policy_id, one.status, one.properties.get(INDEX)) for one in new.results),
        )
        is_new = outcome not in self._outcomes
        if not is_new:
            self._traced[case.change] += 1
            if self._traced[case.change] > _TRACED:
                return
        world = world_of(case.document, self._world)
        if not self._tally.watch(request, world) and not is_new:
            return
        self._outcomes.add(outcome)
        rules = [result.rule for result in legacy.results if result.status is not Status.SKIP]
        policies = [result.policy_id for result in new.results if result.status is not Status.SKIP]
        faults = sum(result.status in _FAULTS for result in legacy.results)
        learned = Learned(case, frozenset((*rules, *policies)), faults)
        for space in self._spaces:
            if space.kind == outcome[0]:
                space.learned.append(learned)

    def _ask(self, case: Case, request: Request | None = None) -> tuple[Said, Said]:
        world = world_of(case.document, self._world)
        request = case.request() if request is None else request
        legacy = self._legacy.ask(case, world, request=request)
        return legacy, self._new.ask(case, world, request=request)

    def _name(self, aspect: Aspect, case: Case, legacy: Said, new: Said) -> str:
        """Return the name of a difference that the conversion names; empty for another."""

        def ask(other: Case, phases: Iterable[Phase]) -> Answer:
            world = world_of(other.document, self._world)
            return self._without_exceptions.ask(other, world, phases).answer

        return self._options.named.name_of(aspect, case, legacy.answer, new.answer, ask)

    def _aspect(self, legacy: Said, new: Said) -> Aspect | None:
        aspect = difference(legacy.answer, new.answer)
        return None if aspect in self._options.passed_over else aspect

    def _differences(self) -> list[Difference]:
        """Return the differences made small, one for each request that they come to."""
        if self._options.stops_early:
            return self._chosen()
        kept: dict[str, Difference] = {}
        for small in map(self._minimized, self._chosen()):
            key = f"{small.aspect} {canonical(as_pod(small.case))}"
            same = kept.get(key)
            kept[key] = small if same is None else replace(same, count=same.count + small.count)
        return list(kept.values())

    def _chosen(self) -> list[Difference]:
        """Return the differences to show: the gravest first, of each aspect the most frequent."""
        order = list(Aspect)
        differences = sorted(
            self._found.values(),
            key=lambda one: (not one.typed, order.index(one.aspect), -one.count),
        )
        return differences[:_MOST_DIFFERENCES]

    def _minimized(self, whole: Difference) -> Difference:
        def differs(case: Case) -> bool:
            if _is_no_scan(case) or self._options.named.leaves_out(case):
                return False
            legacy, new = self._ask(case)
            return (
                self._types.agree(case.document) is whole.typed
                and not self._name(whole.aspect, case, legacy, new)
                and self._aspect(legacy, new) is whole.aspect
                and legacy.answer.result is whole.legacy.result
                and new.answer.result is whole.new.result
            )

        def differs_as_sent(case: Case) -> bool:
            sent = as_sent(case)
            return differs(case) and (sent is case or differs(sent))

        case = minimized(whole.case, differs_as_sent if whole.stored else differs)
        legacy, new = self._ask(case)
        stored = as_sent(case)
        sent = stored is case or differs(stored)
        return replace(whole, case=case, legacy=legacy.answer, new=new.answer, stored=sent)


def _is_no_scan(case: Case) -> bool:
    """Report whether a case has only the operations of background scans."""
    return case.is_background and case.document.get("operation", "CREATE") != "CREATE"
