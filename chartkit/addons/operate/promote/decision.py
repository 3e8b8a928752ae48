"""The decision about each policy: the evidence that objects give, and the caveats against it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

from chartkit.addons.operate.adopt.policies import described_actions
from chartkit.addons.operate.promote.model import (
    Candidate,
    ObjectName,
    PlannedPolicy,
    PromoteOptions,
    Verdict,
    Violation,
)
from chartkit.engine import AUDIT, NO_ATTACHMENTS, RunnablePolicy
from chartkit.engine.request import Phase
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.errors import InputError
from chartkit.model import Body, Resource, RuleResult, RuleType, Status, mapping_at, mappings_at
from chartkit.scan.cluster import Survey
from chartkit.scan.environment import ProjectEnvironment
from chartkit.scan.policies import PolicySet
from chartkit.scan.requests import Requests
from chartkit.scan.run import run_scan
from chartkit.suggestions import suggestion
from chartkit.wording import abridged

_USER: Final = re.compile(r"request\.(userInfo|roles|clusterRoles)|serviceAccountName\b.*\{\{")
_REQUEST: Final = re.compile(r"\boldObject\b|\brequest\.(?!namespace\b)")
_PARTS: Final = ("-ephemeral", "-controllers", "-cronjobs")
"""The ends of the names of policies that are made of another one, for objects of their own."""
_FILTERED_USER: Final = ("roles", "clusterRoles", "subjects")
_OPERATION: Final = re.compile(r"request\.operation|request\.oldObject|\boldObject\b")
_JUDGED: Final = (RuleType.VALIDATION, RuleType.IMAGE_VERIFY)
_BLOCKING: Final = frozenset((Status.FAIL, Status.WARN))
_PHASES: Final = (Phase.IMAGES, Phase.VALIDATE)
_ENDS: Final = frozenset(("audit", "enforce", "ephemeral", "controllers", "cronjobs"))
"""The ends of the names of policies that one policy of the library comes to."""
_ELSEWHERE: Final = "\uffff"
"""A namespace that no pattern names but those that match every name."""
Labels = Mapping[str, Mapping[str, str]]
Passed = tuple[str, ObjectName, str]
"""A policy, an object that it lets pass, and the rule."""


def caveats_of(candidate: Candidate, everywhere: bool) -> tuple[str, ...]:
    """Return the caveats of a policy: what evidence cannot show. everywhere: whether it is promoted
    in all namespaces."""
    whole = [policy for policy in candidate.compiled if not policy.policy.name.endswith(_PARTS)]
    notes = (note for row in whole or candidate.compiled for note in _caveats(row, everywhere))
    evidence = candidate.evidence
    more = []
    if count := len(evidence.unsent):
        noun = "object is" if count == 1 else "objects are"
        more.append(f"{count} {noun} never sent to this environment's Kyverno, and not counted")
    if count := evidence.outdated:
        results = "1 result of a report is" if count == 1 else f"{count} results of reports are"
        more.append(f"{results} older than the object, which passes now, and not counted")
    return (*dict.fromkeys(notes), *more)


def asks_for_objects_alone(candidate: Candidate) -> bool:
    """Report whether an object alone decides, not its sender, the operation or other objects."""
    for runnable in candidate.compiled:
        spec = mapping_at(runnable.policy.resource.body, "spec")
        text = json.dumps(spec, ensure_ascii=False)
        if runnable.looks_around or _names_users(spec) or _names_operations(spec):
            return False
        if _USER.search(text) or _REQUEST.search(text):
            return False
    return True


def _caveats(runnable: RunnablePolicy, everywhere: bool) -> Iterator[str]:
    body = runnable.policy.resource.body
    spec = mapping_at(body, "spec")
    text = json.dumps(spec, ensure_ascii=False)
    if _names_users(spec) or _USER.search(text):
        yield "asks who sends a request, which reports and scans do not know"
    if _names_operations(spec) or _OPERATION.search(text):
        yield "asks for the operation or the old object: reports and scans see objects as they are"
    conditions = mappings_at(spec, "matchConditions")
    conditions += mappings_at(spec, "webhookConfiguration", "matchConditions")
    if any(_REQUEST.search(str(row.get("expression") or "")) for row in conditions):
        yield "has match conditions about the request, which admission alone evaluates"
    background = mapping_at(spec, "evaluation", "background").get("enabled")
    if spec.get("background") is False or background is False:
        yield "is not evaluated in the background: reports have results of admissions alone"
    if runnable.looks_around:
        yield "asks for other objects, images or services, which may answer otherwise at admission"
    # Kyverno extends a policy about Pods to their controllers.
    rules = mappings_at(spec, "matchConstraints", "resourceRules")
    named = [str(name) for rule in rules for name in rule.get("resources") or ()]
    for block in _filters(spec):
        named += [str(kind) for kind in mapping_at(block, "resources").get("kinds") or ()]
    if any(kind in ("Pod", "pods", "v1/Pod") for kind in named):
        yield (
            "is extended to controllers of Pods: those that run now are refused at their next "
            "update, and their Pods when they are started again"
        )
    if everywhere and "in " in described_actions(body):
        yield f"its own actions ({described_actions(body)}) end: it enforces in all namespaces"


def _names_users(spec: Body) -> bool:
    return any(block.get(key) for block in _filters(spec) for key in _FILTERED_USER)


def _names_operations(spec: Body) -> bool:
    return any(mapping_at(block, "resources").get("operations") for block in _filters(spec))


def _filters(spec: Body) -> Iterator[Body]:
    for rule in mappings_at(spec, "rules"):
        for key in ("match", "exclude"):
            match = mapping_at(rule, key)
            yield match
            yield from mappings_at(match, "any")
            yield from mappings_at(match, "all")


def chosen(
    options: PromoteOptions, candidates: Sequence[Candidate], enforced: frozenset[str] | None
) -> list[Candidate]:
    """Return the candidates that options name; enforced: the policies that another environment
    enforces, None where that does not matter. Raise InputError for an invalid name."""
    by_name = {candidate.name: candidate for candidate in candidates}
    for name in options.policies:
        if name not in by_name:
            listed = f"it has {abridged(list(by_name)) or 'none'}; --candidates lists all"
            hint = suggestion(name, by_name) or listed
            message = f"{options.target} has no policy '{name}' that judges objects"
            raise InputError(message, hint=hint)
    if not options.candidates:
        return [by_name[name] for name in dict.fromkeys(options.policies)]
    return [
        candidate
        for candidate in candidates
        if only_audits(candidate, options.namespaces)
        and (enforced is None or candidate.name in enforced)
    ]


def decided(candidate: Candidate, options: PromoteOptions) -> PlannedPolicy:
    """Return the decision about a policy, with all its evidence."""
    candidate.caveats = caveats_of(candidate, everywhere=not options.namespaces)
    if not only_audits(candidate, options.namespaces):
        return PlannedPolicy(candidate, Verdict.DONE)
    # Drop reported violations that the engine found as well, and add the owners that the engine
    # knows to the other reported ones
    evidence = candidate.evidence
    owners = {hit.subject: hit.owner for hit in evidence.blocked if hit.owner}
    seen: dict[tuple[object, str], Violation] = {}
    for violation in sorted(evidence.blocked, key=lambda hit: hit.location is None):
        owned = replace(violation, owner=violation.owner or owners.get(violation.subject, ""))
        seen.setdefault((violation.subject, violation.rule), owned)
    evidence.blocked[:] = seen.values()
    exceptions = 0
    if options.with_exceptions and evidence.blocked:
        exceptions = len({violation.subject for violation in evidence.blocked})
    reasons = tuple(_reasons(candidate, options, excepted=bool(exceptions)))
    verdict = Verdict.HELD if reasons else Verdict.PROMOTE
    return PlannedPolicy(candidate, verdict, reasons, exceptions if not reasons else 0)


def _reasons(candidate: Candidate, options: PromoteOptions, excepted: bool) -> Iterator[str]:
    evidence = candidate.evidence
    if evidence.blocked and not excepted:
        yield f"{counted(evidence.blocked)} would be refused"
    if evidence.undecided:
        yield f"{counted(evidence.undecided)} cannot be decided: {evidence.undecided[0].message}"
    if not evidence.objects and not options.unmatched:
        yield "no evidence: none of its objects was found (--unmatched promotes it all the same)"
    if options.days is not None:
        days = options.days
        since = candidate.evidence.since
        if since is None:
            yield f"no report says when: {days} days are asked for"
        elif since > datetime.now(UTC) - timedelta(days=days):
            yield f"its reports reach back to {since:%Y-%m-%d}: {days} days are asked for"


def counted(violations: Iterable[Violation]) -> str:
    """Return the numbers of objects and namespaces with violations, in words."""
    subjects = {violation.subject for violation in violations}
    spaces = {name.namespace for name in subjects if name.namespace}
    text = f"{len(subjects)} object{'' if len(subjects) == 1 else 's'}"
    if spaces:
        text += f" in {len(spaces)} namespace{'' if len(spaces) == 1 else 's'}"
    return text


def owners_of(violations: Iterable[Violation]) -> list[str]:
    """Return the owners of violations that are known, sorted."""
    return sorted({violation.owner for violation in violations if violation.owner})


@dataclass(slots=True)
class Judge:
    """Adds the results of the engine to the evidence of candidates; options: the namespaces in
    which these are promoted, and the label of objects and their namespaces that names owners."""

    candidates: Sequence[Candidate]
    environment: ProjectEnvironment
    options: PromoteOptions
    _by_id: dict[str, Candidate] = field(init=False)

    def __post_init__(self) -> None:
        self._by_id = {form.policy.id: own for own in self.candidates for form in own.compiled}

    def files(self, source: str, objects: Sequence[Resource], policies: PolicySet) -> None:
        """Judge objects of manifests and charts."""
        requests = Requests.of(policies, objects)
        sink = partial(self._add, source, requests.namespaces, set())
        run_scan(policies.policies, objects, sink, requests.context(requests.world()))

    def cluster(self, source: str, survey: Survey) -> frozenset[Passed]:
        """Judge the objects of a cluster, which has its exceptions in addition to the project's;
        return what passes. Raise SourceError where it does not answer."""
        policies = self.environment.policies(survey.around)
        running = [policy for policy in policies.policies if policy.policy.id in self._by_id]
        passed: set[Passed] = set()
        sink = partial(self._add, source, survey.namespaces, passed)
        run_scan(running, survey.objects(running), sink, survey.context(policies))
        return frozenset(passed)

    def has(self, namespace: str) -> bool:
        """Report whether policies are promoted in a namespace; empty for cluster-scoped objects."""
        patterns = self.options.namespaces
        return not patterns or any(compile_wildcard(pattern)(namespace) for pattern in patterns)

    def is_unsent(self, candidate: Candidate, resource: Resource, labels: Labels) -> bool:
        """Report whether the environment's Kyverno is never sent an object that a policy is for."""
        if all(policy.runs_in_api_server for policy in candidate.compiled):
            return False
        return bool(self.environment.configuration.unsent_with_pods(resource, labels))

    def owner(self, resource: Resource, labels: Labels) -> str:
        """Return the owner of an object by its label, or by the label of its namespace."""
        metadata = mapping_at(resource.body, "metadata")
        own, label = mapping_at(metadata, "labels"), self.options.owner_label
        return str(own.get(label) or labels.get(resource.namespace, {}).get(label) or "")

    def _add(
        self,
        source: str,
        labels: Labels,
        passed: set[Passed],
        resource: Resource,
        results: Sequence[RuleResult],
    ) -> None:
        """Add the results of one object to the evidence of the policies that gave them."""
        if not self.has(resource.namespace):
            return
        by_candidate: dict[str, tuple[Candidate, list[RuleResult]]] = {}
        for result in results:
            candidate = self._by_id.get(result.policy_id)
            if candidate is not None and result.type in _JUDGED:
                by_candidate.setdefault(candidate.name, (candidate, []))[1].append(result)
        if not by_candidate:
            return
        subject = ObjectName(resource.kind, resource.namespace, resource.name)
        for candidate, rule_results in by_candidate.values():
            if self.is_unsent(candidate, resource, labels):
                candidate.evidence.unsent.add(subject)
            else:
                evidence = candidate.evidence
                decided = False
                for result in rule_results:
                    if result.status in _BLOCKING or result.status is Status.ERROR:
                        is_error = result.status is Status.ERROR
                        hits = evidence.undecided if is_error else evidence.blocked
                        where = resource.location
                        where = where.within(result.fields[0]) if result.fields else where
                        owner = self.owner(resource, labels)
                        rule, text = result.rule, result.message
                        hits.append(Violation(subject, rule, text, source, owner, resource, where))
                    elif result.status in (Status.PASS, Status.SKIP):
                        decided = True
                        passed.add((candidate.name, subject, result.rule))
                if decided:
                    evidence.judged.setdefault(source, set()).add(subject)


