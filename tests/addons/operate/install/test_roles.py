"""Roles that kube-controller-manager writes anew while Helm removes a release."""

import pytest

from chartkit.model import Body
from tests.addons.operate.install.conftest import World
from tests.api_server import ApiServer
from tests.small_charts import write_project

NAME = "kyverno:admission-controller"
_ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"


def _role(**fields: Body) -> Body:
    body = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    return {**body, "metadata": {"name": NAME}, "aggregationRule": {}, **fields}


@pytest.fixture
def aggregated(world: World) -> World:
    """An engine with a role that the aggregator writes once more, twice, after its deletion."""
    write_project(world.project, extra=[_role()])
    controllers, left = world.server.written, 2

    def written(server: ApiServer, path: str, body: Body | None) -> None:
        nonlocal left
        controllers(server, path, body)
        if body is None and path == f"{_ROLES}/{NAME}" and left:
            left -= 1
            server.put(path, {**_role(), "rules": None})

    world.server.written = written
    return world


@pytest.mark.slow
def test_uninstall_waits_for_the_aggregator(aggregated: World) -> None:
    aggregated.done()
    code, out, err = aggregated.run("uninstall", "--yes", "--timeout", "60")
    assert (code, err) == (0, ""), out + err
    said = f"ClusterRole {NAME} was left, without an owner: it is deleted"
    assert out.count(said) == 2
    assert aggregated.server.names("ClusterRole") == set()
    assert aggregated.done()


@pytest.mark.slow
def test_install_removes_what_a_removal_by_hand_left(world: World) -> None:
    write_project(world.project, extra=[_role()])
    world.server.put(f"{_ROLES}/{NAME}", {**_role(), "rules": None})
    said = f"ClusterRole {NAME} has no owner, an earlier removal left it: it is deleted"
    code, out, _ = world.install()
    assert code == 0
    assert f"note: {said} first\n" in out
    assert world.server.names("ClusterRole") == {NAME}
    assert said in world.done()
    assert world.server.objects[f"{_ROLES}/{NAME}"]["metadata"]["annotations"]
    assert said not in world.done()


def test_a_role_with_rules_is_left_alone(world: World) -> None:
    body = _role()
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    world.server.put(f"{_ROLES}/{NAME}", {**body, "rules": rules})
    assert world.run("uninstall", "--yes")[1].endswith("nothing is to be done\n")
    assert world.server.names("ClusterRole") == {NAME}


@pytest.mark.slow
def test_uninstall_again_removes_what_is_left(world: World) -> None:
    world.server.put(f"{_ROLES}/{NAME}", {**_role(), "rules": None})
    code, out, _ = world.run("uninstall")
    assert code == 0
    assert f"ClusterRole {NAME}, left by an earlier removal: remove" in out
    assert world.run("uninstall", "--yes")[0] == 0
    assert world.server.names("ClusterRole") == set()
