"""The checks of Kyverno's webhook before it accepts a policy, in its order and words
(`pkg/validation/policy` and the `Validate` methods of its API types)."""

from __future__ import annotations

from collections.abc import Sequence

from chartkit.engine.cluster_policy.autogen import all_rules
from chartkit.engine.cluster_policy.policy import ConditionsMalformed, Policy, Rule
from chartkit.engine.cluster_policy.policy_check.rule import rule_fault
from chartkit.engine.cluster_policy.policy_check.spec import spec_faults
from chartkit.engine.cluster_policy.policy_check.warnings import (
    IsClusterWide,
    nothing_cluster_wide,
)
from chartkit.engine.context.variables import may_vary
from chartkit.engine.kubernetes.definitions import POLICY_RULE
from chartkit.errors import CompileError
from chartkit.model import Diagnostic, Severity


def check_policy(policy: Policy, cluster_wide: IsClusterWide = nothing_cluster_wide) -> None:
    """Raises CompileError, with Kyverno's text, for a policy that Kyverno does not take.

    cluster_wide: which kinds stand outside namespaces.
    """
    try:
        fault = policy_fault(policy, cluster_wide)
    except ConditionsMalformed as error:
        fault = error.message
    if fault:
        from chartkit.engine.cluster_policy.policy_check.places import fault_place

        location, meant = fault_place(policy, fault)
        hint = meant or _hint(policy)
        raise CompileError([Diagnostic(POLICY_RULE, Severity.ERROR, fault, location, hint)])


def _hint(policy: Policy) -> str | None:
    """Return advice that Kyverno's text about an accepted policy lacks."""
    if policy.resource.body["spec"].get("generateExistingOnPolicyUpdate") is not None:
        return "in a rule it is generate.generateExisting; Kyverno's text names no field there is"
    if any((rule.body.get("validate") or {}).get("assert") for rule in policy.rules):
        return "validate.assert has no effect since Kyverno 1.19"
    return None


def policy_fault(policy: Policy, cluster_wide: IsClusterWide = nothing_cluster_wide) -> str | None:
    """Return the first fault of a policy, in Kyverno's words; None if it is sound."""
    rules = all_rules(policy)
    if _may_have_variables(policy, rules):
        from chartkit.engine.cluster_policy.policy_check.variables import variables_fault

        if fault := variables_fault(policy, rules):
            return fault
    if faults := spec_faults(policy, cluster_wide):
        return faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]"
    fault = _overrides_fault(policy) or _processing_fault(policy) or _kinds_fault(policy, rules)
    if fault:
        return fault
    for index, rule in enumerate(rules):
        fault = rule_fault(index, rule, policy.resource.kind == "Policy")
        if fault is None and rule.verify_images:
            from chartkit.engine.cluster_policy.policy_check.images import images_fault

            fault = images_fault(index, rule, policy.failure_action)
        if fault:
            return fault
    return None


def _may_have_variables(policy: Policy, rules: Sequence[Rule]) -> bool:
    """Report whether a policy may use variables, or users, which only admissions have."""
    has_users = any(block.has_user for rule in rules for _, block in rule.filters())
    return has_users or any(rule.mutate for rule in rules) or may_vary(policy.resource.body)


def _overrides_fault(policy: Policy) -> str | None:
    has_overrides = any(rule.validate.failure_action_overrides for rule in policy.rules)
    if policy.namespace or not (has_overrides or policy.failure_action_overrides):
        return None
    from chartkit.engine.cluster_policy.policy_check.conflicts import overrides_fault

    return overrides_fault(policy)


def _kinds_fault(policy: Policy, rules: Sequence[Rule]) -> str | None:
    if not any("*" in block.kinds for rule in rules for _, block in rule.filters()):
        return None
    from chartkit.engine.cluster_policy.policy_check.any_kind import kinds_fault

    return kinds_fault(policy, rules)


def _processing_fault(policy: Policy) -> str | None:
    if policy.admission:
        return None
    if not policy.background:
        return "disabling both admission and background processing is not allowed"
    if any(rule.mutate or rule.generate or rule.verify_images for rule in policy.rules):
        return "disabling admission processing is only allowed with validation policies"
    return None
