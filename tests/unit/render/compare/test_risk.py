from typing import Any

import pytest

from chartkit.model import Body, Resource
from chartkit.render.compare.fields import What, compare
from chartkit.render.compare.report import comparison, report
from chartkit.render.compare.risk import Level, Risk, risk
from chartkit.render.environment import Side
from tests.command_reports import OWN, in_format


def thing(version: str, kind: str, name: str = "x", **body: Any) -> Body:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **body}


def policy(action: str | None = None, **rule: Any) -> Body:
    validate = {"message": "no", **({"failureAction": action} if action else {})}
    rules = [{"name": "check", "validate": validate, **rule}]
    return thing("kyverno.io/v1", "ClusterPolicy", spec={"rules": rules})


def in_cel(*actions: str, expression: str = "true") -> Body:
    spec = {"validationActions": list(actions), "validations": [{"expression": expression}]}
    return thing("policies.kyverno.io/v1", "ValidatingPolicy", spec=spec)


def deployment(replicas: int | None = None, **pod: Any) -> Body:
    spec: Body = {} if replicas is None else {"replicas": replicas}
    return thing("apps/v1", "Deployment", spec={**spec, "template": {"spec": pod}})


def role(*rules: Body) -> Body:
    return thing("rbac.authorization.k8s.io/v1", "ClusterRole", rules=list(rules))


def rule(verbs: str, resources: str, groups: str = "", names: str = "") -> Body:
    body: Body = {"verbs": verbs.split(), "resources": resources.split(), "apiGroups": [groups]}
    return {**body, "resourceNames": names.split()} if names else body


def binding(*names: str, to: str = "view") -> Body:
    subjects = [{"kind": "ServiceAccount", "namespace": "n", "name": name} for name in names]
    reference = {"kind": "ClusterRole", "name": to}
    version = "rbac.authorization.k8s.io/v1"
    return thing(version, "ClusterRoleBinding", subjects=subjects, roleRef=reference)


def definition(*versions: str) -> Body:
    served = [{"name": name, "served": True} for name in versions]
    return thing("apiextensions.k8s.io/v1", "CustomResourceDefinition", spec={"versions": served})


def container(**fields: Any) -> Body:
    return deployment(containers=[{"name": "c", **fields}])


@pytest.mark.parametrize(
    ("before", "after", "level", "reason"),
    [
        (policy("Audit"), policy("Enforce"), Level.HIGH, "refuses what it only reported before"),
        (policy(), policy("Enforce"), Level.HIGH, "refuses what it only reported before"),
        (policy("Enforce"), policy("Audit"), Level.MEDIUM, "reports only what it refused before"),
        (policy("Enforce"), policy("Enforce", exclude={}), Level.MEDIUM, "judges otherwise"),
        (policy("Audit"), policy("Audit", exclude={}), Level.MEDIUM, ""),
        (None, policy("Enforce"), Level.HIGH, "a new policy that refuses"),
        (None, policy("Audit"), Level.LOW, ""),
        (policy("Enforce"), None, Level.HIGH, "a policy that refuses goes"),
        (in_cel("Audit"), in_cel("Deny"), Level.HIGH, "refuses what it only reported before"),
        (in_cel("Deny"), in_cel("Audit", "Warn"), Level.MEDIUM, "no longer refuses"),
        (deployment(3), deployment(1), Level.HIGH, "replicas go down from 3 to 1"),
        (deployment(3), deployment(), Level.HIGH, "replicas go down from 3 to 1"),
        (deployment(1), deployment(0), Level.HIGH, "no replica runs"),
        (deployment(), deployment(2), Level.LOW, "replicas go up from 1 to 2"),
        (role(), role(rule("get", "pods")), Level.HIGH, "allows to get pods"),
        (role(rule("get list", "pods")), role(rule("get", "pods")), Level.MEDIUM, "allows less"),
        (role(rule("*", "*", "*")), role(rule("get", "pods/log")), Level.MEDIUM, "allows less"),
        (role(rule("get", "pods", names="a")), role(rule("get", "pods")), Level.HIGH, "get pods"),
        (role(rule("get", "pods/*")), role(rule("get", "pods")), Level.HIGH, "get pods"),
        (binding("a"), binding("a", "b"), Level.HIGH, "gives view to ServiceAccount n/b"),
        (binding("a", "b"), binding("a"), Level.MEDIUM, ""),
        (binding("a"), binding("a", to="admin"), Level.HIGH, "binds another role"),
        (definition("v1", "v2"), definition("v2"), Level.HIGH, "no longer serves v1"),
        (definition("v1"), None, Level.HIGH, "all objects of this kind are deleted"),
        (definition("v1"), definition("v1", "v2"), Level.MEDIUM, ""),
        (container(image="a:1"), container(image="a:2"), Level.MEDIUM, "runs a:2 instead of a:1"),
        (
            container(securityContext={"runAsNonRoot": True}),
            container(securityContext={}),
            Level.HIGH,
            "runAsNonRoot is weaker",
        ),
        (
            container(securityContext={"privileged": False}),
            container(securityContext={}),
            Level.MEDIUM,
            "",
        ),
        (deployment(hostNetwork=False), deployment(hostNetwork=True), Level.HIGH, "is weaker"),
        (thing("v1", "Namespace"), None, Level.HIGH, "everything in the namespace goes"),
        (thing("v1", "ConfigMap"), None, Level.MEDIUM, ""),
        (None, thing("v1", "ConfigMap"), Level.LOW, ""),
    ],
)
def test_risks(before: Body | None, after: Body | None, level: Level, reason: str) -> None:
    sides = [[Resource(body)] if body else [] for body in (before, after)]
    (change,) = compare(*sides)
    found = risk(change)
    assert found.level is level
    assert reason in found.reason
    assert bool(found.reason) == bool(reason)


