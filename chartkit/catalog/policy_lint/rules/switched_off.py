"""CK707: rules that another rule or a setting of their policy switches off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from chartkit.catalog.policy_lint.rule import PolicyRule, Subject
from chartkit.engine.cluster_policy.autogen import all_rules, controllers
from chartkit.engine.cluster_policy.policy import Policy
from chartkit.model import Diagnostic, RuleType


class SwitchedOff(PolicyRule):
    id = "CK707"

    def check(self, subject: Subject) -> Iterator[Diagnostic]:
        policy = subject.cluster_policy
        if policy is None:
            return
        written = {rule.name for rule in policy.rules}
        made = any(rule.name not in written for rule in all_rules(policy))
        for index, rule in enumerate(policy.rules):
            path = ("spec", "rules", index)
            if made and rule.name.startswith("autogen-"):
                message = f"rule {rule.name}: Kyverno drops it where it makes rules for controllers"
                hint = "use a name without 'autogen-'"
                yield self.finding(subject, (*path, "name"), message, hint)
            if policy.failure_action_overrides and rule.validate.failure_action:
                message = f"rule {rule.name}: its failureAction overrides the policy's "
                message += "validationFailureActionOverrides"
                hint = "write failureActionOverrides next to failureAction"
                at = (*path, "validate", "failureAction")
                yield self.finding(subject, at, message, hint)
        if not controllers(policy):
            yield from self._not_extended(subject, policy)

    def _not_extended(self, subject: Subject, policy: Policy) -> Iterator[Diagnostic]:
        alone = [controllers(replace(policy, rules=(rule,))) for rule in policy.rules]
        others = [rule for rule, extended in zip(policy.rules, alone, strict=True) if not extended]
        for index, rule in enumerate(policy.rules):
            is_judging = rule.kind.type is RuleType.VALIDATION
            if alone[index] and others and is_judging and "Pod" in rule.match.kinds:
                message = f"rule {rule.name}: has no form for Deployments and other controllers"
                message += f", because rule {others[0].name} cannot have one"
                hint = "put the rules into policies of their own"
                yield self.finding(subject, ("spec", "rules", index, "name"), message, hint)
