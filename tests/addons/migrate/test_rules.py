"""The rules of legacy objects, by type."""

from chartkit.addons.migrate.conversion import LegacyRule, legacy_rules
from chartkit.model import Body, Resource
from tests.data import from_table

_TARGETS = [{"apiVersion": "v1", "kind": "Secret"}]


def _policy(*rules: object, kind: str = "ClusterPolicy") -> Resource:
    return Resource({"apiVersion": "kyverno.io/v1", "kind": kind, "spec": {"rules": list(rules)}})


@from_table("body", "expected")
def test_types_of_rules(body: Body, expected: str) -> None:
    for kind in ("ClusterPolicy", "Policy"):
        found = legacy_rules(_policy({"name": "r", **body}, kind=kind))
        assert found == (LegacyRule("r", expected, "/spec/rules/0"),)


@from_table("kind", "expected")
def test_objects_without_rules_are_one(kind: str, expected: str) -> None:
    assert legacy_rules(Resource({"kind": kind, "spec": None})) == (LegacyRule("", expected),)


def test_malformed_rules_have_no_type() -> None:
    found = legacy_rules(_policy("text", None, {"name": 1}))
    assert found == (LegacyRule("", "unknown", "/spec/rules/2"),)
    assert legacy_rules(Resource({"kind": "Policy", "spec": []})) == ()
