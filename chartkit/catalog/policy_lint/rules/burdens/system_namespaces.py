"""CK745: policies that enforce in the namespaces of the cluster's own components."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chartkit.catalog.policy_lint.rule import PolicyRule, Subject
from chartkit.engine import ENFORCE
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.model import Diagnostic
from chartkit.schemas.kind_selectors import parse_kind_selector

_PODS: Final = frozenset({"DaemonSet", "Deployment", "Job", "Pod", "StatefulSet"})


class SystemNamespaces(PolicyRule):
    id = "CK745"

    def check(self, subject: Subject) -> Iterator[Diagnostic]:
        policy = subject.cluster_policy
        if policy is None or policy.namespace:
            return
        for index, rule in enumerate(policy.rules):
            narrows = any(
                one.namespaces or one.namespace_selector is not None for _, one in rule.filters()
            )
            if _enforces(policy, rule) and not narrows:
                message = f"rule {rule.name}: enforces in all namespaces, kube-system among them"
                hint = "exclude kube-system here, or in Kyverno's configuration"
                yield self.finding(subject, ("spec", "rules", index, "match"), message, hint)


def _enforces(policy: Policy, rule: Rule) -> bool:
    kinds = {parse_kind_selector(each).kind for each in rule.match.kinds}
    action = rule.validate.failure_action or policy.failure_action
    validates = bool(rule.body.get("validate"))
    return validates and action.lower() == ENFORCE.lower() and not _PODS.isdisjoint(kinds)