def candidates_of(
    environment: ProjectEnvironment, names: Iterable[str]
) -> tuple[list[Candidate], PolicySet]:
    """Return the policies of an environment that judge objects, by their names in chartkit.yaml,
    and all its policies compiled; names: as its profiles have them."""
    policies = environment.policies(NO_ATTACHMENTS)
    by_length = sorted(names, key=len, reverse=True)
    policies_of: dict[str, list[RunnablePolicy]] = {}
    for policy in policies.policies:
        if not policy.phases.isdisjoint(_PHASES) and not policy.judges_json:
            policies_of.setdefault(policy_name(policy.policy.name, by_length), []).append(policy)
    return [Candidate(name, tuple(policies_of[name])) for name in sorted(policies_of)], policies


def policy_name(policy: str, names: Iterable[str]) -> str:
    """Return the name in chartkit.yaml of a policy, which charts may have split."""
    for name in names:
        if policy == name or policy.removeprefix(f"{name}-") in _ENDS:
            return name
    return policy


def only_audits(candidate: Candidate, namespaces: Iterable[str]) -> bool:
    """Report whether any rule of a policy only reports in any namespaces of some names."""
    probes = [glob.replace("*", "").replace("?", "x") for glob in namespaces] or [_ELSEWHERE]
    return any(
        policy.action(rule, probe) == AUDIT
        for policy in candidate.compiled
        for rule in policy.rules_in(_PHASES)
        for probe in probes
    )
