"""What Kyverno's webhook refuses of policies that its engine evaluates."""

from typing import Any

import pytest

from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.kubernetes.kinds import CustomNames, scope_of
from chartkit.model import Body, Resource, Severity
from tests.data import from_table
from tests.unit.engine.policies import policy_resource, rule

NAMES = CustomNames({("example.com", "Goose"): False, ("example.com", "Duck"): True})
REFUSED = "Forbidden: Cluster wide resource '{}' not allowed in namespaced policy"


def _said(body: Body, kind: str = "Policy", **spec: Any) -> list[str]:
    resource = policy_resource(body, **spec)
    metadata = {"name": "p", **({"namespace": "shop"} if kind == "Policy" else {})}
    resource = Resource({**resource.body, "kind": kind, "metadata": metadata}, resource.location)
    compiled = compile_policy(resource, (), scope_of(NAMES))
    found = [each for each in compiled.warnings() if each.rule_id == "policy"]
    assert all(each.severity is Severity.WARNING and each.hint for each in found)
    return [each.message for each in found]


def _validating(kind: str, block: str = "match", **more: Any) -> Body:
    name = {"name": "x"} if block == "exclude" else {}
    own = {"any": [{"resources": {"kinds": ["Secret"]}}, {"resources": {"kinds": [kind], **name}}]}
    return {**rule(**more), block: own}


@from_table("kind", "is_refused")
@pytest.mark.parametrize("block", ["match", "exclude"])
def test_a_namespaced_policy_on_cluster_scoped_kinds(
    kind: str, is_refused: bool, block: str
) -> None:
    found = _said(_validating(kind, block))
    assert len(found) == is_refused
    if is_refused:
        assert found[0].endswith(f"spec.rules[0].{block}.any[1].kinds[0]: {REFUSED.format(kind)}")
    assert not _said(_validating(kind, block), "ClusterPolicy")


@from_table("kind", "background", "is_refused")
def test_background_scans_of_subresources(kind: str, background: bool, is_refused: bool) -> None:
    found = _said(_validating(kind), "ClusterPolicy", background=background)
    text = (
        f"path: spec.rules[0].match.any[1].kinds: background scan enabled with subresource {kind}"
    )
    assert [each.partition(": ")[2] for each in found] == ([text] if is_refused else [])


@from_table("kind", "is_refused")
def test_kinds_of_subresources_alone_are_in_no_discovery(kind: str, is_refused: bool) -> None:
    found = _said(_validating(kind), "ClusterPolicy", background=False)
    text = f"path: spec.rules[0].match.any[1].kinds: unable to convert GVK to GVR for kinds {kind}"
    assert [each.partition(": ")[2] for each in found] == ([text] if is_refused else [])


def test_rules_that_validate_nothing_may_match_subresources() -> None:
    own = {"any": [{"resources": {"kinds": ["Pod/status"]}}]}
    body = rule(match=own, mutate={"patchStrategicMerge": {"metadata": {"labels": {"a": "b"}}}})
    del body["validate"]
    assert not _said(body, "ClusterPolicy")


@pytest.mark.parametrize(
    ("expression", "is_refused"), [("request.userInfo.(", True), ("1", True), ("true", False)]
)
def test_match_conditions_that_do_not_compile(expression: str, is_refused: bool) -> None:
    webhook = {"matchConditions": [{"name": "a", "expression": expression}]}
    found = _said(_validating("Pod"), "ClusterPolicy", webhookConfiguration=webhook)
    assert len(found) == is_refused
    assert all("match conditions compilation errors: [" in each for each in found)
