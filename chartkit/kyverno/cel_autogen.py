"""Autogen of policies in CEL: those that Kyverno extends from Pods to their controllers."""

from __future__ import annotations

from typing import Final

from chartkit.kyverno import cel_policy_fields
from chartkit.model import Body, mapping_at, mappings_at

_PODS: Final = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}


def extends_to_controllers(body: Body) -> bool:
    """Return whether a policy matches Pods only, so that it is extended to their controllers.

    Source: Kyverno's `CanAutoGen` of CEL policies.
    """
    kind = str(body["kind"]).removeprefix(cel_policy_fields.NAMESPACED)
    if "autogen" not in cel_policy_fields.SETTINGS[kind]:
        return False
    constraints = mapping_at(body, "spec", "matchConstraints")
    rules = mappings_at(constraints, "resourceRules")
    excluding = constraints.get("objectSelector") or constraints.get("excludeResourceRules")
    if excluding or len(rules) != 1:
        return False
    [rule] = rules
    return not rule.get("resourceNames") and all(
        rule.get(key) == value for key, value in _PODS.items()
    )
