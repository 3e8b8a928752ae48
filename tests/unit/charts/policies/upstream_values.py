"""What the values of the policies chart become in ClusterPolicies, value by value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from chartkit.charts.policies.chart import plan_for_profile
from chartkit.helm.render import render_chart
from chartkit.model import Body
from tests.files import write_files

HOST_PATH = "disallow-host-path"
GROUPS = "require-non-root-groups"
STRICT = "disallow-capabilities-strict"
FILTER = {"resources": {"kinds": ["Pod"], "namespaces": ["fluent"]}}
CONDITION = {"key": "{{ request.object.metadata.name }}", "operator": "NotEquals", "value": "x*"}
AUTOGEN = "pod-policies.kyverno.io/autogen-controllers"
SEVERITY = "policies.kyverno.io/severity"

_FOLDER = TemporaryDirectory()


@cache
def chart() -> Path:
    """The chart of pss-restricted, written once."""
    plan = plan_for_profile("pss-restricted", {})
    folder = Path(_FOLDER.name) / plan.name
    return write_files(folder, {**plan.files, **plan.values})


def render(
    values: Mapping[str, Any] | Path | None = None, namespace: str = "kyverno"
) -> RenderedValues:
    """The policies by name as ClusterPolicy, with these values."""
    plain = {"policyType": "ClusterPolicy"}
    found = render_chart(chart(), [plain, values] if values else [plain], namespace=namespace)
    return RenderedValues({each.name: each.body for each in found.resources})


@dataclass(frozen=True)
class RenderedValues:
    policies: Mapping[str, Body] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Body:
        return self.policies[name]

    @property
    def names(self) -> set[str]:
        return set(self.policies)

    def spec(self, name: str = HOST_PATH) -> Body:
        spec: Body = self[name]["spec"]
        return spec

    def rule(self, name: str = HOST_PATH, index: int = 0) -> Body:
        rule: Body = self.spec(name)["rules"][index]
        return rule

    def validate(self, name: str = HOST_PATH) -> Body:
        validate: Body = self.rule(name)["validate"]
        return validate

    def annotation(self, key: str, name: str = HOST_PATH) -> str | None:
        text: str | None = self[name]["metadata"]["annotations"].get(key)
        return text

    def label(self, key: str, name: str = HOST_PATH) -> str | None:
        text: str | None = self[name]["metadata"]["labels"].get(key)
        return text


@cache
def by_default() -> RenderedValues:
    """The policies without any value, rendered once."""
    return render()


Check = Callable[[RenderedValues], Any]
CASES: list[tuple[Body, Check, Any, Any]] = [
    # values, what to look at, before, after
    ({"policyKind": "Policy"}, lambda r: r[HOST_PATH]["kind"], "ClusterPolicy", "Policy"),
    (
        {"policyKind": "Policy"},
        lambda r: r[HOST_PATH]["metadata"].get("namespace"),
        None,
        "kyverno",
    ),
    (
        {"kyvernoVersion": "1.12"},
        lambda r: (r.spec().get("emitWarning"), r.validate().get("failureAction")),
        (False, "Audit"),
        (None, None),
    ),
    (
        {"podSecurityStandard": "baseline"},
        lambda r: (HOST_PATH in r.names, STRICT in r.names),
        (True, True),
        (True, False),
    ),
    ({"podSecurityStandard": "privileged"}, lambda r: len(r.names) > 10, True, False),
    ({"podSecurityStandard": "custom"}, lambda r: len(r.names) > 10, True, False),
    (
        {"podSecurityStandard": "custom", "podSecurityPolicies": [STRICT, HOST_PATH]},
        lambda r: r.names == {STRICT, HOST_PATH},
        False,
        True,
    ),
    (
        {"podSecurityStandard": "baseline", "includeRestrictedPolicies": [STRICT]},
        lambda r: (STRICT in r.names, "restrict-volume-types" in r.names),
        (True, True),
        (True, False),
    ),
    ({"includeOtherPolicies": [GROUPS]}, lambda r: GROUPS in r.names, False, True),
    (
        {"validationFailureAction": "Enforce"},
        lambda r: {r.spec(name)["validationFailureAction"] for name in r.names},
        {"Audit"},
        {"Enforce"},
    ),
    (
        {"validationFailureAction": "enforce"},
        lambda r: r.validate()["failureAction"],
        "Audit",
        "Enforce",
    ),
    (
        {"validationFailureActionByPolicy": {HOST_PATH: "Enforce"}},
        lambda r: (r.validate()["failureAction"], r.validate(STRICT)["failureAction"]),
        ("Audit", "Audit"),
        ("Enforce", "Audit"),
    ),
    (
        {
            "validationFailureActionOverrides": {
                "all": [{"action": "audit", "namespaces": ["a"]}],
                HOST_PATH: [{"action": "Enforce", "namespaces": ["b"]}],
            }
        },
        lambda r: (
            r.validate().get("failureActionOverrides"),
            r.validate(STRICT).get("failureActionOverrides"),
        ),
        (None, None),
        (
            [{"action": "Audit", "namespaces": ["a"]}, {"action": "Enforce", "namespaces": ["b"]}],
            [{"action": "Audit", "namespaces": ["a"]}],
        ),
    ),
    (
        {"validationAllowExistingViolations": False},
        lambda r: r.validate()["allowExistingViolations"],
        True,
        False,
    ),
    ({"failurePolicy": "Ignore"}, lambda r: r.spec()["failurePolicy"], "Fail", "Ignore"),
    ({"background": False}, lambda r: r.spec()["background"], True, False),
    ({"skipBackgroundRequests": False}, lambda r: r.rule()["skipBackgroundRequests"], True, False),
    (
        {"autogenControllers": "Deployment,StatefulSet"},
        lambda r: r.annotation(AUTOGEN),
        None,
        "Deployment,StatefulSet",
    ),
    (
        {"exclude": {"any": [FILTER]}},
        lambda r: [r.rule(name).get("exclude") for name in (HOST_PATH, STRICT)],
        [None, None],
        [{"any": [FILTER]}, {"any": [FILTER]}],
    ),
    (
        {"policyExclude": {HOST_PATH: {"any": [FILTER]}}},
        lambda r: [r.rule(name).get("exclude") for name in (HOST_PATH, STRICT)],
        [None, None],
        [{"any": [FILTER]}, None],
    ),
    (
        {"policyExclude": {"require-drop-all": {"all": [FILTER]}}},
        lambda r: {rule["name"]: rule.get("exclude") for rule in r.spec(STRICT)["rules"]},
        {"require-drop-all": None, "adding-capabilities-strict": None},
        {"require-drop-all": {"all": [FILTER]}, "adding-capabilities-strict": None},
    ),
    (
        {"policyPreconditions": {HOST_PATH: {"all": [CONDITION]}}},
        lambda r: [r.rule(name).get("preconditions") for name in (HOST_PATH, "restrict-sysctls")],
        [None, None],
        [{"all": [CONDITION]}, None],
    ),
    (
        {"vpolExclude": {"excludeNamespaces": ["a"]}},
        lambda r: r.rule().get("exclude"),
        None,
        {"any": [{"resources": {"namespaces": ["a"]}}]},
    ),
    (
        {
            "vpolExcludeByPolicy": {
                HOST_PATH: {"excludeSubjects": [{"kind": "User", "name": "a"}]}
            },
            "background": False,
        },
        lambda r: [r.rule(name).get("exclude") for name in (HOST_PATH, STRICT)],
        [None, None],
        [{"any": [{"subjects": [{"kind": "User", "name": "a"}]}]}, None],
    ),
    ({"podSecuritySeverity": "low"}, lambda r: r.annotation(SEVERITY), "high", "low"),
    (
        {"podSecuritySeverityByPolicy": {HOST_PATH: "critical", STRICT: ""}},
        lambda r: (r.annotation(SEVERITY), r.annotation(SEVERITY, STRICT)),
        ("high", "medium"),
        ("critical", None),
    ),
    (
        {"podSecuritySeverityByPolicy": {HOST_PATH: 1}},
        lambda r: r.annotation(SEVERITY),
        "high",
        "1",
    ),
    ({"customAnnotations": {"a/b": "c"}}, lambda r: r.annotation("a/b", STRICT), None, "c"),
    (
        {"customAnnotations": {"a/b": "c"}, "customAnnotationsByPolicy": {HOST_PATH: {"a/b": "d"}}},
        lambda r: (r.annotation("a/b"), r.annotation("a/b", STRICT)),
        (None, None),
        ("d", "c"),
    ),
    ({"customLabels": {"team": "x"}}, lambda r: r.label("team"), None, "x"),
    (
        {
            "customPolicies": [
                {"kind": "ClusterPolicy", "apiVersion": "kyverno.io/v1", "metadata": {"name": "o"}},
                "kind: ClusterPolicy\napiVersion: kyverno.io/v1\n"
                "metadata: {name: '{{ .Release.Name }}'}\n",
            ]
        },
        lambda r: {"o", "release"} & r.names,
        set(),
        {"o", "release"},
    ),
    (
        {"nameOverride": "mine"},
        lambda r: r.label("app.kubernetes.io/name"),
        "kyverno-policies",
        "mine",
    ),
    (
        {"kubeVersionOverride": "1.28-1.31"},
        lambda r: r.annotation("kyverno.io/kubernetes-version") == "1.28-1.31",
        False,
        True,
    ),
    (
        {"parameters": {"podSecurityVersion": "v1.24"}},
        lambda r: "disallow-host-probes" in r.names,
        True,
        False,
    ),
    (
        {"policies": {"disallow-host-probes": {"parameters": {"podSecurityVersion": "v1.24"}}}},
        lambda r: "disallow-host-probes" in r.names,
        True,
        False,
    ),
    (
        {"policies": {HOST_PATH: {"enabled": False}, GROUPS: {"enabled": True}}},
        lambda r: (HOST_PATH in r.names, GROUPS in r.names),
        (True, False),
        (False, True),
    ),
    (
        {"policies": {HOST_PATH: {"action": "Enforce"}}},
        lambda r: (r.validate()["failureAction"], r.spec()["validationFailureAction"]),
        ("Audit", "Audit"),
        ("Enforce", "Enforce"),
    ),
    (
        {
            "policies": {
                HOST_PATH: {"actionOverrides": [{"action": "Enforce", "namespaces": ["b"]}]}
            }
        },
        lambda r: r.validate().get("failureActionOverrides"),
        None,
        [{"action": "Enforce", "namespaces": ["b"]}],
    ),
    (
        {"policies": {HOST_PATH: {"exclude": {"any": [FILTER]}}}, "exclude": {"all": [FILTER]}},
        lambda r: r.rule().get("exclude"),
        None,
        {"any": [FILTER, FILTER]},
    ),
    (
        {"policies": {HOST_PATH: {"preconditions": {"any": [CONDITION]}}}},
        lambda r: r.rule().get("preconditions"),
        None,
        {"all": [CONDITION]},
    ),
    (
        {"policies": {HOST_PATH: {"severity": "low"}}},
        lambda r: r.annotation(SEVERITY),
        "high",
        "low",
    ),
    (
        {"policies": {HOST_PATH: {"annotations": {"a/b": "c"}}}},
        lambda r: r.annotation("a/b"),
        None,
        "c",
    ),
    ({"policies": {HOST_PATH: {"labels": {"a": "c"}}}}, lambda r: r.label("a"), None, "c"),
    (
        {"policies": {HOST_PATH: {"autogenControllers": "none"}}},
        lambda r: (r.annotation(AUTOGEN), r.annotation(AUTOGEN, STRICT)),
        (None, None),
        ("none", None),
    ),
    (
        {"policies": {HOST_PATH: {"background": False}}},
        lambda r: r.spec()["background"],
        True,
        False,
    ),
    (
        {"policies": {HOST_PATH: {"failurePolicy": "Ignore"}}},
        lambda r: r.spec()["failurePolicy"],
        "Fail",
        "Ignore",
    ),
    (
        {"policies": {HOST_PATH: {"skipBackgroundRequests": False}}},
        lambda r: r.rule()["skipBackgroundRequests"],
        True,
        False,
    ),
    (
        {"policies": {HOST_PATH: {"allowExistingViolations": False}}},
        lambda r: r.validate()["allowExistingViolations"],
        True,
        False,
    ),
]
