"""The effects of the policies of kyverno.io on known objects, which end with them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from chartkit.addons.migrate.conversion import CLEANUP, EXCEPTION, legacy_rules
from chartkit.engine import ENFORCE, RunnablePolicy
from chartkit.model import Resource, RuleResult, RuleType, Status, mapping_at, text_of
from chartkit.report.model import resource_id

_EXCEPTIONS: Final = re.compile(r"(?:policy exceptions? ?)?([a-z0-9.-]+/[a-z0-9.-]+)(?:, |$)")
"""The exceptions in the message about a rule that is skipped; Kyverno puts no blank before them."""
_POLICY: Final = "generate.kyverno.io/policy-name"
_NAMESPACE: Final = "generate.kyverno.io/policy-namespace"


class Act(StrEnum):
    """An effect of a policy; those whose end costs most come first."""

    DENY = "denying"
    VERIFY = "verifying images"
    GENERATE = "generating"
    MUTATE = "changing objects"
    DELETE = "deleting"
    REPORT = "reporting"
    EXEMPT = "exempting objects"


_DECIDED: Final = frozenset((Status.PASS, Status.FAIL, Status.WARN))
_OF_TYPES: Final = {
    RuleType.IMAGE_VERIFY: Act.VERIFY,
    RuleType.GENERATION: Act.GENERATE,
    RuleType.MUTATION: Act.MUTATE,
}
_OF_RULES: Final = {
    "verifyImages": Act.VERIFY,
    "generate": Act.GENERATE,
    "mutate": Act.MUTATE,
    CLEANUP: Act.DELETE,
    EXCEPTION: Act.EXEMPT,
}


@dataclass(slots=True)
class Acts:
    """Counts the objects to which policies do something; policies: those that run, by their IDs;
    labels: of namespaces."""

    policies: Mapping[str, RunnablePolicy]
    labels: Mapping[str, Mapping[str, str]]
    objects: int = 0
    _counts: Counter[tuple[str, Act]] = field(default_factory=Counter)
    _violations: Counter[tuple[str, Act]] = field(default_factory=Counter)
    _generated: Counter[str] = field(default_factory=Counter)

    def add(self, resource: Resource, results: Sequence[RuleResult]) -> None:
        """Count an object with its results."""
        self.objects += 1
        acts: set[tuple[str, Act]] = set()
        violated: set[tuple[str, Act]] = set()
        body = resource.body
        for result in results:
            if (policy := self.policies.get(result.policy_id)) is None:
                continue
            name = resource_id(policy.policy.resource)
            act = _OF_TYPES.get(result.type) or self._action(policy, result.rule, resource)
            is_change = result.patched is not None and result.patched != body
            if result.status in _DECIDED and (is_change or act is not Act.MUTATE):
                acts.add((name, act))
            if result.status is Status.FAIL:
                violated.add((name, act))
            if result.status is Status.SKIP and "exceptions" in result.properties:
                for key in _EXCEPTIONS.findall(result.message):
                    acts.add((f"PolicyException/{key}", Act.EXEMPT))
            body = result.patched or body
        self._counts.update(acts)
        self._violations.update(violated)
        labels = mapping_at(resource.body, "metadata", "labels")
        key = "/".join(filter(None, (text_of(labels.get(each)) for each in (_NAMESPACE, _POLICY))))
        self._generated[key] += 1

    def _action(self, policy: RunnablePolicy, rule: str, resource: Resource) -> Act:
        labels = self.labels.get(resource.namespace, {})
        is_denied = policy.action(rule, resource.namespace, labels) == ENFORCE
        return Act.DENY if is_denied else Act.REPORT

    def of(self, resource: Resource) -> Iterator[tuple[Act, str]]:
        """Yield what an object of kyverno.io does, the gravest first, each in a few words with the
        number of objects that show it."""
        name = resource_id(resource)
        acts = {act for key, act in self._counts if key == name}
        running = self.policies.values()
        policy = next((one for one in running if resource_id(one.policy.resource) == name), None)
        for rule in legacy_rules(resource):
            act = _OF_RULES.get(rule.type.partition(".")[0])
            if act is None and policy is not None and acts.isdisjoint((Act.DENY, Act.REPORT)):
                act = self._action(policy, rule.name, resource)
            if act is not None:
                acts.add(act)
        for act in sorted(acts, key=list(Act).index):
            yield act, self._with_objects(name, act)

    def _with_objects(self, name: str, act: Act) -> str:
        count, violations = self._counts[name, act], self._violations[name, act]
        generated = self._generated[name.partition("/")[2]]
        if act in (Act.DENY, Act.REPORT) and count:
            return f"{act} ({violations} of {count} violate it)"
        if act is Act.GENERATE and generated:
            return f"{act} ({generated} there, unsynchronized)"
        return f"{act} ({count})" if count else str(act)
