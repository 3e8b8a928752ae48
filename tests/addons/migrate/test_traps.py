"""Traps of conversions by hand: each known fault of the new kinds, and each setting that gets lost.

The reference lists them under "Traps".
"""

import json
from pathlib import Path
from typing import Final

import pytest
import yaml

from chartkit.addons.migrate.convert import convert
from chartkit.addons.migrate.differences import EXISTING, PROPERTIES
from chartkit.addons.migrate.files.run import proof_options
from chartkit.addons.migrate.proof import prove
from chartkit.model import Body, Location, Resource
from tests.addons.migrate.conversions import converted, policy
from tests.data import from_table

_PAGE: Final = Path(__file__).parents[3] / "docs/reference/migrate-policies.md"
_LABEL: Final = "mutate: {patchStrategicMerge: {metadata: {labels: {+(team): shared}}}}"
_CLONE: Final = """
generate:
  apiVersion: v1
  kind: Secret
  name: pull
  namespace: "{{ request.object.metadata.name }}"
  synchronize: SYNCHRONIZE
  clone: {namespace: default, name: pull}
"""


def _legacy(rule: str, kind: str, spec: Body | None = None) -> Resource:
    body = policy(rule, kind)
    body["spec"].update(spec or {})
    return Resource(body, Location("policy.yaml"))


def test_metadata_of_pods_is_no_type_of_a_template() -> None:
    # kyverno/kyverno#17438: what Kyverno makes of Object.metadata for controllers names no type.
    found = converted(_LABEL, "Pod")
    extended = [each["spec"].get("autogen") for each in found.documents]
    assert extended[0] == {"podControllers": {"controllers": []}}
    texts = [json.dumps(each["spec"]["mutations"]) for each in found.documents]
    assert ["Object.metadata{" in each for each in texts] == [True, False, False]
    assert ["template.metadata{" in each for each in texts] == [False, True, True]
    forms = [Resource(each) for each in found.documents]
    proof = prove(found.legacy, forms, options=proof_options(convert(found.legacy), 1.0))
    assert proof.equal, proof.differences


@pytest.mark.parametrize("synchronize", ["true", "false"])
def test_what_synchronize_may_delete_is_told(synchronize: str) -> None:
    # kyverno/kyverno#17594 and #17452: what was generated is deleted without a reason.
    found = converted(_CLONE.replace("SYNCHRONIZE", synchronize), "Namespace")
    is_kept = synchronize == "true"
    evaluation = found.spec.get("evaluation") or {}
    assert ("synchronize" in evaluation) is is_kept
    told = " ".join(found.changes)
    for fault in ("#17594", "#17452", "orphanDownstreamOnPolicyDelete"):
        assert (fault in told) is is_kept


@pytest.mark.parametrize(("allowed", "is_known"), [("true", True), ("false", False)])
def test_updates_of_what_violated_before(allowed: str, is_known: bool) -> None:
    rule = f"""
    validate:
      message: m
      allowExistingViolations: {allowed}
      pattern: {{data: {{a: "?*"}}}}
    """
    legacy = _legacy(rule, "ConfigMap", {"validationFailureAction": "Enforce"})
    conversion = convert(legacy)
    forms = [Resource(each) for each in conversion.documents]
    proof = prove(legacy, forms, options=proof_options(conversion, 1.0))
    assert proof.equal, proof.differences
    assert (EXISTING.text in proof.named) is is_known


_PATTERN: Final = "validate: {message: m, pattern: {data: {a: '?*'}}}"
_IN_NAMESPACE: Final = "validationFailureActionOverrides"


@from_table("spec", "expected")
def test_settings_of_policies_are_kept(spec: Body, expected: Body) -> None:
    # The fields that kyverno/kyverno#16506 lists.
    (document,) = convert(_legacy(_PATTERN, "ConfigMap", {"background": True, **spec})).documents
    for key, value in expected.items():
        assert document["spec"][key] == value


def test_actions_of_namespaces_are_two_policies() -> None:
    overrides = [{"action": "Enforce", "namespaces": ["prod-*"]}]
    made = convert(_legacy(_PATTERN, "ConfigMap", {_IN_NAMESPACE: overrides})).documents
    found = {
        (each["spec"]["validationActions"][0], each["spec"]["matchConditions"][0]["expression"])
        for each in made
    }
    inside = "request.namespace.startsWith('prod-')"
    assert found == {("Audit", f"!{inside}"), ("Deny", inside)}


@pytest.mark.parametrize(("namespaces", "action"), [("prod-*", "Audit"), ("*", "Deny")])
def test_an_action_for_namespaces_of_what_is_in_none(namespaces: str, action: str) -> None:
    overrides = [{"action": "Enforce", "namespaces": [namespaces]}]
    rule = _PATTERN.replace("data: {a", "metadata: {name")
    (made,) = convert(_legacy(rule, "Namespace", {_IN_NAMESPACE: overrides})).documents
    assert made["spec"]["validationActions"] == [action]
    assert "matchConditions" not in made["spec"]


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("reportProperties: {owner: platform}", PROPERTIES),
        ("validate: {message: m, deny: {}}", "deletions are no longer judged"),
    ],
)
def test_what_is_left_out_is_told(rule: str, told: str) -> None:
    found = converted(yaml.safe_dump({**yaml.safe_load(_PATTERN), **yaml.safe_load(rule)}))
    assert any(each.startswith(told) for each in found.changes) or not found.documents


@from_table("rule", "spec")
def test_what_has_no_field_stays(rule: str, spec: Body) -> None:
    conversion = convert(_legacy(rule, "ConfigMap", spec))
    assert not conversion.documents
    assert all(each.reason for each in conversion.outcomes)


@pytest.mark.parametrize(
    "named", ["#17438", "#17594", "#17452", "#16506", "allowExistingViolations"]
)
def test_the_page_lists_the_traps(named: str) -> None:
    section = _PAGE.read_text("utf-8").partition("\n## Traps\n")[2].partition("\n## ")[0]
    assert named in section
