"""The manifest of permissions: enough for a scan, and for reading alone."""

import yaml

from tests.api_server import Request
from tests.shared import ROOT
from tests.unit.network.cluster.conftest import World
from tests.unit.network.cluster.server import forbidden, labelled, pod

Allowed = set[tuple[str, str, str]]


def _allowed() -> Allowed:
    """(verb, group, resource) of the manifest."""
    roles = yaml.safe_load_all(
        (ROOT / "docs" / "how-to" / "scan-cluster-rbac.yaml").read_text("utf-8")
    )
    return {
        (verb, group, resource)
        for role in roles
        for rule in role["rules"]
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def _asked(request: Request) -> tuple[str, str, str] | None:
    """(verb, group, resource) of a request; None for discovery."""
    root, *parts = request.path.strip("/").split("/")
    group = parts.pop(0) if root == "apis" and parts else ""
    resource = parts[1:]
    if len(resource) > 2 and resource[0] == "namespaces":
        resource = resource[2:]
    if not resource:
        return None
    return ("get" if len(resource) > 1 else "list", group, resource[0])


def test_enough_for_policies_about_pods(world: World) -> None:
    allowed = _allowed()
    used: Allowed = set()
    assert {verb for verb, _, _ in allowed} == {"get", "list"}

    def refuse(request: Request) -> None:
        asked = _asked(request)
        if asked is not None and asked not in allowed:
            raise forbidden(request.path)
        used.update([asked] if asked is not None else [])

    world.server.add(pod("a"), labelled("inside"))
    world.server.before = refuse
    named = world.policies(labelled())
    code, out, err = world.scan("--cluster", "--cluster-policies", "--reports", *named)
    assert (code, err) == (1, "")
    assert "fail: 2," in out
    assert ("list", "wgpolicyk8s.io", "policyreports") in used
