"""Rules about the kinds of what connections send, which Kyverno knows by subresources."""

import pytest

from chartkit.addons.migrate.differences import CONNECTIONS
from tests.addons.migrate.conversions import converted

_RULE = "{match: {any: [{resources: {kinds: [%s]}}]}, validate: {message: m, deny: {}}}"


@pytest.mark.parametrize(
    ("kinds", "resources"),
    [
        ("PodExecOptions", ["pods/exec"]),
        ("PodAttachOptions, PodPortForwardOptions", ["pods/attach", "pods/portforward"]),
        ("PodExecOptions, Pod/exec", ["pods/exec"]),
        ("ServiceProxyOptions", ["services/proxy"]),
    ],
)
def test_kinds_of_connections_become_subresources(kinds: str, resources: list[str]) -> None:
    found = converted(_RULE % kinds)
    (rule,) = found.spec["matchConstraints"]["resourceRules"]
    assert rule["resources"] == resources
    assert rule["operations"] == ["CONNECT"]
    assert found.changes == (CONNECTIONS,)


def test_subresources_are_as_before() -> None:
    assert converted(_RULE % "Pod/exec").changes == ()
