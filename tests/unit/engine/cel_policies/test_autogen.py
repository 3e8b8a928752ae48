"""CEL policies about Pods as policies about what makes Pods."""

from typing import Any

import pytest

from chartkit.engine.cel_policies.autogen import extended, mutation_rewritten, rewriter
from chartkit.engine.cel_policies.policy import read_cel_policy
from chartkit.engine.kubernetes.kinds import CRON_TEMPLATE, TEMPLATE
from chartkit.model import Body
from tests.unit.engine.cel_policies.policies import PODS, about, policy


def controllers(**spec: Any) -> list[str]:
    """The resources that a policy is extended to, CronJobs first."""
    spec.setdefault("validations", [{"expression": "true"}])
    forms = extended(read_cel_policy(policy(**spec)))
    rules = [one.spec["matchConstraints"]["resourceRules"] for one in forms]
    return [name for form in rules for rule in form for name in rule["resources"]]


ALL = ["cronjobs", "daemonsets", "deployments", "replicasets", "statefulsets", "jobs"]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, ALL),
        ({"podControllers": {}}, ALL),
        ({"podControllers": {"controllers": []}}, []),
        ({"podControllers": {"controllers": ["deployments"]}}, ["deployments"]),
        ({"podControllers": {"controllers": ["jobs", "cronjobs"]}}, ["cronjobs", "jobs"]),
        ({"podControllers": {"controllers": ["Deployment", "*"]}}, []),
    ],
)
def test_autogen_controllers(asked: Body, found: list[str]) -> None:
    assert controllers(autogen=asked) == found


@pytest.mark.parametrize(
    "constraints",
    [
        {"resourceRules": [about("pods", "deployments", apiGroups=[""])]},
        {"resourceRules": [about("pods", apiGroups=[""]), about("pods", apiGroups=[""])]},
        {"resourceRules": [about("pods", apiGroups=["*"])]},
        {"resourceRules": [about("pods", apiGroups=[""], apiVersions=["*"])]},
        {"resourceRules": [about("pods", apiGroups=[""], resourceNames=["x"])]},
        {**PODS, "excludeResourceRules": [about()]},
        {**PODS, "objectSelector": {"matchLabels": {"a": "b"}}},
    ],
)
def test_only_policies_about_all_pods(constraints: Body) -> None:
    assert controllers(matchConstraints=constraints) == []


def test_an_empty_selector_and_namespaces_are_kept() -> None:
    selector = {"matchLabels": {"a": "b"}}
    constraints = {**PODS, "objectSelector": {}, "namespaceSelector": selector}
    form = extended(read_cel_policy(policy(matchConstraints=constraints, validations=[])))[0]
    assert form.spec["matchConstraints"]["namespaceSelector"] == selector


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("object.spec.x", "object.spec.template.spec.x"),
        ("oldObject.metadata.name", "oldObject.spec.template.metadata.name"),
        ("object.metadata.namespace", "object.metadata.namespace"),
        ("object.metadata.namespace.size()", "object.metadata.namespace.size()"),
        ("object.metadata.namespaced", "object.spec.template.metadata.namespaced"),
        ("myobject.specs", "myobject.spec.template.specs"),
        ("object['spec']", "object['spec']"),
        ("object.metadata.?namespace", "object.spec.template.metadata.?namespace"),
        ("'in a text object.spec'", "'in a text object.spec.template.spec'"),
    ],
)
def test_autogen_texts(text: str, expected: str) -> None:
    assert rewriter(TEMPLATE)(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Object{spec: Object.spec{a: object.spec.b}}",
            "Object{spec: Object.spec{template: Object.spec.template{"
            "spec: Object.spec.template.spec{a: object.spec.template.spec.b}}}}",
        ),
        (
            " Object {metadata: x}.y",
            "Object{spec: Object.spec{template: Object.spec.template{metadata: x}}}.y",
        ),
        ("has(object.spec.a) ? Object{} : x", "has(object.spec.template.spec.a) ? Object{} : x"),
        ("Object{}", "Object{}"),
        ("Object{a: '}'}", "Object{spec: Object.spec{template: Object.spec.template{a: '}}}'}"),
        ("object.metadata.name", "object.metadata.name"),
        ("object.metadata.labels.a", "object.spec.template.metadata.labels.a"),
    ],
)
def test_autogen_mutations(text: str, expected: str) -> None:
    assert mutation_rewritten(text, TEMPLATE) == expected


def test_mutations_of_cron_jobs() -> None:
    assert mutation_rewritten("Object{a: 1}", CRON_TEMPLATE) == (
        "Object{spec: Object.spec{jobTemplate: Object.spec.jobTemplate{"
        "spec: Object.spec.jobTemplate.spec{template: Object.spec.jobTemplate.spec.template{"
        "a: 1}}}}}"
    )
