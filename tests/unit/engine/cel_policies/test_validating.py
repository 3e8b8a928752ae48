"""ValidatingPolicy: which validation decides, and what is said of it."""

from typing import Any

import pytest

from chartkit.engine.request import Operation
from chartkit.model import Body, Resource
from tests.unit.engine.cel_policies.policies import (
    conditions,
    deployment,
    pod,
    policy,
    results,
    said,
    validating,
    variables,
)

FAILED = "CEL expression validation failed at index 0"


@pytest.mark.parametrize(
    ("validation", "status", "message"),
    [
        ({"expression": "true"}, "pass", "success"),
        ({"expression": "false"}, "fail", FAILED),
        ({"expression": "false", "message": "m"}, "fail", "m"),
        ({"expression": "false", "message": " "}, "fail", " "),
        ({"expression": "false", "message": "m", "messageExpression": "'e'"}, "fail", "e"),
        ({"expression": "false", "message": "m", "messageExpression": "''"}, "fail", FAILED),
        (
            {"expression": "false", "messageExpression": "string(object.nope)"},
            "fail",
            "failed to evaluate message expression: no such key: nope",
        ),
        ({"expression": "object.nope == 1"}, "error", "error: no such key: nope"),
        ({"expression": "oldObject.size() == 0"}, "pass", "success"),
        ({"expression": "namespaceObject == null"}, "pass", "success"),
        ({"expression": "size(exceptions.allowedImages) == 0"}, "pass", "success"),
    ],
)
def test_validating_one_validation(validation: Body, status: str, message: str) -> None:
    assert said(validating(validations=[validation])) == (status, message)


def test_the_first_that_does_not_hold_decides() -> None:
    (result,) = results(validating("true", "false", "object.nope == 1"))
    assert result.properties == {"cel.validationIndex": "1"}


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"failurePolicy": "Fail"}, "error"),
        ({"failurePolicy": "Ignore"}, "skip"),
        ({}, "error"),
    ],
)
def test_a_condition_that_fails(given: dict[str, Any], status: str) -> None:
    conditional = validating("true", matchConditions=conditions("object.nope == 1"), **given)
    assert said(conditional)[0] == status


def test_a_false_condition_outweighs_one_that_fails() -> None:
    conditional = validating("false", matchConditions=conditions("object.nope == 1", "false"))
    assert said(conditional) == ("skip", "skip")


def test_variables_are_computed_when_asked_for() -> None:
    named = variables(
        broken="object.nope", name="object.metadata.name", both="variables.name + '!'"
    )
    assert said(validating("variables.both == 'web!'", variables=named))[0] == "pass"
    assert said(validating("variables.broken == 1", variables=named)) == (
        "error",
        "error: no such key: nope",
    )


def test_audit_annotations_become_properties() -> None:
    made = [
        {"key": "name", "valueExpression": "object.metadata.name + ''"},
        {"key": "empty", "valueExpression": "''"},
    ]
    (passed,) = results(validating("true", auditAnnotations=made))
    (failed,) = results(validating("false", auditAnnotations=made))
    assert passed.properties == {"name": "web"}
    assert failed.properties == {"name": "web", "cel.validationIndex": "0"}


@pytest.mark.parametrize(
    ("expression", "status", "message"),
    [
        (
            "true",
            "error",
            "failed to load context: failed to evaluate auditAnnotation 'k': no such key: nope",
        ),
        ("false", "error", "error: failed to evaluate auditAnnotation 'k': no such key: nope"),
    ],
)
def test_an_audit_annotation_that_fails(expression: str, status: str, message: str) -> None:
    made = [{"key": "k", "valueExpression": "object.nope + ''"}]
    assert said(validating(expression, auditAnnotations=made)) == (status, message)


def test_what_is_deleted_is_the_old_object() -> None:
    gone = validating("object.size() == 0 && oldObject.metadata.name == 'web'")
    assert said(gone, operation=Operation.DELETE)[0] == "pass"


def test_pod_controllers_too() -> None:
    found = policy(validations=[{"expression": "object.spec.containers.size() == 1"}])
    assert said(found, deployment())[0] == "pass"


def test_a_failure_that_is_not_scored_warns() -> None:
    unscored = validating(
        "false", metadata={"annotations": {"policies.kyverno.io/scored": "false"}}
    )
    assert said(unscored)[0] == "warn"


@pytest.mark.parametrize(
    ("expression", "status"),
    [
        ("object.a == 1 && type(object.a) == double", "pass"),
        ("oldObject == null && request == null && namespaceObject == null", "pass"),
        ("request.operation == 'CREATE'", "error"),
    ],
)
def test_payloads_that_are_no_requests(expression: str, status: str) -> None:
    judged = validating(expression, evaluation={"mode": "JSON"}, matchConstraints=None)
    assert said(judged, Resource({"a": 1}), is_json=True)[0] == status


@pytest.mark.parametrize("operation", ["CREATE", "UPDATE", "DELETE"])
def test_objects_are_payloads_whatever_is_done_with_them(operation: str) -> None:
    text = "object.spec.a == 3 && oldObject == null && request == null && namespaceObject == null"
    judged = validating(text, evaluation={"mode": "JSON"}, matchConstraints=None)
    given = {"operation": Operation(operation), "namespace_labels": {"a": "b"}}
    assert said(judged, pod(spec={"a": 3}), **given) == ("pass", "success")


def test_payloads_have_no_audit_annotations() -> None:
    made = [{"key": "k", "valueExpression": "there_is_no_such_function()"}]
    judged = validating(
        "true", evaluation={"mode": "JSON"}, matchConstraints=None, auditAnnotations=made
    )
    (result,) = results(judged, Resource({"a": 1}), is_json=True)
    assert result.properties == {}


@pytest.mark.parametrize(
    "given",
    [
        {"namespace_labels": {"a": "b"}},
        {"namespace": {"metadata": {"name": "default", "labels": {"a": "b"}}, "status": None}},
    ],
)
def test_a_namespace_has_a_specification_and_a_status(given: Body) -> None:
    has = "namespaceObject.metadata.labels.a == 'b' && has(namespaceObject.spec)"
    has += " && has(namespaceObject.status) && !has(namespaceObject.status.phase)"
    assert said(validating(has), **given) == ("pass", "success")


def test_a_policy_of_a_namespace_speaks_of_what_is_in_it() -> None:
    own = policy(
        "NamespacedValidatingPolicy",
        metadata={"namespace": "team"},
        validations=[{"expression": "true"}],
    )
    assert not results(own)
    (result,) = results(own, pod(namespace="team"))
    assert result.policy == "team/p"
