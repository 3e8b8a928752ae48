"""The rules of legacy objects, by type."""

import pytest

from chartkit.addons.migrate.conversion import LegacyRule, legacy_rules
from chartkit.model import Body, Resource

_TARGETS = [{"apiVersion": "v1", "kind": "Secret"}]


def _policy(*rules: object, kind: str = "ClusterPolicy") -> Resource:
    return Resource({"apiVersion": "kyverno.io/v1", "kind": kind, "spec": {"rules": list(rules)}})


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"validate": {"pattern": {}}}, "validate.pattern"),
        ({"validate": {"anyPattern": []}}, "validate.anyPattern"),
        ({"validate": {"deny": {}}}, "validate.deny"),
        ({"validate": {"foreach": []}}, "validate.foreach"),
        ({"validate": {"podSecurity": {"level": "baseline"}}}, "validate.podSecurity"),
        ({"validate": {"cel": {}}}, "validate.cel"),
        ({"validate": {"manifests": {}}}, "validate.manifests"),
        ({"validate": {"assert": {}}}, "validate.assert"),
        ({"validate": {"message": "m"}}, "validate"),
        ({"mutate": {"patchStrategicMerge": {}}}, "mutate.patchStrategicMerge"),
        ({"mutate": {"patchesJson6902": ""}}, "mutate.patchesJson6902"),
        ({"mutate": {"foreach": []}}, "mutate.foreach"),
        (
            {"mutate": {"targets": _TARGETS, "patchStrategicMerge": {}}},
            "mutate.targets.patchStrategicMerge",
        ),
        ({"mutate": {"targets": _TARGETS, "foreach": []}}, "mutate.targets.foreach"),
        ({"generate": {"kind": "ConfigMap", "data": {}}}, "generate.data"),
        ({"generate": {"kind": "Secret", "clone": {}}}, "generate.clone"),
        ({"generate": {"cloneList": {}}}, "generate.cloneList"),
        ({"generate": {"foreach": []}}, "generate.foreach"),
        ({"verifyImages": [{}]}, "verifyImages"),
        ({}, "unknown"),
        ({"validate": "text", "mutate": []}, "unknown"),
    ],
)
def test_types_of_rules(body: Body, expected: str) -> None:
    for kind in ("ClusterPolicy", "Policy"):
        found = legacy_rules(_policy({"name": "r", **body}, kind=kind))
        assert found == (LegacyRule("r", expected, "/spec/rules/0"),)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("CleanupPolicy", "cleanup"),
        ("ClusterCleanupPolicy", "cleanup"),
        ("PolicyException", "exception"),
    ],
)
def test_objects_without_rules_are_one(kind: str, expected: str) -> None:
    assert legacy_rules(Resource({"kind": kind, "spec": None})) == (LegacyRule("", expected),)


def test_malformed_rules_have_no_type() -> None:
    found = legacy_rules(_policy("text", None, {"name": 1}))
    assert found == (LegacyRule("", "unknown", "/spec/rules/2"),)
    assert legacy_rules(Resource({"kind": "Policy", "spec": []})) == ()
