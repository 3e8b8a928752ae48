"""Rules of Pods that Kyverno extends to controllers."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from chartkit.engine.cluster_policy import autogen
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.migration.conversion import NotConvertible

_POD: Final = "Pod"


def require_one_extension(rule: Rule, policy: Policy) -> None:
    """Raise `NotConvertible` for a rule of Pods and other kinds that is extended to controllers."""
    kinds = {kind for each in (*rule.match.any, *rule.match.all) for kind in each.kinds}
    if _POD not in kinds or len(kinds) == 1:
        return
    allowed = autogen.controllers(policy)
    only = replace(policy, rules=(rule,))
    for kind in allowed:
        if any(each is not rule for each in autogen.rules_for_kind(only, allowed, kind)):
            raise NotConvertible(
                "a rule of Pods and other kinds is extended to controllers", "match"
            )
