"""Proofs of policies that look up objects in the cluster."""

import pytest

from chartkit.addons.migrate.proof import Proof, ProofOptions, Result, prove
from tests.addons.migrate.proof.policies import legacy, policy
from tests.data import beside

_TEXTS = beside(__file__)

_OPTIONS = ProofOptions(budget=30, most_requests=700)
_OLD = _TEXTS["old"]
_NEW = _TEXTS["new"]


def _proof(operator: str) -> Proof:
    new = policy(_NEW.replace("OPERATOR", operator))
    return prove(legacy(_OLD, "[Service]"), [new], options=_OPTIONS)


@pytest.mark.slow
def test_objects_that_both_forms_look_up_exist() -> None:
    proof = _proof("==")
    decided = {one.name: one for one in proof.coverage.places}["rule only"]
    assert {"pass", "fail"} <= set(decided.states)


@pytest.mark.slow
def test_what_is_done_with_them_is_compared() -> None:
    wanted = {Result.PASS, Result.FAIL}
    found = [
        each for each in _proof("!=").differences if {each.legacy.result, each.new.result} == wanted
    ]
    configmaps = found[0].case.document["cluster"]["v1/configmaps"]
    assert [one["metadata"]["name"] for one in configmaps] == ["registries"]


def test_a_kind_without_objects_is_served() -> None:
    text = _NEW.replace("OPERATOR", "==").replace(
        'resource.Get("v1", "configmaps", "policies", "registries")',
        'resource.List("example.com/v1", "routes", "policies")',
    )
    text = text.replace(
        "variables.allowed.data.team", '(size(variables.allowed.items) > 9 ? "" : "")'
    )
    rule = """
      validate:
        message: "no"
        deny:
          conditions:
            all:
              - key: "{{ request.object.metadata.labels.team || '' }}"
                operator: NotEquals
                value: ""
"""
    found = prove(legacy(rule, "[Service]"), [policy(text)], options=_OPTIONS).differences
    assert {one.case.document["operation"] for one in found} == {"DELETE"}


def test_images_have_what_policies_ask_registries_for() -> None:
    rule = """
      context:
        - name: image
          imageRegistry:
            reference: ghcr.io/x/app:1.0
      validate:
        message: "no"
        deny:
          conditions:
            all:
              - key: "{{ image.configData.config.Volumes || '' }}"
                operator: Equals
                value: ""
"""
    text = _NEW.replace("OPERATOR", "==").replace("variables.allowed.data.team", '""')
    old, new = legacy(rule, "[Service]"), policy(text.replace("resource.Get", "image.GetMetadata"))
    new.body["spec"]["variables"][0]["expression"] = 'image.GetMetadata("ghcr.io/x/app:1.0")'
    new.body["spec"]["validations"][0]["expression"] = "variables.allowed.config != null"
    proof = prove(old, [new], options=_OPTIONS)
    found = [one for one in proof.differences if one.case.document["operation"] == "CREATE"]
    assert found
    for one in found:
        assert one.legacy.result is Result.FAIL
        assert "Volumes" not in one.case.document["image"]["config"]["config"]
    new.body["spec"]["validations"][0]["expression"] = (
        "variables.allowed.config.config.?Volumes.orValue({}).size() > 0"
    )
    proof = prove(old, [new], options=_OPTIONS)
    assert {one.case.document["operation"] for one in proof.differences} == {"DELETE"}
    assert proof.left_out.get("answers of registries and services", 0) == 0
    reached = {one.name: one.states for one in proof.coverage.places}
    assert {"empty", "one", "absent"} <= reached["image.config.config.Volumes"].keys()


@pytest.mark.slow
def test_lists_by_labels_have_an_object() -> None:
    rule = """
      context:
        - name: teams
          apiCall:
            urlPath: /api/v1/namespaces?labelSelector=kind%3Dteam
            jmesPath: items[].metadata.name
      validate:
        message: "no"
        deny:
          conditions:
            all:
              - {key: "{{ length(teams) }}", operator: GreaterThan, value: 0}
"""
    text = _NEW.replace("OPERATOR", "==").replace("variables.allowed.data.team", '""')
    old, new = legacy(rule, "[Service]"), policy(text)
    listed = 'resource.List("v1", "namespaces", "", {"kind": "team"})'
    new.body["spec"]["variables"][0]["expression"] = listed
    validation = new.body["spec"]["validations"][0]
    for expression, operations in (
        ("variables.allowed.items.size() == 0", {"DELETE"}),
        ("variables.allowed.items.size() < 2", {"CREATE", "DELETE"}),
    ):
        validation["expression"] = expression
        found = prove(old, [new], options=_OPTIONS).differences
        assert {one.case.document["operation"] for one in found} == operations


def test_answers_of_services_are_left_out() -> None:
    rule = """
      context:
        - name: answer
          apiCall:
            service: {url: "https://example.com"}
      validate:
        message: "no"
        deny:
          conditions:
            all:
              - {key: "{{ answer }}", operator: Equals, value: "no"}
"""
    text = _NEW.replace("OPERATOR", "==").replace("variables.allowed.data.team", '""')
    old, new = legacy(rule, "[Service]"), policy(text)
    new.body["spec"]["variables"][0]["expression"] = 'http.Get("https://example.com")'
    new.body["spec"]["validations"][0]["expression"] = 'string(variables.allowed) != "no"'
    proof = prove(old, [new], options=ProofOptions(budget=0.3))
    assert proof.left_out["answers of registries and services"] > 0
