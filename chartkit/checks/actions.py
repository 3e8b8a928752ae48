"""What Kyverno does with a violation: the action of a rule, for one object's namespace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chartkit.engine.autogen import all_rules
from chartkit.engine.policy import ActionOverride, Policy, Validation
from chartkit.engine.selectors import compile_selector
from chartkit.engine.values.wildcard import compile_wildcard

ENFORCE = "enforce"


def enforces(policy: Policy, rule: str, namespace: str, labels: Mapping[str, str]) -> bool:
    """Whether a violation of a rule is refused; rule: its name in results.

    A rule's own action goes before the policy's, and the overrides of whichever speaks go before
    its action. labels: those of the namespace.
    """
    validation = _validations(policy).get(rule, Validation())
    action, overrides = policy.failure_action, policy.failure_action_overrides
    if validation.failure_action is not None or validation.failure_action_overrides:
        action = validation.failure_action or action
        overrides = validation.failure_action_overrides
    return (_overridden(overrides, namespace, labels) or action).lower() == ENFORCE


def _validations(policy: Policy) -> dict[str, Validation]:
    return {rule.name: rule.validate for rule in (*all_rules(policy), *policy.rules)}


def _overridden(
    overrides: Sequence[ActionOverride], namespace: str, labels: Mapping[str, str]
) -> str | None:
    for override in overrides:
        named = not override.namespaces or any(
            compile_wildcard(pattern)(namespace) for pattern in override.namespaces
        )
        selector = override.namespace_selector
        if named and (selector is None or compile_selector(selector)(labels)):
            return override.action
    return None
