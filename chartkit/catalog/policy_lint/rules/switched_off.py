"""CK707: rules that another rule or a setting of their policy switches off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from chartkit.catalog.policy_lint.coverage import match_covers
from chartkit.catalog.policy_lint.patterns import members
from chartkit.catalog.policy_lint.rule import PolicyRule, Subject
from chartkit.engine.cluster_policy.autogen import all_rules, controllers
from chartkit.engine.cluster_policy.pattern.anchors import AnchorKind, parse_anchor
from chartkit.engine.cluster_policy.policy import Policy, Rule, RuleKind
from chartkit.model import Diagnostic, RuleType


class SwitchedOff(PolicyRule):
    id = "CK707"
    what = "A rule that another rule of its policy switches off, in whole or for pod controllers."
    why = (
        "Kyverno extends rules for Pods to Deployments and other controllers only if every rule of "
        "the policy allows it. Where it does, it drops rules whose name begins with `autogen-`. "
        "With `applyRules: One`, no rule after the first that matches is asked."
    )
    do = "Put the rule into a policy of its own, or rename it."
    problematic = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: hosts}
spec:
  applyRules: One
  rules:
    - name: network
      match: {any: [{resources: {kinds: [Pod]}}]}
      validate: {message: Remove hostNetwork., pattern: {spec: {=(hostNetwork): false}}}
    - name: processes
      match: {any: [{resources: {kinds: [Pod]}}]}
      validate: {message: Remove hostPID., pattern: {spec: {=(hostPID): false}}}
"""
    correct = problematic.replace("  applyRules: One\n", "")

    def check(self, subject: Subject) -> Iterator[Diagnostic]:
        policy = subject.cluster_policy
        if policy is None:
            return
        written = {rule.name for rule in policy.rules}
        made = any(rule.name not in written for rule in all_rules(policy))
        for index, rule in enumerate(policy.rules):
            path = ("spec", "rules", index, "name")
            if made and rule.name.startswith("autogen-"):
                message = f"rule {rule.name}: Kyverno drops it where it makes rules for controllers"
                yield self.finding(subject, path, message, "use a name without 'autogen-'")
            if first := _first(policy, index):
                message = f"rule {rule.name}: applyRules is One, and rule {first} matches first"
                hint = "remove applyRules, or move the rule to a policy of its own"
                yield self.finding(subject, path, message, hint)
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


def _first(policy: Policy, index: int) -> str | None:
    """Return the name of an earlier rule that is applied whenever a rule matches."""
    if not policy.apply_one:
        return None
    for earlier in policy.rules[: min(index, _MOST_BEFORE)]:
        is_asked = not (earlier.exclude or earlier.preconditions or earlier.cel_preconditions)
        is_asked = is_asked and not _may_skip(earlier)
        rule = policy.rules[index]
        is_same = earlier.kind is rule.kind and match_covers(earlier.match, rule.match)
        if is_asked and is_same:
            return earlier.name
    return None


def _may_skip(rule: Rule) -> bool:
    """Return whether a rule may have no result for an object that it matches."""
    if rule.kind is not RuleKind.VALIDATE or rule.validate.foreach or rule.context:
        return True
    patterns = (rule.validate.pattern, rule.validate.any_pattern)
    anchors = (parse_anchor(key) for each in patterns for _, key, _ in members(each, ()))
    return any(anchor is not None and anchor.kind in _SKIPPING for anchor in anchors)


_MOST_BEFORE: Final = 100
"""The most rules that a rule is compared with."""
_SKIPPING: Final = frozenset({AnchorKind.CONDITION, AnchorKind.GLOBAL})