CEL = "policies.kyverno.io/v1"


def spec(kind: str, **fields: Any) -> Body:
    return thing("kyverno.io/v1" if kind == "ClusterPolicy" else CEL, kind, spec=fields)


def rules(*extra: Body, **fields: Any) -> Body:
    own = {"name": "check", "validate": {"message": "no"}}
    return spec("ClusterPolicy", rules=[own, *extra], **fields)


@pytest.mark.parametrize(
    ("plain", "written"),
    [
        (rules(), rules(failurePolicy="Fail", background=True, validationFailureAction="Audit")),
        (rules(), rules(webhookTimeoutSeconds=10, applyRules="All", admission=True)),
        (
            rules(validationFailureAction="Enforce"),
            spec(
                "ClusterPolicy",
                validationFailureAction="Enforce",
                rules=[
                    {
                        "name": "check",
                        "skipBackgroundRequests": True,
                        "validate": {
                            "message": "no",
                            "failureAction": "Enforce",
                            "allowExistingViolations": True,
                        },
                    }
                ],
            ),
        ),
        (
            spec("ValidatingPolicy", validations=[]),
            spec(
                "ValidatingPolicy",
                validations=[],
                validationActions=["Deny"],
                failurePolicy="Fail",
                evaluation={"admission": {"enabled": True}, "mode": "Kubernetes"},
            ),
        ),
        (
            spec("NamespacedGeneratingPolicy", generate=[]),
            spec(
                "NamespacedGeneratingPolicy",
                generate=[],
                evaluation={"synchronize": {"enabled": False}, "admission": {}},
            ),
        ),
        (
            thing("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", spec={}),
            thing(
                "admissionregistration.k8s.io/v1",
                "ValidatingAdmissionPolicy",
                spec={"failurePolicy": "Fail"},
            ),
        ),
        (deployment(), deployment(1, restartPolicy="Always", dnsPolicy="ClusterFirst")),
    ],
)
def test_a_default_that_is_written_out_is_no_change(plain: Body, written: Body) -> None:
    assert compare([Resource(plain)], [Resource(written)]) == []
    assert compare([Resource(written)], [Resource(plain)]) == []


def test_a_default_in_place_of_a_value_is_a_change_of_the_value() -> None:
    (change,) = compare([Resource(rules(failurePolicy="Ignore"))], [Resource(rules())])
    (field,) = change.fields
    assert (field.name, field.before, field.after) == ("spec.failurePolicy", "Ignore", "Fail")
    assert risk(change).level is Level.HIGH
    (back,) = compare([Resource(rules())], [Resource(rules(failurePolicy="Ignore"))])
    assert risk(back).reason == "requests pass while its webhook does not answer"


PAYMENTS = {"action": "Enforce", "namespaces": ["payments-*"]}
EXCLUDED = {"any": [{"resources": {"namespaces": ["kube-system"]}}]}
REPORTED = "reports only what it refused before"


