"""Each of Kyverno's refusals, in its own words, and a sound neighbour that it takes."""

from dataclasses import replace
from typing import Any

import pytest

from chartkit.engine.cluster_policy.policy import read_policy
from chartkit.engine.cluster_policy.policy_check import check_policy, policy_fault
from chartkit.engine.kubernetes.definitions import POLICY_RULE
from chartkit.errors import CompileError
from chartkit.model import Body, Resource
from tests.data import from_table
from tests.unit.engine.policies import policy, policy_resource, rule


def _rule(**parts: Any) -> Body:
    return {key: value for key, value in rule(**parts).items() if value is not None}


def _fault(body: Body, **spec: object) -> str:
    """The fault of a policy with a rule; empty for none."""
    return policy_fault(policy(body, **spec)) or ""


def test_a_sound_policy() -> None:
    assert policy_fault(policy()) is None


def test_a_refused_policy_is_a_compile_error() -> None:
    with pytest.raises(CompileError) as caught:
        check_policy(policy(rule(), rule()))
    assert caught.value.diagnostics[0].rule_id == POLICY_RULE
    assert caught.value.location is not None
    assert caught.value.location.file == "policy.yaml"


@from_table("body", "text")
def test_refusals_of_a_rule(body: Body, text: str) -> None:
    assert _fault(_rule(**body)) == text


@from_table("body", "text")
def test_outside_background_mode(body: Body, text: str) -> None:
    assert _fault(_rule(**body), background=False) == text


@from_table("body", "text")
def test_refusals_of_the_api_types(body: Body, text: str) -> None:
    fault = _fault(_rule(**body))
    assert text in fault
    assert bool(text) is bool(fault)


@from_table("block", "text")
def test_policy_check_users(block: Body, text: str) -> None:
    match = {"any": [{"resources": {"kinds": ["Pod"]}, **block}]}
    assert _fault(_rule(match=match), background=False) == f"spec.rules[0].match.any[0].{text}"


def test_rule_names_are_unique() -> None:
    fault = policy_fault(policy(rule("a"), rule("a"))) or ""
    assert fault.startswith("spec.rules[1].name: Invalid value: {")
    assert fault.endswith("Duplicate rule name: 'a'")


def test_autogen_for_all_is_gone() -> None:
    body = policy_resource().body
    annotations = {"pod-policies.kyverno.io/autogen-controllers": "all"}
    given = Resource({**body, "metadata": {"name": "p", "annotations": annotations}})
    fault = policy_fault(read_policy(given)) or ""
    assert fault.startswith("metadata.annotations: Forbidden: Autogen annotation does not support")


def test_a_namespaced_policy_names_no_namespaces() -> None:
    match = {"any": [{"resources": {"kinds": ["Pod"], "namespaces": ["a"]}}]}
    body = {**policy_resource(rule(match=match)).body, "kind": "Policy"}
    assert policy_fault(read_policy(Resource(body))) == (
        "spec.rules[0].match.any[0].namespaces: Forbidden: Filtering namespaces not allowed in "
        "namespaced policies"
    )


@from_table("spec", "text")
def test_settings_of_the_policy(spec: Body, text: str) -> None:
    assert _fault(_rule(), **spec) == text


def _override(action: str, *namespaces: str) -> Body:
    return {"action": action, "namespaces": list(namespaces)}


@pytest.mark.parametrize(
    ("overrides", "text"),
    [
        ([_override("Audit", "a"), _override("Enforce", "b", "c*")], ""),
        (
            [_override("Audit", "a"), _override("Enforce", "a")],
            "conflicting namespaces found in path: "
            "spec.validationFailureActionOverrides[1].namespaces: a",
        ),
        (
            [_override("Enforce", "abc"), _override("Audit", "a*")],
            "path: spec.validationFailureActionOverrides[1].namespaces: wildcard pattern 'a*' "
            "matches with namespace 'abc'",
        ),
        (
            [_override("Enforce", "a*"), _override("Audit", "ab*")],
            "path: spec.validationFailureActionOverrides[1].namespaces: wildcard pattern 'a*' "
            "conflicts with the pattern 'ab*'",
        ),
        ([{"namespaces": ["a"]}], "invalid action"),
    ],
)
def test_policy_check_overrides(overrides: list[Body], text: str) -> None:
    assert _fault(_rule(), validationFailureActionOverrides=overrides) == text


@from_table("mutate", "text")
def test_policy_check_mutations(mutate: Body, text: str) -> None:
    assert _fault(_rule(validate=None, mutate=mutate)) == text


def test_entries_of_the_context_add_names() -> None:
    context = [{"name": "a", "variable": {"value": 1}}]
    assert not _fault(_rule(context=context, validate={"pattern": {}, "message": "{{ a.b }}"}))
    config = [{"name": "a", "configMap": {"name": "n", "namespace": "x"}}]
    message = {"pattern": {}, "message": "{{ a.data.b }}"}
    assert not _fault(_rule(context=config, validate=message))
    message = {"pattern": {}, "message": "{{ a.b }}"}
    fault = _fault(_rule(context=config, validate=message))
    assert fault.endswith("or patterns [a.data a.metadata a.data.* a.metadata.*]")


@from_table("preconditions", "shown")
def test_rules_are_shown_with_preconditions_as_kyverno_reads_them(
    preconditions: Body, shown: str
) -> None:
    fault = _fault(_rule(validate=None, preconditions=preconditions))
    assert f'"preconditions":{{"all":[{shown}]}},"skip' in fault


def test_a_flat_list_of_preconditions_is_shown_as_one() -> None:
    fault = _fault(
        _rule(validate=None, preconditions=[{"key": "k", "operator": "In", "value": []}])
    )
    assert '"preconditions":[{"key":"k","operator":"In","value":[]}],"skip' in fault


@from_table("generate", "shown")
def test_rules_are_shown_with_what_they_generate(generate: Body, shown: str) -> None:
    fault = _fault(_rule(validate=None if not generate else {"deny": {}}, generate=generate))
    assert f'"generate":{shown},"skip' in fault


@from_table("parts", "shown")
def test_rules_are_shown_with_the_defaults_of_their_definition(parts: Body, shown: str) -> None:
    exclude = {"any": [{"resources": {"kinds": ["Pod"]}}]}
    fault = _fault(_rule(**{"validate": None, **parts}, exclude=exclude), background=False)
    assert shown in fault


def test_v2beta1_knows_no_existing_violations() -> None:
    resource = policy(_rule(exclude={"any": [{"resources": {"kinds": ["Pod"]}}]}))
    old = replace(
        resource, resource=Resource({**resource.resource.body, "apiVersion": "kyverno.io/v2beta1"})
    )
    for one, there in ((resource, True), (old, False)):
        assert ("allowExistingViolations" in (policy_fault(one) or "")) is there


@from_table("exclude", "is_empty")
def test_an_empty_list_excludes_everything(exclude: Body, is_empty: bool) -> None:
    fault = _fault(_rule(exclude=exclude))
    assert fault.endswith("Rule is matching an empty set") is is_empty
