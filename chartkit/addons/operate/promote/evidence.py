"""The policies of an environment, put before its workloads, manifests and clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from chartkit.addons.operate.promote.model import Candidate, ObjectName, Violation
from chartkit.engine import AUDIT, NO_ATTACHMENTS, RunnablePolicy
from chartkit.engine.request import Phase
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.model import Resource, RuleResult, RuleType, Status, mapping_at
from chartkit.scan.cluster import Survey
from chartkit.scan.environment import ProjectEnvironment
from chartkit.scan.policies import PolicySet
from chartkit.scan.requests import Requests
from chartkit.scan.run import run_scan

_JUDGED: Final = (RuleType.VALIDATION, RuleType.IMAGE_VERIFY)
_BLOCKING: Final = frozenset((Status.FAIL, Status.WARN))
_PHASES: Final = (Phase.IMAGES, Phase.VALIDATE)
_PARTS: Final = frozenset(("audit", "enforce", "ephemeral", "controllers", "cronjobs"))
"""The ends of the names of policies that one policy of the library comes to."""
_ELSEWHERE: Final = "\uffff"
"""A namespace that no pattern names but those that match every name."""
Labels = Mapping[str, Mapping[str, str]]
Passed = tuple[str, ObjectName, str]
"""A policy, an object that it lets pass, and the rule."""


@dataclass(slots=True)
class Scope:
    """The namespaces in which policies are promoted; patterns: names with wildcards, none for all
    and for cluster-scoped objects."""

    patterns: tuple[str, ...]
    _matchers: list[Callable[[str], bool]] = field(init=False)

    def __post_init__(self) -> None:
        self._matchers = [compile_wildcard(pattern) for pattern in self.patterns]

    def has(self, namespace: str) -> bool:
        """Report whether an object of a namespace is meant, empty for cluster-scoped ones."""
        return not self.patterns or any(fits(namespace) for fits in self._matchers)


@dataclass(slots=True)
class Judge:
    """Adds the results of the engine to the evidence of candidates; owner_label: of objects and
    their namespaces."""

    candidates: Sequence[Candidate]
    environment: ProjectEnvironment
    scope: Scope
    owner_label: str
    _by_id: dict[str, Candidate] = field(init=False)

    def __post_init__(self) -> None:
        self._by_id = {one.policy.id: each for each in self.candidates for one in each.compiled}

    def files(self, source: str, objects: Sequence[Resource], policies: PolicySet) -> None:
        """Judge objects of manifests and charts."""
        requests = Requests.of(policies, objects)
        sink = _Sink(self, source, requests.namespaces)
        run_scan(policies.policies, objects, sink.add, requests.context(requests.world()))

    def cluster(self, source: str, survey: Survey) -> frozenset[Passed]:
        """Judge the objects of a cluster, which has its exceptions in addition to the project's;
        return what passes. Raise SourceError where it does not answer."""
        policies = self.environment.policies(survey.around)
        running = [policy for policy in policies.policies if policy.policy.id in self._by_id]
        sink = _Sink(self, source, survey.namespaces)
        run_scan(running, survey.objects(running), sink.add, survey.context(policies))
        return frozenset(sink.passed)

    def is_unsent(self, candidate: Candidate, resource: Resource, labels: Labels) -> bool:
        """Report whether the environment's Kyverno is never sent an object that a policy is for."""
        if all(policy.runs_in_api_server for policy in candidate.compiled):
            return False
        return bool(self.environment.configuration.unsent_with_pods(resource, labels))

    def candidate(self, policy_id: str) -> Candidate | None:
        """Return the candidate that a policy belongs to, None for another policy."""
        return self._by_id.get(policy_id)

    def owner(self, resource: Resource, labels: Labels) -> str:
        """Return the owner of an object by its label, or by the label of its namespace."""
        metadata = mapping_at(resource.body, "metadata")
        own = mapping_at(metadata, "labels").get(self.owner_label)
        return str(own or labels.get(resource.namespace, {}).get(self.owner_label) or "")


@dataclass(slots=True)
class _Sink:
    """The results of one source."""

    judge: Judge
    source: str
    labels: Labels
    passed: set[Passed] = field(default_factory=set)

    def add(self, resource: Resource, results: Sequence[RuleResult]) -> None:
        """Add the results of one object to the evidence of the policies that gave them."""
        if not self.judge.scope.has(resource.namespace):
            return
        by_candidate: dict[str, tuple[Candidate, list[RuleResult]]] = {}
        for result in results:
            candidate = self.judge.candidate(result.policy_id)
            if candidate is not None and result.type in _JUDGED:
                by_candidate.setdefault(candidate.name, (candidate, []))[1].append(result)
        if not by_candidate:
            return
        subject = ObjectName(resource.kind, resource.namespace, resource.name)
        for candidate, rule_results in by_candidate.values():
            if self.judge.is_unsent(candidate, resource, self.labels):
                candidate.evidence.unsent.add(subject)
            else:
                self._count(candidate, subject, resource, rule_results)

    def _count(
        self,
        candidate: Candidate,
        subject: ObjectName,
        resource: Resource,
        results: Iterable[RuleResult],
    ) -> None:
        evidence = candidate.evidence
        decided = False
        for result in results:
            if result.status in _BLOCKING:
                evidence.blocked.append(self._violation(subject, resource, result))
            elif result.status is Status.ERROR:
                evidence.undecided.append(self._violation(subject, resource, result))
            elif result.status in (Status.PASS, Status.SKIP):
                decided = True
                self.passed.add((candidate.name, subject, result.rule))
        if decided:
            evidence.judged.setdefault(self.source, set()).add(subject)

    def _violation(self, subject: ObjectName, resource: Resource, result: RuleResult) -> Violation:
        place = resource.location
        if result.fields:
            place = place.within(result.fields[0])
        owner = self.judge.owner(resource, self.labels)
        return Violation(subject, result.rule, result.message, self.source, owner, resource, place)


def candidates_of(
    environment: ProjectEnvironment, names: Iterable[str]
) -> tuple[list[Candidate], PolicySet]:
    """Return the policies of an environment that judge objects, by their names in chartkit.yaml,
    and all its policies compiled; names: those of its profiles."""
    policies = environment.policies(NO_ATTACHMENTS)
    known = sorted(names, key=len, reverse=True)
    found: dict[str, list[RunnablePolicy]] = {}
    for policy in policies.policies:
        if not policy.phases.isdisjoint(_PHASES) and not policy.judges_json:
            found.setdefault(policy_name(policy.policy.name, known), []).append(policy)
    return [Candidate(name, tuple(found[name])) for name in sorted(found)], policies


def policy_name(policy: str, known: Iterable[str]) -> str:
    """Return the name in chartkit.yaml of a policy, which charts may have split."""
    for name in known:
        if policy == name or policy.removeprefix(f"{name}-") in _PARTS:
            return name
    return policy


def only_audits(candidate: Candidate, scope: Scope) -> bool:
    """Report whether any rule of a policy only reports in any of the namespaces."""
    probes = [each.replace("*", "").replace("?", "x") for each in scope.patterns] or [_ELSEWHERE]
    return any(
        policy.action(rule, probe) == AUDIT
        for policy in candidate.compiled
        for rule in policy.rules_in(_PHASES)
        for probe in probes
    )
