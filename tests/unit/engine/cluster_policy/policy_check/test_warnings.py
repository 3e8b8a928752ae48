"""What Kyverno takes but warns of, and what it takes in silence."""

from typing import Any

import pytest

from chartkit.engine.cluster_policy.policy_check.warnings import deprecation, policy_warnings
from chartkit.model import Body, Resource, Severity
from chartkit.scan.policies import compile_all
from tests.data import from_table
from tests.objects import api_object
from tests.unit.engine.policies import PLACE, policy, policy_resource, rule

ACTIONS = "Validation failure actions enforce/audit are deprecated, use Enforce/Audit instead."
OPERATOR = "Operator {0} has been deprecated and will be removed soon. Use these instead: {1}"


def _texts(*rules: Body, **spec: Any) -> list[str]:
    return [each.message.removeprefix("p: ") for each in policy_warnings(policy(*rules, **spec))]


def _deny(**body: Any) -> Body:
    return {"message": "m", "deny": {"conditions": body}}


def _condition(operator: str) -> Body:
    return {"key": "{{ request.object.kind }}", "operator": operator, "value": ["a"]}


@from_table("spec", "said")
def test_actions_in_small_letters(spec: Body, said: list[str]) -> None:
    assert _texts(**spec) == said


def test_actions_of_a_rule() -> None:
    validate = {**rule()["validate"], "failureAction": "Enforce"}
    assert _texts(rule(validate=validate)) == []
    overridden = {"action": "audit", "namespaces": ["a"]}
    assert _texts(rule(validate={**validate, "failureActionOverrides": [overridden]})) == [ACTIONS]


@pytest.mark.parametrize(
    ("operator", "instead"),
    [("In", '["AllIn" "AnyIn"]'), ("NotIn", '["AllNotIn" "AnyNotIn"]'), ("AnyIn", "")],
)
@pytest.mark.parametrize("place", ["any", "all", "list", "foreach", "foreach deny"])
def test_deprecated_operators(operator: str, instead: str, place: str) -> None:
    condition = _condition(operator)
    loop = {"list": "request.object.spec.containers", "pattern": {"name": "?*"}}
    validate = {
        "any": _deny(any=[condition]),
        "all": _deny(all=[condition, condition]),
        "list": {"message": "m", "deny": {"conditions": [condition]}},
        "foreach": {"message": "m", "foreach": [{**loop, "preconditions": {"all": [condition]}}]},
        "foreach deny": {
            "message": "m",
            "foreach": [{"list": loop["list"], "deny": {"conditions": {"any": [condition]}}}],
        },
    }[place]
    said = [OPERATOR.format(operator, instead)] if instead else []
    assert _texts(rule(validate=validate)) == said


def test_operators_of_preconditions_are_not_looked_at() -> None:
    assert _texts(rule(preconditions={"all": [_condition("In")]})) == []


@from_table("pattern", "kinds", "said")
def test_warnings_subresources(pattern: Body, kinds: list[str], said: str) -> None:
    body = rule(kinds=tuple(kinds), validate={"message": "m", "pattern": pattern})
    found = policy_warnings(policy(body))
    assert [said in each.message for each in found] == ([True] if said else [])
    assert all(each.severity is Severity.NOTE for each in found)


def test_json_patches_of_pods() -> None:
    body = rule(
        match={"resources": {"kinds": ["Pod"]}},
        mutate={"patchesJson6902": "- {op: remove, path: /spec/hostname}"},
    )
    del body["validate"]
    (text,) = _texts(body)
    assert text.startswith("Pods managed by workload controllers should not be directly mutated")
    assert _texts({**body, "match": {"any": [{"resources": {"kinds": ["Pod"]}}]}}) == []


@from_table("named", "is_said")
def test_pods_of_controllers_that_are_left_out(named: str, is_said: bool) -> None:
    resource = policy_resource()
    annotations = {"pod-policies.kyverno.io/autogen-controllers": named}
    resource.body["metadata"]["annotations"] = annotations
    found = compile_all([resource]).warnings
    assert ["Policies that match Pods" in each.message for each in found] == [True] * is_said


def test_predicate_types() -> None:
    image = {
        "imageReferences": ["*"],
        "mutateDigest": False,
        "attestations": [{"predicateType": "https://slsa.dev/x"}],
    }
    body = rule(verifyImages=[image])
    del body["validate"]
    instead = "use 'type: https://slsa.dev/x' instead of 'predicateType: https://slsa.dev/x'"
    assert _texts(body) == [f"predicateType has been deprecated {instead}"]


@pytest.mark.parametrize(("name", "is_said"), [("a", False), ("{{ request.object.x }}", True)])
def test_variables_in_clones(name: str, is_said: bool) -> None:
    target = {"apiVersion": "v1", "kind": "Secret", "name": "s", "namespace": "n"}
    body = rule(generate={**target, "clone": {"namespace": "b", "name": name}})
    del body["validate"]
    text = "variables in spec.rules[0].generate.clone/cloneList would lead to incorrect"
    assert [each.startswith(text) for each in _texts(body)] == [True] * is_said


@pytest.mark.parametrize("given", [True, False])
def test_schema_validation_has_no_effect(given: bool) -> None:
    (text,) = _texts(schemaValidation=given)
    assert text.startswith("spec.schemaValidation has no effect")


def test_a_policy_without_rules() -> None:
    resource = policy_resource()
    resource.body["spec"]["rules"] = []
    (found,) = compile_all([resource]).warnings
    assert "has no rules: it can never refuse" in found.message


@from_table("kind", "field")
def test_a_cel_policy_that_can_do_nothing(kind: str, field: str) -> None:
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}]
    spec: Body = {
        "matchConstraints": {"resourceRules": [{**rules[0], "resources": ["pods"]}]},
        "matchImageReferences": [{"glob": "*"}],
        "attestors": [{"name": "n", "notary": {"certs": {"value": "x"}}}],
        field: [],
    }
    if kind != "ImageValidatingPolicy":
        del spec["matchImageReferences"], spec["attestors"]
    body: Body = api_object("policies.kyverno.io/v1", kind, "p", spec=spec)
    found = compile_all([Resource(body, PLACE)])
    said = [each.message for each in (*found.warnings, *found.diagnostics)]
    assert any(f"has no {field}" in text or f"spec.{field}" in text for text in said), said


def test_a_namespace_that_an_api_server_clears() -> None:
    resource = policy_resource()
    resource.body["metadata"]["namespace"] = "other"
    found = compile_all([resource])
    (warned,) = found.warnings
    assert "A clusterpolicy should not have the namespace defined" in warned.message
    assert "API server clears it" in (warned.hint or "")
    assert [one.policy.key for one in found.policies] == ["p"]


def test_each_thing_is_said_once() -> None:
    rules = [rule(str(index), validate=_deny(any=[_condition("In")])) for index in range(3)]
    assert len(_texts(*rules, validationFailureAction="enforce")) == 2


def test_a_hint_where_kyvernos_own_is_wrong() -> None:
    found = compile_all([policy_resource(generateExistingOnPolicyUpdate=True)])
    (refused,) = found.diagnostics
    assert "use spec.generate[*].generateExisting instead" in refused.message
    assert "in a rule it is generate.generateExisting" in (refused.hint or "")


@from_table("api_version", "kind", "newer")
def test_deprecated_kinds(api_version: str, kind: str, newer: str) -> None:
    text = deprecation(Resource({"apiVersion": api_version, "kind": kind}))
    assert newer in text
    assert bool(text) is bool(newer)
