"""The checks of rules that match any kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from chartkit.engine.cluster_policy.policy import Policy, Rule, RuleKind
from chartkit.engine.kubernetes.definitions import show_path
from chartkit.model import Json


def only_metadata(rule: Rule) -> bool:
    """Report whether a rule's patterns and patches touch nothing but `metadata`."""
    validate, mutate = rule.validate, rule.mutate or {}
    if not isinstance(validate.any_pattern, list | None):
        return False
    overlays = (mutate.get("patchStrategicMerge"), validate.pattern, *(validate.any_pattern or ()))
    patterns = [pattern for pattern in overlays if isinstance(pattern, dict)]
    in_metadata = all(key == "metadata" for pattern in patterns for key in pattern)
    if not in_metadata or not mutate:
        return in_metadata
    from chartkit.engine.cluster_policy.policy_check.changes import patched_paths

    return all(path.startswith("/metadata") for path in patched_paths(rule))


_ANY: Final = "*"


METADATA_ONLY: Final = (
    "policy can only deal with the metadata field of the resource if the rule does not match any "
    "kind"
)


def kinds_fault(policy: Policy, rules: Sequence[Rule]) -> str | None:
    """Return the fault of the kinds of a policy's rules, in Kyverno's words."""
    for index, rule in enumerate(rules):
        for path, block in rule.filters():
            if fault := _fault(block.kinds, policy.background, rule):
                return f"path: {show_path(('spec', 'rules', index, *path, 'kinds'))}: {fault}"
    return None


def _fault(kinds: tuple[str, ...], background: bool, rule: Rule) -> str | None:
    if _ANY not in kinds:
        return None
    if background:
        return (
            "wildcard policy not allowed in background mode. Set spec.background=false to disable "
            "background mode for this policy rule "
        )
    if len(kinds) > 1:
        return "wildcard policy can not deal with more than one kind"
    if rule.kind in (RuleKind.GENERATE, RuleKind.VERIFY_IMAGES) or rule.validate.foreach:
        return "wildcard policy does not support rule type"
    if not only_metadata(rule) or _denies_more(rule):
        return METADATA_ONLY
    return None


def _denies_more(rule: Rule) -> bool:
    """Report whether the old flat list of conditions refers to more than the object's metadata."""
    conditions: Json = (rule.validate.deny or {}).get("conditions")
    if not isinstance(conditions, list):
        return False
    keys = [condition.get("key") for condition in conditions if isinstance(condition, dict)]
    return any(isinstance(key, str) and not _is_about_metadata(key) for key in keys)


def _is_about_metadata(key: str) -> bool:
    if "request.object.metadata." in key:
        return True
    variable = key.partition("{{")[2].lstrip()
    allowed = variable.startswith(("request.", "serviceAccountName", "serviceAccountNamespace"))
    return allowed and "}}" in variable and "request.object.spec" not in key
