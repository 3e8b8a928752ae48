"""The effect of a failure: a rule's own action, then the policy's, by namespace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chartkit.engine.cluster_policy.policy import ActionOverride, Policy, Rule
from chartkit.engine.kubernetes.selectors import compile_selector
from chartkit.engine.request.phase import ENFORCE
from chartkit.engine.scalars.wildcard import compile_wildcard


def rule_action(
    policy: Policy, rule: str, namespace: str, labels: Mapping[str, str] | None = None
) -> str:
    """`Enforce` or `Audit`: what a failure of a rule does to an object in a namespace.

    rule: as in a result, so perhaps one for pod controllers; labels: those of the namespace. A
    rule that the policy does not name takes the policy's action.
    """
    labels = labels or {}
    for one in policy.rules:
        extended = (f"{prefix}{one.name}"[:63] for prefix in ("autogen-", "autogen-cronjob-"))
        if rule in (one.name, *extended):
            own = _own_action(one, namespace, labels)
            return own or _policy_wide(policy, namespace, labels)
    return policy_action(policy, namespace, labels)


def policy_action(policy: Policy, namespace: str, labels: Mapping[str, str] | None = None) -> str:
    """`Enforce` or `Audit` for a policy as a whole: the first rule's that says so itself, else the
    policy's; reports and `--audit-warn` go by it."""
    labels = labels or {}
    for rule in policy.rules:
        if own := _own_action(rule, namespace, labels):
            return own
    return _policy_wide(policy, namespace, labels)


def _own_action(rule: Rule, namespace: str, labels: Mapping[str, str]) -> str:
    if rule.verify_images:
        named = [image.get("failureAction") for image in rule.verify_images]
        actions = [_plain(action) for action in named if isinstance(action, str)]
        return ENFORCE if ENFORCE in actions else next(iter(actions), "")
    found = _override(rule.validate.failure_action_overrides, namespace, labels)
    return found or _plain(rule.validate.failure_action or "")


def _policy_wide(policy: Policy, namespace: str, labels: Mapping[str, str]) -> str:
    found = _override(policy.failure_action_overrides, namespace, labels)
    return found or _plain(policy.failure_action)


def _override(
    overrides: Sequence[ActionOverride], namespace: str, labels: Mapping[str, str]
) -> str:
    for one in overrides:
        if one.action and _speaks_of(one, namespace, labels):
            return _plain(one.action)
    return ""


def _speaks_of(one: ActionOverride, namespace: str, labels: Mapping[str, str]) -> bool:
    names = one.namespaces
    if names is not None and not any(compile_wildcard(name)(namespace) for name in names):
        return False
    selector = one.namespace_selector
    return selector is None or compile_selector(selector)(labels)


def _plain(action: str) -> str:
    """The old lower case spellings as the new ones; empty stays empty."""
    return action.capitalize()
