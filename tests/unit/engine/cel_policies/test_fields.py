"""The fields that failures of CEL policies are about."""

from typing import Any

import pytest

from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.policies import evaluate
from chartkit.engine.request import Operation, Request
from chartkit.model import Body, Resource, RuleResult
from tests.data import from_table
from tests.objects import api_object
from tests.unit.engine.cel_policies.policies import (
    PODS,
    about,
    conditions,
    deployment,
    pod,
    policy,
    results,
    validating,
    variables,
)
from tests.unit.engine.cel_policies.signed_images import Signers, world

PRIVILEGED = {"name": "b", "image": "b", "securityContext": {"privileged": True}}
TWO: Body = {"containers": [{"name": "a", "image": "a"}, PRIVILEGED]}
NONE_PRIVILEGED = "variables.all.all(c, !c.?securityContext.?privileged.orValue(false))"
ALL = "object.spec.containers + object.spec.?initContainers.orValue([])"


def only(found: list[RuleResult]) -> RuleResult:
    (result,) = found
    return result


@pytest.mark.parametrize(
    "kind", ["ValidatingPolicy", "NamespacedValidatingPolicy", "ValidatingAdmissionPolicy"]
)
def test_a_failure_has_the_fields_that_its_variables_read(kind: str) -> None:
    resource = policy(
        kind,
        metadata={"namespace": "default"} if kind.startswith("N") else None,
        variables=variables(all=ALL),
        validations=[{"expression": "true"}, {"expression": NONE_PRIVILEGED}],
        autogen={"podControllers": {"controllers": []}} if "Admission" not in kind else None,
    )
    result = only(results(resource, pod(spec=TWO)))
    assert result.status.value == "fail"
    assert result.fields == ("/spec/containers/1/securityContext/privileged",)


def test_a_form_for_pod_controllers_has_the_fields_of_the_controller() -> None:
    expression = "object.spec.containers.all(c, has(c.securityContext))"
    resource = policy(validations=[{"expression": expression}])
    failed = [each for each in results(resource, deployment()) if each.status.value == "fail"]
    assert only(failed).fields == ("/spec/template/spec/containers/0/securityContext",)


def test_an_error_has_the_field_that_is_missing() -> None:
    result = only(results(validating("object.spec.nodeName == 'x'")))
    assert (result.status.value, result.fields) == ("error", ("/spec/nodeName",))


def test_an_error_of_an_annotation_is_about_no_field() -> None:
    made = [{"key": "k", "valueExpression": "string(object.spec.nodeName)"}]
    resource = validating("has(object.spec.hostPID)", auditAnnotations=made)
    result = only(results(resource))
    assert (result.status.value, result.fields) == ("error", ())


def test_results_that_are_no_failures_have_no_fields() -> None:
    assert only(results(validating("has(object.spec.containers)"))).fields == ()


@from_table("expression", "expected")
def test_fields_of_a_request_are_those_of_its_object(expression: str, expected: list[str]) -> None:
    assert list(only(results(validating(expression))).fields) == expected


@from_table("expression", "expected")
def test_fields_only_read_are_not_named(expression: str, expected: list[str]) -> None:
    spec: Body = {"volumes": [{"nfs": {}}], "containers": []}
    found = only(results(validating(expression), pod(spec=spec)))
    assert list(found.fields) == expected


def test_the_object_of_a_deletion_is_the_old_one() -> None:
    resource = validating("oldObject.metadata.?labels.?keep.orValue('') != 'yes'")
    found = results(resource, pod(labels={"keep": "yes"}), operation=Operation.DELETE)
    assert only(found).fields == ("/metadata/labels/keep",)


def test_fields_of_another_old_object_are_not_reported() -> None:
    resource = validating("object.spec.nodeName == oldObject.spec.nodeName")
    old = pod(spec={"containers": [], "nodeName": "a"})
    subject = pod(spec={"containers": [], "nodeName": "b"})
    found = results(resource, subject, operation=Operation.UPDATE, old=old)
    assert only(found).fields == ("/spec/nodeName",)


def test_a_json_payload_has_fields() -> None:
    resource = policy(
        evaluation={"mode": "JSON"},
        matchConstraints=None,
        validations=[{"expression": "object.foo.bar == 1"}],
    )
    payload = Resource({"foo": {"bar": 2}})
    assert only(results(resource, payload)).fields == ("/foo/bar",)


