"""Rules about the kinds of what connections send, which Kyverno knows by subresources."""

from chartkit.addons.migrate.differences import CONNECTIONS
from tests.addons.migrate.conversions import converted
from tests.data import from_table

_RULE = "{match: {any: [{resources: {kinds: [%s]}}]}, validate: {message: m, deny: {}}}"


@from_table("kinds", "resources")
def test_kinds_of_connections_become_subresources(kinds: str, resources: list[str]) -> None:
    found = converted(_RULE % kinds)
    (rule,) = found.spec["matchConstraints"]["resourceRules"]
    assert rule["resources"] == resources
    assert rule["operations"] == ["CONNECT"]
    assert found.changes == (CONNECTIONS,)


def test_subresources_are_as_before() -> None:
    assert converted(_RULE % "Pod/exec").changes == ()
