"""The checks of Kyverno's webhook before it accepts a policy, in its order and words
(`pkg/validation/policy` and the `Validate` methods of its API types)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import getitem
from typing import TYPE_CHECKING, Final

from chartkit.engine.cluster_policy.autogen import ANNOTATION, all_rules
from chartkit.engine.cluster_policy.policy import (
    ConditionsMalformed,
    Policy,
    ResourceFilter,
    Rule,
    RuleKind,
)
from chartkit.engine.cluster_policy.policy_check.rule import rule_fault
from chartkit.engine.cluster_policy.policy_check.warnings import (
    IsClusterWide,
    nothing_cluster_wide,
)
from chartkit.engine.context.variables import may_vary
from chartkit.engine.kubernetes.definitions import POLICY_RULE, show_path
from chartkit.engine.scalars.wildcard import has_wildcard
from chartkit.errors import CompileError
from chartkit.model import Body, Diagnostic, Json, Severity

if TYPE_CHECKING:
    from chartkit.engine.kubernetes.selectors import LabelSelector


_NAME_LENGTH: Final = 63


def _faults(policy: Policy, cluster_wide: IsClusterWide) -> Iterator[str]:
    if policy.annotations.get(ANNOTATION) == "all":
        yield (
            "metadata.annotations: Forbidden: Autogen annotation does not support 'all' anymore, "
            "remove the annotation or set it to a valid value"
        )
    if len(policy.name.encode()) > _NAME_LENGTH:
        yield f"name: Too long: may not be more than {_NAME_LENGTH} bytes"
    spec: Body = policy.resource.body["spec"]
    webhook: Body = spec.get("webhookConfiguration") or {}
    for name, newer in (("webhookTimeoutSeconds", "timeoutSeconds"), ("failurePolicy",) * 2):
        if spec.get(name) is not None and webhook.get(newer) is not None:
            yield (
                f"spec.{name}: Forbidden: remove the deprecated field and use "
                f"spec.webhookConfiguration.{newer} instead"
            )
    if spec.get("generateExistingOnPolicyUpdate") is not None:
        yield (
            "spec.generateExistingOnPolicyUpdate: Forbidden: remove the deprecated field and use "
            "spec.generate[*].generateExisting instead"
        )
    name = "mutateExistingOnPolicyUpdate"
    for index, rule in enumerate(policy.rules):
        mutate = rule.mutate or {}
        if rule.kind is RuleKind.MUTATE and mutate and (spec.get(name) or mutate.get(name)):
            yield (
                f"spec.{name}: Forbidden: rules[{index}].mutate.targets has to be specified when "
                f"{name} is set"
            )
    for field, seconds in (
        ("webhookTimeoutSeconds", spec.get("webhookTimeoutSeconds")),
        ("webhookConfiguration.timeoutSeconds", webhook.get("timeoutSeconds")),
    ):
        if seconds is not None and not 1 <= seconds <= 30:
            yield (
                f"spec.{field}: Invalid value: {seconds}: the timeout value must be between 1 and "
                "30 seconds"
            )
    seen: set[str] = set()
    for index, rule in enumerate(policy.rules):
        if rule.name in seen:
            shown = _shown(rule.body)
            yield (
                f"spec.rules[{index}].name: Invalid value: {shown}: "
                f"Duplicate rule name: '{rule.name}'"
            )
        seen.add(rule.name)
    for index, rule in enumerate(policy.rules):
        path = f"spec.rules[{index}]"
        yield from _rule_faults(policy, rule, path)
        if rule.generate:
            from chartkit.engine.cluster_policy.policy_check.changes import generation_faults

            yield from generation_faults(policy, rule, path, cluster_wide)
    if policy.namespace and policy.failure_action_overrides:
        yield (
            "spec.validationFailureActionOverrides: Forbidden: Use of "
            "validationFailureActionOverrides is supported only with ClusterPolicy"
        )


def _shown(body: Body, api_version: str = "kyverno.io/v1") -> str:
    """Return a rule as messages quote it."""
    from chartkit.engine.cluster_policy.policy_check.images import rule_json

    return rule_json(body, api_version)


def _rule_faults(policy: Policy, rule: Rule, rule_path: str) -> Iterator[str]:
    body = rule.body
    mutate = {"patchesJson6902": "", **(body.get("mutate") or {})}
    given = [bool(mutate.pop("patchesJson6902")) or any(way is not None for way in mutate.values())]
    given += [bool(body.get(name)) for name in ("generate", "verifyImages")]
    given.append(body.get("validate") is not None)
    invalid, actions = f"{rule_path}: Invalid value", "mutate,validate,generate,verifyImages"
    if not any(given):
        text = f"No operation defined in the rule '{rule.name}'.(supported operations: {actions})"
        yield f"{invalid}: {_shown(body)}: {text}"
    elif sum(given) > 1:
        text = f"Multiple operations defined in the rule '{rule.name}', only one operation "
        yield f"{invalid}: {_shown(body)}: {text}({actions}) is allowed per rule"
    if body.get("imageExtractors") is not None and not body.get("verifyImages"):
        yield (
            f"{rule_path}.imageExtractors: Invalid value: {_shown(body)}: Invalid rule spec for "
            f"rule '{rule.name}', imageExtractors can only be defined for verifyImages rule"
        )
    if rule.exclude is not None:
        from chartkit.engine.cluster_policy.policy_check.conflicts import matches_nothing

        if matches_nothing(rule):
            shown = _shown(rule.body, policy.resource.api_version)
            yield f"{invalid}: {shown}: Rule is matching an empty set"
    root: Json = body
    for path, block in rule.filters():
        where = f"{rule_path}.{show_path(path)}"
        written: Json = reduce(getitem, path, root)
        yield from _filter_faults(block, written, where, policy)
    yield from _target_namespace_faults(policy, rule, rule_path)
    security: Body = rule.validate.pod_security or {}
    for index, control in enumerate(security.get("exclude") or ()):
        from chartkit.engine.cluster_policy.podsecurity.rule import control_faults

        where = f"{rule_path}.podSecurity.exclude[{index}]"
        yield from control_faults(control, where)
        name = control["controlName"]
        if security.get("level") == "baseline" and name in _RESTRICTED_CONTROLS:
            yield (
                f'{where}.controlName: Invalid value: "{name}": Invalid control name defined at '
                "the given level"
            )


def _filter_faults(block: ResourceFilter, body: Json, path: str, policy: Policy) -> Iterator[str]:
    for index, subject in enumerate(block.subjects):
        where = f"{path}.subjects[{index}]"
        if not subject.kind:
            yield f"{where}.kind: Required value"
        elif subject.kind not in ("User", "Group", "ServiceAccount"):
            yield (
                f"{where}.kind: Invalid value: \"{subject.kind}\": kind must be 'User', "
                "'Group', or 'ServiceAccount'"
            )
        if not subject.name:
            yield f"{where}.name: Required value"
        if subject.kind == "ServiceAccount" and not subject.namespace:
            yield (
                f"{where}.namespace: Required value: namespace is required when Kind is "
                "ServiceAccount"
            )
    for index, role in enumerate(block.roles):
        if role.count(":") != 1:
            yield (
                f'{path}.roles[{index}]: Invalid value: "{role}": Role is expected to be in '
                "namespace:name format"
            )
    if block.selector is not None:
        yield from _selector_faults(block.selector, body["resources"]["selector"], path)
    if policy.namespace and block.namespaces:
        yield (
            f"{path}.namespaces: Forbidden: Filtering namespaces not allowed in namespaced policies"
        )


def _selector_faults(selector: LabelSelector, body: Body, path: str) -> Iterator[str]:
    if any(has_wildcard(key) or has_wildcard(value) for key, value in selector.labels.items()):
        return
    from chartkit.engine.kubernetes.selectors import selector_problem

    problem = selector_problem(selector)
    if not problem and not (selector.labels or selector.expressions):
        problem = "The requirements are not specified in selector"
    if problem:
        from chartkit.engine.cluster_policy.policy_check.images import SELECTOR, typed_json

        yield f"{path}.selector: Invalid value: {typed_json(SELECTOR, body)}: {problem}"


def _target_namespace_faults(policy: Policy, rule: Rule, path: str) -> Iterator[str]:
    if not policy.namespace:
        return
    for index, target in enumerate((rule.mutate or {}).get("targets") or ()):
        namespace = target.get("namespace")
        if namespace and namespace != policy.namespace:
            yield (
                f'{path}.targets[{index}].namespace: Invalid value: "{namespace}": This field can '
                "be ignored or should have value of the namespace where the policy is being created"
            )


_RESTRICTED_CONTROLS: Final = (
    "Volume Types",
    "Privilege Escalation",
    "Running as Non-root",
    "Running as Non-root user",
)


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
    has_users = any(block.has_user for rule in rules for _, block in rule.filters())
    if has_users or any(rule.mutate for rule in rules) or may_vary(policy.resource.body):
        from chartkit.engine.cluster_policy.policy_check.variables import variables_fault

        if fault := variables_fault(policy, rules):
            return fault
    if faults := list(dict.fromkeys(_faults(policy, cluster_wide))):
        return faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]"
    has_overrides = any(rule.validate.failure_action_overrides for rule in policy.rules)
    if policy.namespace or not (has_overrides or policy.failure_action_overrides):
        override_problem: str | None = None
    else:
        from chartkit.engine.cluster_policy.policy_check.conflicts import overrides_fault

        override_problem = overrides_fault(policy)
    fault = override_problem or _processing_fault(policy) or _kinds_fault(policy, rules)
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
