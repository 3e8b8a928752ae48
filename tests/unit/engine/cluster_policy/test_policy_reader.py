from contextlib import suppress
from typing import Any

import pytest

from chartkit.engine.cluster_policy.policy import RuleKind, Subject, read_policy
from chartkit.engine.kubernetes.definitions import SCHEMA_RULE
from chartkit.engine.kubernetes.selectors import LabelSelector, Requirement
from chartkit.errors import CompileError
from chartkit.model import Body, Resource, RuleType
from tests.errors import error_of
from tests.unit.engine.policies import policy, policy_resource, rule


def test_policy_reader_defaults() -> None:
    read = policy()
    assert (read.name, read.key, read.namespace) == ("p", "p", "")
    assert (read.failure_action, read.apply_one) == ("Audit", False)
    assert read.background
    assert read.admission
    assert read.rules[0].validate.allow_existing_violations
    assert read.rules[0].skip_background_requests


def test_a_namespaced_policy() -> None:
    body = {**policy_resource().body, "kind": "Policy"}
    assert read_policy(Resource(body)).key == "default/p"
    body["metadata"] = {"name": "p", "namespace": "prod"}
    assert read_policy(Resource(body)).key == "prod/p"


def test_policy_reader_filters() -> None:
    resources = {
        "kinds": ["Pod"],
        "selector": {
            "matchLabels": {"a": "b"},
            "matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}],
        },
    }
    block = {"any": [{"resources": resources, "subjects": [{"kind": "User", "name": "u"}]}]}
    one = policy(rule(match=block)).rules[0].match.any[0]
    assert one.kinds == ("Pod",)
    assert one.selector == LabelSelector({"a": "b"}, (Requirement("k", "In", ("v",)),))
    assert one.subjects == (Subject("User", "u"),)
    assert one.has_user


@pytest.mark.parametrize(
    ("parts", "kind", "type_"),
    [
        ({"validate": {"pattern": {}}}, RuleKind.VALIDATE, RuleType.VALIDATION),
        ({"validate": {"podSecurity": {"level": "baseline"}}}, RuleKind.POD_SECURITY, None),
        ({"validate": {"cel": {"expressions": []}}}, RuleKind.CEL, None),
        ({"validate": {"manifests": {"attestors": [{}]}}}, RuleKind.MANIFESTS, None),
        ({"validate": {"manifests": {"attestors": []}}}, RuleKind.VALIDATE, None),
        ({"validate": {"assert": {"a": 1}}}, RuleKind.VALIDATE, None),
        ({"mutate": {"patchStrategicMerge": {}}}, RuleKind.MUTATE, RuleType.MUTATION),
        ({"mutate": {"targets": [{"kind": "x"}]}}, RuleKind.MUTATE_EXISTING, RuleType.MUTATION),
        ({"generate": {"kind": "x"}}, RuleKind.GENERATE, RuleType.GENERATION),
        ({"verifyImages": [{"image": "x"}]}, RuleKind.VERIFY_IMAGES, RuleType.IMAGE_VERIFY),
    ],
)
def test_kinds_of_rules(parts: Body, kind: RuleKind, type_: RuleType | None) -> None:
    body = rule(**parts)
    if "validate" not in parts:
        del body["validate"]
    read = policy(body).rules[0]
    assert read.kind is kind
    assert read.kind.type is (type_ or RuleType.VALIDATION)


@pytest.mark.parametrize(
    ("resource", "text"),
    [
        (
            policy_resource(rule(validate={"bogus": 1})),
            "spec.rules[0].validate.bogus: value provided for unknown field",
        ),
        (
            policy_resource(validationFailureAction="Force"),
            'spec.validationFailureAction: Unsupported value: "Force"',
        ),
        (policy_resource(rule("n" * 64)), "spec.rules[0].name: Too long"),
        (
            policy_resource(rule(validate={"failureAction": "enforce"})),
            'spec.rules[0].validate.failureAction: Unsupported value: "enforce"',
        ),
        (
            policy_resource(rule(match={"any": [{}], "all": [{}]})),
            "spec.rules[0].match: any and all may not stand together",
        ),
        (
            policy_resource(rule(match={"any": [{"resources": {"operations": ["create"]}}]})),
            "spec.rules[0].match.any[0].resources.operations[0]: Unsupported value",
        ),
        (policy_resource(rule(preconditions="x")), "spec.rules[0].preconditions: "),
        (
            policy_resource(rule(context=[{"name": "a"}])),
            "spec.rules[0].context[0]: must have exactly one of configMap",
        ),
        (Resource({"kind": "ClusterPolicy", "spec": {}}), "metadata: Required value"),
        (Resource({"metadata": {}, "spec": []}), 'spec: must be of type object: "array"'),
        (Resource({"metadata": {}, "spec": {"rules": [1]}}), "spec.rules[0]: must be of type"),
    ],
)
def test_policy_reader_what_the_definition_does_not_take(resource: Resource, text: str) -> None:
    error = error_of(CompileError, read_policy, resource)
    assert error.message.startswith(text)
    assert {one.rule_id for one in error.diagnostics} == {SCHEMA_RULE}


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [("kyverno.io/v2", "ClusterPolicy"), ("kyverno.io/v1", "CleanupPolicy"), (None, "Policy")],
)
def test_what_is_not_served(api_version: str | None, kind: str) -> None:
    body = {**policy_resource().body, "apiVersion": api_version, "kind": kind}
    assert "does not serve it" in error_of(CompileError, read_policy, Resource(body)).message


def test_the_place_is_a_pointer_into_the_document() -> None:
    error = error_of(CompileError, read_policy, policy_resource(rule(context=1)))
    location = error.location
    assert location is not None
    assert (location.file, location.line, location.path) == (
        "policy.yaml",
        3,
        "/spec/rules/0/context",
    )


@pytest.mark.parametrize("value", [None, 1, "x", [], {}, [None], {"any": None}])
@pytest.mark.parametrize("field", ["match", "exclude", "context", "preconditions", "validate"])
def test_no_wrong_shape_escapes(field: str, value: Any) -> None:
    with suppress(CompileError):
        policy(rule(**{field: value}))