@pytest.mark.parametrize(
    ("before", "after", "level", "reason"),
    [
        (
            rules(validationFailureActionOverrides=[PAYMENTS]),
            rules(failurePolicy="Fail"),
            Level.MEDIUM,
            f"{REPORTED} in namespaces payments-*",
        ),
        (
            rules(),
            rules(validationFailureActionOverrides=[PAYMENTS]),
            Level.HIGH,
            "refuses in namespaces payments-* what it only reported before",
        ),
        (
            rules(validationFailureAction="Enforce"),
            rules(
                validationFailureAction="Enforce",
                validationFailureActionOverrides=[{"action": "audit", "namespaces": ["dev"]}],
            ),
            Level.MEDIUM,
            f"{REPORTED} in namespaces dev",
        ),
        (
            rules(validationFailureAction="Enforce"),
            rules(failurePolicy="Ignore"),
            Level.MEDIUM,
            f"no longer refuses: {REPORTED}; requests pass while its webhook does not answer",
        ),
        (
            rules(validationFailureAction="Enforce", failurePolicy="Ignore"),
            rules(),
            Level.HIGH,
            "requests are refused while its webhook does not answer; "
            f"no longer refuses: {REPORTED}",
        ),
        (
            rules({"name": "more", "validate": {}}),
            rules({"name": "more", "validate": {}, "exclude": EXCLUDED}),
            Level.MEDIUM,
            "leaves out more in rule more",
        ),
        (rules({"name": "more", "validate": {}}), rules(), Level.MEDIUM, "rule more goes"),
        (
            spec("ValidatingPolicy", matchConstraints={}),
            spec(
                "ValidatingPolicy",
                matchConstraints={"excludeResourceRules": [{"resources": ["pods"]}]},
            ),
            Level.MEDIUM,
            "leaves out more",
        ),
        (
            spec("ValidatingPolicy"),
            spec("ValidatingPolicy", matchConditions=[{"name": "x", "expression": "false"}]),
            Level.MEDIUM,
            "a match condition more: it looks at less",
        ),
        (None, spec("ValidatingPolicy"), Level.HIGH, "a new policy that refuses"),
    ],
)
def test_the_headline_names_what_weakens(
    before: Body | None, after: Body, level: Level, reason: str
) -> None:
    (change,) = compare([Resource(before)] if before else [], [Resource(after)])
    assert risk(change) == Risk(level, reason)


def test_labels_alone_are_a_low_risk() -> None:
    before, after = thing("v1", "ConfigMap"), thing("v1", "ConfigMap")
    after["metadata"] = {"name": "x", "labels": {"a": "b"}}
    (change,) = compare([Resource(before)], [Resource(after)])
    assert risk(change).level is Level.LOW


def test_the_version_is_a_field_and_the_group_is_not() -> None:
    old, new = thing("apps/v1beta1", "Deployment"), thing("apps/v1", "Deployment")
    (change,) = compare([Resource(old)], [Resource(new)])
    assert (change.what, [each.name for each in change.fields]) == (What.CHANGED, ["apiVersion"])
    other = thing("extensions/v1beta1", "Deployment")
    assert [each.what for each in compare([Resource(other)], [Resource(new)])] == [
        What.ADDED,
        What.REMOVED,
    ]


def test_secrets_are_hidden() -> None:
    old = thing("v1", "Secret", data={"a": "b25l", "b": "c2FtZQ==", "c": "Z29uZQ=="})
    new = thing("v1", "Secret", data={"a": "dHdv", "b": "c2FtZQ=="}, stringData={"d": "plain"})
    sides = [Side(name, (Resource(body),)) for name, body in (("one", old), ("two", new))]
    found = [comparison(*sides)]
    names = {each.name for each in found[0].changes[0].change.fields}
    assert names == {"data.a", "data.c", "stringData"}
    for name in OWN:
        text = in_format(report(found), name)
        assert not [value for value in ("b25l", "dHdv", "c2Ft", "Z29u", "plain") if value in text]


def test_the_gravest_stands_first() -> None:
    before = [policy("Audit"), deployment(3), thing("v1", "ConfigMap")]
    after = [policy("Enforce"), deployment(3, subdomain="x"), thing("v1", "Secret", name="y")]
    sides = [Side("x", tuple(map(Resource, each))) for each in (before, after)]
    found = comparison(*sides)
    assert [str(each.risk.level) for each in found.changes] == ["high", "medium", "medium", "low"]
    assert found.at_least(Level.HIGH)
    text = in_format(report([found]), "text")
    assert "1 added, 1 removed, 2 changed (risk: 1 high, 2 medium, 1 low)" in text
    none = comparison(sides[0], sides[0])
    assert none.changes == ()
    assert in_format(report([none]), "text") == "x → x: no difference\n"
