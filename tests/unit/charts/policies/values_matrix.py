"""Every value of the policies chart, and what it does in each form of the policies.

One case is one value; a form either refuses it with a reason, or what is rendered differs. Of what
differs, the policies say something else of some request, unless the case tells why they cannot.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.unit.charts.policies.policy_forms import (
    ADMISSION,
    CLUSTER,
    FORMS,
    MINE,
    PLAIN,
    VALIDATING,
)

RULE = f"{MINE}-first"
NAMESPACES = {"any": [{"resources": {"namespaces": ["sandbox"]}}]}
CONDITION = {"key": "{{ request.operation }}", "operator": "NotEquals", "value": "UPDATE"}
MATCH = [{"name": "not-updates", "expression": "request.operation != 'UPDATE'"}]
RESOURCES = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]}]
OVERRIDES = [{"action": "Enforce", "namespaces": ["prod-*"]}]
_JMESPATH, _OF_CEL, _SCAN = "JMESPath", "for policies in CEL", "no background scan"
_NOT_IN_CEL = {VALIDATING: _JMESPATH, ADMISSION: _JMESPATH}
_ENFORCE = {"validationFailureAction": "Enforce"}
_BASELINE = {"podSecurityStandard": "baseline"}
_HOST_PATH, _VOLUMES, _GROUPS, _FURTHER = (
    "disallow-host-path",
    "restrict-volume-types",
    "require-non-root-groups",
    "further",
)
_UNSCORED = {"policies.kyverno.io/scored": "false"}
_KIND = {"kind": "string(object.kind)"}
_FAILING = {
    "policyMatchConditions": {
        MINE: [{"name": "fails", "expression": "object.metadata.annotations['x'] == 'y'"}]
    }
}
"""A condition that cannot be evaluated: objects without annotations have no such key."""
_IN_CEL = dict.fromkeys((VALIDATING, ADMISSION), _FAILING)

_SCANS = "whether Kyverno's background scan asks the policy, which no single request shows"
_UNREACHED = "what the API server does with a request when it does not reach Kyverno"
_AUDIT_LOG = "what the API server writes into its own audit log"
_BACKGROUND_REQUESTS = "requests of the background controller, which Kyverno's webhook passes over"
_WRITTEN = "for people and for other programs: nothing that judges reads it"
_SERVED = "how the policy is written, so that this Kyverno reads it; it means the same"


@dataclass(frozen=True)
class Case:
    """values: what is set; beside: what is set before and after, and beside_in further in a form;
    of: the policy that speaks; refused: a part of the reason, by form.

    settings: why nothing that is said of a request can differ, but only how the policy is run, by
    form; silent: why not even that, but only the text of the policy.
    """

    values: Mapping[str, Any]
    beside: Mapping[str, Any] = field(default_factory=dict)
    beside_in: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    of: str = MINE
    refused: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    silent: Mapping[str, str] = field(default_factory=dict)

    def before(self, form: str) -> Mapping[str, Any]:
        """The values without the one in question."""
        return {**self.beside, **self.beside_in.get(form, {})}

    def after(self, form: str) -> Mapping[str, Any]:
        """The values with the one in question."""
        return {**self.before(form), **self.values}

    @property
    def name(self) -> str:
        """The keys that it sets: `exclude`, `policies.mine.action`."""
        key, value = next(iter(self.values.items()))
        return f"policies.{next(iter(value[MINE]))}" if key == "policies" else key


def _own(**settings: Any) -> Mapping[str, Any]:
    return {"policies": {MINE: settings}}


_RUN = dict.fromkeys((CLUSTER, VALIDATING), _SCANS)
_SILENT = dict.fromkeys(FORMS, _WRITTEN)
_FURTHER_POLICY = {
    "apiVersion": "kyverno.io/v1",
    "kind": "ClusterPolicy",
    "metadata": {"name": _FURTHER},
    "spec": {
        "rules": [
            {
                "name": "further",
                "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
                "validate": {"message": "Never.", "deny": {}},
            }
        ]
    },
}

CASES = (
    Case({"policyKind": "Policy"}),
    Case({"kyvernoVersion": "1.16"}, silent=dict.fromkeys(FORMS, _SERVED)),
    Case(_BASELINE, of=_HOST_PATH),
    Case(
        {"podSecurityPolicies": [_HOST_PATH]},
        beside={"podSecurityStandard": "custom"},
        of=_HOST_PATH,
    ),
    Case({"includeRestrictedPolicies": [_VOLUMES]}, of=_VOLUMES),
    Case({"includeOtherPolicies": [_GROUPS]}, of=_GROUPS),
    Case(_ENFORCE),
    Case({"validationFailureActionByPolicy": {MINE: "Enforce"}}),
    Case({"validationFailureActionOverrides": {"all": OVERRIDES}}),
    Case({"validationFailureActionOverrides": {MINE: OVERRIDES}}),
    Case({"validationAllowExistingViolations": False}, beside=_ENFORCE),
    Case({"failurePolicy": "Ignore"}, beside_in=_IN_CEL, silent={CLUSTER: _UNREACHED}),
    Case({"background": False}, refused={ADMISSION: _SCAN}, settings=_RUN),
    Case(
        {"skipBackgroundRequests": True},
        beside={"skipBackgroundRequests": False},
        settings={CLUSTER: _BACKGROUND_REQUESTS},
    ),
    Case({"autogenControllers": "Deployment,CronJob"}),
    Case({"exclude": NAMESPACES}),
    Case({"policyExclude": {MINE: NAMESPACES}}),
    Case({"policyExclude": {RULE: NAMESPACES}}),
    Case({"policyPreconditions": {MINE: {"all": [CONDITION]}}}, refused=_NOT_IN_CEL),
    Case({"policyPreconditions": {RULE: {"all": [CONDITION]}}}, refused=_NOT_IN_CEL),
    Case({"policyMatchConditions": {MINE: MATCH}}, refused={CLUSTER: _OF_CEL}),
    Case({"policyMatchConditions": {RULE: MATCH}}, refused={CLUSTER: _OF_CEL}),
    Case({"podSecuritySeverity": "low"}, beside=_BASELINE, of=_HOST_PATH),
    Case({"podSecuritySeverityByPolicy": {MINE: "low"}}),
    Case({"customAnnotations": _UNSCORED}),
    Case({"customAnnotationsByPolicy": {MINE: _UNSCORED}}),
    Case({"customLabels": {"team": "x"}}, silent=_SILENT),
    Case({"customPolicies": [_FURTHER_POLICY]}, of=_FURTHER),
    Case({"auditAnnotations": _KIND}, refused={CLUSTER: _OF_CEL}, settings={ADMISSION: _AUDIT_LOG}),
    Case(
        {"auditAnnotationsByPolicy": {MINE: _KIND}},
        refused={CLUSTER: _OF_CEL},
        settings={ADMISSION: _AUDIT_LOG},
    ),
    Case({"vpolExclude": {"excludeNamespaces": ["sandbox"]}}),
    Case(
        {"vpolExclude": {"excludeSubjects": [{"kind": "User", "name": "root"}]}},
        beside={"policies": {PLAIN: {"enabled": False}}},
        beside_in={CLUSTER: {"background": False}},
    ),
    Case({"vpolExclude": {"excludeResourceRules": RESOURCES}}, refused={CLUSTER: _OF_CEL}),
    Case({"vpolExclude": {"matchConditions": MATCH}}, refused={CLUSTER: _OF_CEL}),
    Case({"vpolExcludeByPolicy": {MINE: {"excludeNamespaces": ["sandbox"]}}}),
    Case({"vpolExcludeByPolicy": {MINE: {"matchConditions": MATCH}}}, refused={CLUSTER: _OF_CEL}),
    Case({"nameOverride": "other"}, silent=_SILENT),
    Case({"kubeVersionOverride": "1.30-1.34"}, silent=_SILENT),
    Case({"parameters": {"label": "owner"}}),
    Case(_own(enabled=False)),
    Case(_own(action="Enforce")),
    Case(_own(actionOverrides=OVERRIDES)),
    Case(_own(exclude=NAMESPACES)),
    Case(_own(preconditions={"all": [CONDITION]}), refused=_NOT_IN_CEL),
    Case(_own(matchConditions=MATCH), refused={CLUSTER: _OF_CEL}),
    Case(_own(severity="low")),
    Case(_own(annotations=_UNSCORED)),
    Case(_own(labels={"team": "x"}), silent=_SILENT),
    Case(
        _own(auditAnnotations=_KIND), refused={CLUSTER: _OF_CEL}, settings={ADMISSION: _AUDIT_LOG}
    ),
    Case(_own(autogenControllers="none")),
    Case(_own(background=False), refused={ADMISSION: _SCAN}, settings=_RUN),
    Case(_own(failurePolicy="Ignore"), beside_in=_IN_CEL, silent={CLUSTER: _UNREACHED}),
    Case(
        _own(skipBackgroundRequests=True),
        beside={"skipBackgroundRequests": False},
        settings={CLUSTER: _BACKGROUND_REQUESTS},
    ),
    Case(_own(allowExistingViolations=False), beside=_ENFORCE),
    Case(_own(parameters={"label": "owner"})),
)
OF_NO_POLICY = frozenset(
    {"profiles", "policies", "global", "policyType", "permissions", "configMaps", "exceptions"}
)
"""What NOTES says, what holds the others, what Helm hands on, the form itself, and what other
objects are made of."""
