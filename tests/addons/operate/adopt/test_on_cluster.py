"""Adoption, installation, promotion and removal on an API server: the way of a team with a
history, with nothing left behind."""

from collections.abc import Iterator

import pytest

from chartkit.model import Body
from tests.addons.operate.adopt.conftest import Team
from tests.api_server import ApiServer
from tests.api_server_controllers import Controllers, write_webhooks
from tests.api_server_http import Request
from tests.api_server_managers import entry
from tests.data import tables
from tests.unit.network.cluster.server import PagedServer, labelled, namespace, pod

_TABLES = tables(__file__)

_POLICY = "/apis/kyverno.io/v1/clusterpolicies/labelled"


_DEFINITION: Body = _TABLES["definition"]
_KYVERNO: Body = _TABLES["kyverno"]


class _Fresh(PagedServer):
    """A server whose lists are not kept from page to page, for objects that are written."""

    def answer(self, request: Request) -> Body:
        self._listed.clear()
        return super().answer(request)


@pytest.fixture
def server(team: Team, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    running = _Fresh(version="v1.34.2")
    with Controllers().attach(running):
        policy = labelled()
        policy["metadata"]["managedFields"] = [entry("kubectl-create", "Update", policy)]
        running.add(namespace("shop"), namespace("kyverno"), _DEFINITION, _KYVERNO, policy)
        write_webhooks(running)
        running.add(pod("a", labels={"team": "front"}))
        (team.folder / "kubeconfig").write_text(running.kubeconfig)
        monkeypatch.setenv("KUBECONFIG", str(team.folder / "kubeconfig"))
        yield running


def _action(server: ApiServer) -> str:
    stored: Body = server.objects[_POLICY]
    [rule] = stored["spec"]["rules"]
    default = stored["spec"].get("validationFailureAction", "Audit")
    return str(rule["validate"].get("failureAction") or default)


@pytest.mark.slow
def test_the_way_of_a_team_with_a_history(team: Team, server: ApiServer) -> None:
    before = set(server.objects)
    assert team.adopt("--cluster")[0] == 0
    project = ("--project", "out")
    install = ("install", "prd", *project, "--yes", "--timeout", "60")
    assert team.run("render", *project)[0] == 0
    code, out, err = team.run(*install, "--take-ownership")
    assert code == 0, out + err
    assert "1 object is the release's alone from now on" in out
    assert _action(server) == "Audit"
    promote = ("promote", "labelled", "--to", "prd", "--cluster", "--write", *project)
    code, out, err = team.run(*promote)
    assert code == 0, out + err
    assert "2 of 2 objects pass" in out
    assert team.run("render", *project)[0] == 0
    assert team.run(*install)[0] == 0
    assert _action(server) == "Enforce"
    assert team.run("promote", "labelled", "--to", "prd", "--back", "--write", *project)[0] == 0
    assert team.run("render", *project)[0] == 0
    assert team.run(*install)[0] == 0
    assert _action(server) == "Audit"
    assert team.run("uninstall", "prd", *project, "--yes", "--timeout", "60")[0] == 0
    left = {path for path in set(server.objects) - before if "/events/" not in path}
    assert left == set()
    assert _POLICY not in server.objects
