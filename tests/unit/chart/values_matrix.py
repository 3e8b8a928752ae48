"""Every value of the policies chart, and what it does in each form of the policies.

One case is one value; a form either shows it (what is rendered differs, and for most values the
verdict on some request) or refuses it with a reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.unit.chart.policy_forms import ADMISSION, CLUSTER, MINE, VALIDATING

RULE = f"{MINE}-first"
NAMESPACES = {"any": [{"resources": {"namespaces": ["sandbox"]}}]}
CONDITION = {"key": "{{ request.operation }}", "operator": "NotEquals", "value": "UPDATE"}
MATCH = [{"name": "not-updates", "expression": "request.operation != 'UPDATE'"}]
RESOURCES = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]}]
OVERRIDES = [{"action": "Enforce", "namespaces": ["prod-*"]}]
_JMESPATH, _OF_CEL, _SCAN = "JMESPath", "for policies in CEL", "no background scan"
_NOT_IN_CEL = {VALIDATING: _JMESPATH, ADMISSION: _JMESPATH}
_ENFORCE = {"validationFailureAction": "Enforce"}


@dataclass(frozen=True)
class Case:
    """values: what is set; beside: what is set before and after; refused: a part of the reason, by
    form."""

    values: Mapping[str, Any]
    beside: Mapping[str, Any] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The keys that it sets: `exclude`, `policies.mine.action`."""
        key, value = next(iter(self.values.items()))
        return f"policies.{next(iter(value[MINE]))}" if key == "policies" else key


def _own(**settings: Any) -> Mapping[str, Any]:
    return {"policies": {MINE: settings}}


CASES = (
    Case({"policyKind": "Policy"}),
    Case({"kyvernoVersion": "1.16"}),
    Case({"podSecurityStandard": "baseline"}),
    Case(
        {"podSecurityPolicies": ["disallow-host-path"]},
        beside={"podSecurityStandard": "custom"},
    ),
    Case({"includeRestrictedPolicies": ["restrict-volume-types"]}),
    Case({"includeOtherPolicies": ["require-non-root-groups"]}),
    Case(_ENFORCE),
    Case({"validationFailureActionByPolicy": {MINE: "Enforce"}}),
    Case({"validationFailureActionOverrides": {"all": OVERRIDES}}),
    Case({"validationFailureActionOverrides": {MINE: OVERRIDES}}),
    Case({"validationAllowExistingViolations": False}, beside=_ENFORCE),
    Case({"failurePolicy": "Ignore"}),
    Case({"background": False}, refused={ADMISSION: _SCAN}),
    Case({"skipBackgroundRequests": True}, beside={"skipBackgroundRequests": False}),
    Case({"autogenControllers": "Deployment,CronJob"}),
    Case({"exclude": NAMESPACES}),
    Case({"policyExclude": {MINE: NAMESPACES}}),
    Case({"policyExclude": {RULE: NAMESPACES}}),
    Case({"policyPreconditions": {MINE: {"all": [CONDITION]}}}, refused=_NOT_IN_CEL),
    Case({"policyPreconditions": {RULE: {"all": [CONDITION]}}}, refused=_NOT_IN_CEL),
    Case({"policyMatchConditions": {MINE: MATCH}}, refused={CLUSTER: _OF_CEL}),
    Case({"policyMatchConditions": {RULE: MATCH}}, refused={CLUSTER: _OF_CEL}),
    Case({"podSecuritySeverity": "high"}, beside={"podSecurityStandard": "baseline"}),
    Case({"podSecuritySeverityByPolicy": {MINE: "low"}}),
    Case({"customAnnotations": {"a/b": "c"}}),
    Case({"customAnnotationsByPolicy": {MINE: {"a/b": "c"}}}),
    Case({"customLabels": {"team": "x"}}),
    Case(
        {"customPolicies": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}]}
    ),
    Case({"auditAnnotations": {"kind": "object.kind"}}, refused={CLUSTER: _OF_CEL}),
    Case({"auditAnnotationsByPolicy": {MINE: {"kind": "object.kind"}}}, refused={CLUSTER: _OF_CEL}),
    Case({"vpolExclude": {"excludeNamespaces": ["sandbox"]}}),
    Case({"vpolExclude": {"excludeSubjects": [{"kind": "User", "name": "root"}]}}),
    Case({"vpolExclude": {"excludeResourceRules": RESOURCES}}, refused={CLUSTER: _OF_CEL}),
    Case({"vpolExclude": {"matchConditions": MATCH}}, refused={CLUSTER: _OF_CEL}),
    Case({"vpolExcludeByPolicy": {MINE: {"excludeNamespaces": ["sandbox"]}}}),
    Case({"vpolExcludeByPolicy": {MINE: {"matchConditions": MATCH}}}, refused={CLUSTER: _OF_CEL}),
    Case({"nameOverride": "other"}),
    Case({"kubeVersionOverride": "1.30-1.34"}),
    Case({"parameters": {"label": "owner"}}),
    Case(_own(enabled=False)),
    Case(_own(action="Enforce")),
    Case(_own(actionOverrides=OVERRIDES)),
    Case(_own(exclude=NAMESPACES)),
    Case(_own(preconditions={"all": [CONDITION]}), refused=_NOT_IN_CEL),
    Case(_own(matchConditions=MATCH), refused={CLUSTER: _OF_CEL}),
    Case(_own(severity="low")),
    Case(_own(annotations={"a/b": "c"})),
    Case(_own(labels={"team": "x"})),
    Case(_own(autogenControllers="none")),
    Case(_own(background=False), refused={ADMISSION: _SCAN}),
    Case(_own(failurePolicy="Ignore")),
    Case(_own(skipBackgroundRequests=True), beside={"skipBackgroundRequests": False}),
    Case(_own(allowExistingViolations=False), beside=_ENFORCE),
    Case(_own(parameters={"label": "owner"})),
)
OF_NO_POLICY = frozenset({"profiles", "policies", "global", "policyType"})
"""What NOTES says, what holds the others, what Helm hands on, and the form itself."""