def test_a_rule_with_cel_has_fields() -> None:
    cel: Body = {
        "variables": [{"name": "all", "expression": ALL}],
        "expressions": [{"expression": NONE_PRIVILEGED}],
    }
    rule = {
        "name": "r",
        "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
        "validate": {"cel": cel},
    }
    body = api_object("kyverno.io/v1", "ClusterPolicy", "p", spec={"rules": [rule]})
    result = only(evaluate([compile_policy(Resource(body))], Request(pod(spec=TWO))))
    assert result.fields == ("/spec/containers/1/securityContext/privileged",)


def test_parameters_have_no_fields() -> None:
    resource: Any = policy(
        "ValidatingAdmissionPolicy",
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        validations=[{"expression": "object.spec.containers.all(c, c.image == params.data.x)"}],
        matchConstraints=PODS,
    )
    result = only(results(resource))
    assert (result.status.value, result.fields) == ("error", ())


def test_a_policy_that_refuses_all_it_matches_is_about_the_fields_by_which_it_matches() -> None:
    constraints = {
        "resourceRules": [about("pods", apiGroups=[""], resourceNames=["web"])],
        "objectSelector": {"matchLabels": {"app": "x"}},
    }
    resource = validating(
        "1 == 2",
        matchConstraints=constraints,
        matchConditions=conditions("has(object.spec.containers)", "request.operation == 'CREATE'"),
    )
    result = only(results(resource, pod(labels={"app": "x"})))
    expected = (
        "/spec/containers",
        "/metadata/labels/app",
        "/metadata/name",
        "/apiVersion",
        "/kind",
    )
    assert result.fields == expected


def test_a_policy_that_refuses_everything_is_about_no_field() -> None:
    everything = {"resourceRules": [about("*", apiGroups=["*"], apiVersions=["*"])]}
    assert only(results(validating("false", matchConstraints=everything))).fields == ()


def test_what_the_cluster_decides_is_about_no_field() -> None:
    for expression in (
        "has(resource.Get('v1', 'pods', 'a', 'b').spec)",
        "time.now() < timestamp('2020-01-01T00:00:00Z')",
    ):
        assert only(results(validating(expression))).fields == ()


APP, OTHER = "ghcr.io/a/app:1", "ghcr.io/a/other:1"
SIGNERS = Signers({APP: ["ci"]})
SIGNED = "images.containers.all(image, verifyImageSignatures(image, [attestors.ci]) > 0)"


def about_images(*expressions: str, **settings: bool) -> Resource:
    wanted = {"verifyDigest": False, "required": False, "mutateDigest": False, **settings}
    return policy(
        "ImageValidatingPolicy",
        matchImageReferences=[{"glob": "ghcr.io/a/*"}],
        attestors=[{"name": "ci", "cosign": {"key": {"data": "-----BEGIN"}}}],
        validationConfigurations=wanted,
        validations=[{"expression": text} for text in expressions],
        autogen={"podControllers": {"controllers": ["deployments"]}},
    )


def of_image(resource: Resource, subject: Resource | None = None) -> tuple[str, tuple[str, ...]]:
    named = ("nginx:1", APP, OTHER)
    containers = [{"name": f"c{index}", "image": one} for index, one in enumerate(named)]
    found = results(resource, subject or pod(spec={"containers": containers}), world=world(SIGNERS))
    (answer,) = {(one.status.value, one.fields) for one in found if one.status.value != "pass"}
    return answer


def test_an_image_that_nobody_signed_is_named_and_asked_about_once() -> None:
    SIGNERS.attestors.clear()
    assert of_image(about_images(SIGNED)) == ("fail", ("/spec/containers/2/image",))
    assert len(SIGNERS.attestors) == 2


@from_table("settings", "expression", "expected")
def test_images_that_fail_have_their_fields(
    settings: dict[str, bool], expression: str, expected: list[Any] | None
) -> None:
    status, found = of_image(about_images(expression, **settings))
    if expected is None:
        assert status == "fail"
        assert set(found) <= {f"/spec/containers/{at}/image" for at in range(3)}
        assert found
    else:
        assert [status, list(found)] == expected


def test_an_image_that_a_registry_has_not_is_named() -> None:
    subject = pod(spec={"containers": [{"name": "c", "image": "ghcr.io/a/none:1"}]})
    expected = ("error", ("/spec/containers/0/image",))
    assert of_image(about_images("true"), subject) == expected
    assert of_image(about_images("true", mutateDigest=True), subject) == expected


def test_images_of_a_template_have_fields_of_the_controller() -> None:
    subject = deployment()
    subject.body["spec"]["template"]["spec"]["containers"][0]["image"] = OTHER
    expected = ("fail", ("/spec/template/spec/containers/0/image",))
    assert of_image(about_images(SIGNED), subject) == expected
