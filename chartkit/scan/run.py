"""The evaluation of compiled policies on objects, one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from chartkit.engine import ENFORCE, OFFLINE, Request, RunnablePolicy, User, World, as_submitted
from chartkit.engine.cli_files.admissions import NO_VALUES, Admissions, UserValues
from chartkit.engine.kubernetes.kinds import UNKNOWN, CustomNames, GroupVersionKind, kind_of
from chartkit.engine.verdicts import Judge
from chartkit.model import Body, Resource, RuleResult, Status, mapping_at

if TYPE_CHECKING:
    from chartkit.scan.custom_resources.results import CustomResources
    from chartkit.scan.environment import UnsentObjects
    from chartkit.scan.parallel.judged import Judged
    from chartkit.scan.parallel.reported import Shown
    from chartkit.scan.why.report import ScanReasons

Sink = Callable[[Resource, Sequence[RuleResult]], None]
_LEAST: Final = 8_000
"""The policies times objects from which a second process is worth its start."""
_SPAN: Final = 200
"""The objects that a process judges at a time, at most."""
_TURNS: Final = 8
"""The times that each process gets objects, at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Options that say how objects are judged.

    is_json: whether the inputs are any JSON rather than Kubernetes objects; audit_warn: whether
    failures of policies that only audit are warnings; at: the time for which deletions are planned;
    changed_since: the revision since which objects must have changed to be judged; jobs: the most
    processes that judge at a time; executor: the address of other machines that judge.
    """

    is_json: bool
    audit_warn: bool
    at: str | None
    changed_since: str | None
    jobs: int = 1
    executor: str | None = None


@dataclass(frozen=True, slots=True)
class ScanContext:
    """Settings that the requests of a scan share.

    namespaces: the labels of each namespace; namespace_objects: the Namespaces themselves; values,
    user: what the user says about the requests; audit_warn: whether a failure of a policy that only
    audits is a warning; is_json: whether the objects are any JSON, which only the policies for JSON
    judge; plural_of: gives the name of a kind in URLs, where an API server gave the objects, which
    are then as Kyverno gets them; custom: the names of the kinds that have definitions; reasons:
    judges with the reasons of each result, None where they are not wanted; operation: of all
    requests, as `Admissions.request` takes it.
    """

    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    namespace_objects: Mapping[str, Body] = field(default_factory=dict)
    world: World = OFFLINE
    values: UserValues = NO_VALUES
    user: User | None = None
    audit_warn: bool = False
    is_json: bool = False
    plural_of: Callable[[GroupVersionKind], str] | None = None
    custom: CustomNames = UNKNOWN
    reasons: ScanReasons | None = None
    operation: str = ""
    _judges: list[Judge] = field(default_factory=list, init=False, repr=False, compare=False)

    def judge(self, policies: Sequence[RunnablePolicy]) -> Judge:
        """Return the judge of policies: the same one for all parts of a scan by the same ones."""
        for judge in self._judges:
            if list(map(id, judge.policies)) == list(map(id, policies)):
                return judge
        self._judges[:] = [Judge(policies, self.world)]
        return self._judges[0]

    def admissions(self, policies: Iterable[RunnablePolicy]) -> Admissions:
        """Return the factory of requests for objects."""
        names = (policy.policy.name for policy in policies)
        return Admissions(names, self.values, self.user, self.namespaces, self.namespace_objects)

    def request(self, given: Resource, admissions: Admissions) -> Request:
        """Return the admission of an object, filled in as a client does."""
        if self.is_json:
            return Request(given, is_json=True)
        plural_of, plurals = self.plural_of, self.custom.plurals
        resource = given if plural_of is not None else as_submitted(given, custom=self.custom)
        request = admissions.request(resource, self.operation)
        if plural_of is not None:
            return replace(request, plural=plural_of(request.kind or kind_of(given)))
        if plurals and (plural := plurals.get(request.kind or kind_of(given))):
            return replace(request, plural=plural)
        return request


def run_scan(
    policies: Sequence[RunnablePolicy],
    objects: Iterable[Resource],
    sink: Sink,
    context: ScanContext,
) -> Counter[Status]:
    """Evaluate every object, call sink with it and its results, and count the statuses. The
    policies run in admission order: a policy sees what those before it mutated."""
    is_json = context.is_json
    policies = [policy for policy in policies if policy.judges_json is is_json]
    admissions = context.admissions(policies)
    judge = context.judge(policies)
    by_id = {policy.policy.id: policy for policy in policies}
    counts: Counter[Status] = Counter()
    for given in objects:
        request = context.request(given, admissions)
        resource = request.resource
        if context.reasons is None:
            results = judge.results(request)
        else:
            results = context.reasons.results(policies, request, context.world)
        results = with_refusals(resource, results)
        if context.audit_warn:
            labels = request.namespace_labels
            results = [
                _audited(by_id[result.policy_id], resource, result, labels) for result in results
            ]
        counts.update([result.status for result in results])
        sink(resource, results)
    return counts


def as_changed(resource: Resource, results: Sequence[RuleResult]) -> Resource:
    """Return an object as the policies that judged it leave it."""
    for result in reversed(results):
        if result.patched:
            return Resource(result.patched, resource.location)
    return resource


def namespaces_among(resources: Iterable[Resource]) -> dict[str, Body]:
    """Return the Namespaces among objects by name, with the label that each has in a cluster."""
    objects: dict[str, Body] = {}
    for resource in resources:
        if resource.kind == "Namespace" and resource.api_version == "v1":
            metadata = mapping_at(resource.body, "metadata")
            labels = {"kubernetes.io/metadata.name": resource.name}
            labels |= mapping_at(metadata, "labels")
            objects[resource.name] = {**resource.body, "metadata": {**metadata, "labels": labels}}
    return objects


def namespace_labels(namespaces: Mapping[str, Body]) -> dict[str, dict[str, str]]:
    """Return the labels of Namespaces, as `namespaces_among` gives these."""
    return {name: body["metadata"]["labels"] for name, body in namespaces.items()}


def _audited(
    policy: RunnablePolicy, resource: Resource, result: RuleResult, labels: Mapping[str, str]
) -> RuleResult:
    """Return the result, a warning in place of a failure if the policy only audits."""
    if result.status is not Status.FAIL:
        return result
    action = policy.action(result.rule, resource.namespace, labels)
    return result if action == ENFORCE else replace(result, status=Status.WARN)


def with_refusals(resource: Resource, results: Sequence[RuleResult]) -> Sequence[RuleResult]:
    """The results, with `unmade` set to the fields of a wrong type that a rule introduces. Fields
    that were wrong before count for no rule."""
    for result in results:
        if result.patched or result.patched_target or result.generated or result.updated:
            break
    else:
        return results
    from chartkit.engine.kubernetes.field_faults import type_faults

    before = set(type_faults(resource.body))
    rule_results: list[RuleResult] = []
    for result in results:
        made: list[Body] = []
        if result.status is Status.PASS:
            made += filter(None, (result.patched, result.patched_target))
            made += (*result.generated, *result.updated)
        faults = [fault for body in made for fault in type_faults(body) if fault not in before]
        if faults and not result.unmade:
            before.update(faults)
            text = f"an API server refuses the object: {'; '.join(faults)}"
            result = replace(result, unmade=text)
        rule_results.append(result)
    return rule_results


@dataclass(frozen=True, slots=True)
class _SpanJudge:
    """The judgement of spans of objects that this process and its forks have."""

    objects: Sequence[Resource]
    policies: Sequence[RunnablePolicy]
    context: ScanContext
    completed: Completed
    shown: Shown

    def __call__(self, span: range) -> list[Judged]:
        from chartkit.scan.parallel.judged import judged

        results_: list[Judged] = []

        def sink(resource: Resource, results: Sequence[RuleResult]) -> None:
            results = self.completed(resource, results)
            given = self.objects[span.start + len(results_)]
            results_.append(judged(resource, results, self.shown, given))

        run_scan(self.policies, self.objects[span.start : span.stop], sink, self.context)
        return results_


class ObjectScan(NamedTuple):
    """The scan of objects in memory. jobs: processes; shown: what reports show of places."""

    policies: Sequence[RunnablePolicy]
    context: ScanContext
    completion: Completion
    jobs: int
    shown: Shown

    def run(
        self,
        objects: Sequence[Resource],
        sink: Sink,
        step: Callable[[], None] = lambda: None,
        whole: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """Call sink with objects and their results, each in a block of `whole`, and then step."""
        complete = self.completion
        if self.jobs < 2 or len(objects) * len(self.policies) < _LEAST:

            def completing(resource: Resource, results: Sequence[RuleResult]) -> None:
                with whole():
                    sink(resource, complete(resource, results))
                step()

            run_scan(self.policies, objects, completing, self.context)
            return
        from chartkit.scan.parallel.pool import in_order

        there, here = complete.split()
        judge = _SpanJudge(objects, self.policies, self.context, there, self.shown)
        size = max(1, min(_SPAN, len(objects) // (self.jobs * _TURNS)))
        spans = [
            range(start, min(start + size, len(objects))) for start in range(0, len(objects), size)
        ]
        with closing(in_order(self.jobs, judge, spans)) as answers:
            for span, answer in zip(spans, answers, strict=True):
                for at, item in zip(span, answer, strict=True):
                    resource = item.restored(objects[at])
                    with whole():
                        sink(resource, here(resource, item.results))
                    step()


Completed = Callable[[Resource, Sequence[RuleResult]], Sequence[RuleResult]]


@dataclass(frozen=True, slots=True)
class Completion:
    """The results of an object as they count: without those of policies that are never sent the
    object, and with those of the definition of its kind."""

    unsent: UnsentObjects | None
    custom: CustomResources | None
    policies: Mapping[str, RunnablePolicy]

    def __call__(self, resource: Resource, results: Sequence[RuleResult]) -> Sequence[RuleResult]:
        if self.unsent is not None:
            results = self.unsent.judged(resource, results, self.policies)
        if self.custom is not None:
            results = [*self.custom.results(as_changed(resource, results)), *results]
        return results

    def split(self) -> tuple[Completed, Completed]:
        """Return what other processes do, and what this one does: all that counts objects."""
        return (self, uncompleted) if self.unsent is None else (uncompleted, self)

    def lines(self) -> Iterator[str]:
        """Yield a line for each reason that objects are not sent for."""
        return iter(()) if self.unsent is None else self.unsent.lines()


def uncompleted(_resource: Resource, results: Sequence[RuleResult]) -> Sequence[RuleResult]:
    """Return results as they are."""
    return results
