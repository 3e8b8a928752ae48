"""`chartkit scan PATH --policies-from`: files judged by the policies of a cluster."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from chartkit.model import Body
from tests.api_server import Api, Request
from tests.data import from_table
from tests.e2e.command import PROGRAM
from tests.objects import api_object
from tests.unit.network.cluster.server import (
    PagedServer,
    forbidden,
    labelled,
    namespace,
    pod,
    policy,
)

NAMES = Api("example.com", "v1", "geese", "Goose", False)


def _engine() -> tuple[Body, ...]:
    labels = {"app.kubernetes.io/component": "admission-controller"}
    container = {"name": "kyverno", "env": [{"name": "INIT_CONFIG", "value": "kyverno"}]}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "admission", "namespace": "kyverno", "labels": labels},
        "spec": {"template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}}},
    }
    config = api_object(
        "v1", "ConfigMap", "kyverno/kyverno", data={"resourceFilters": "[*/*,kube-system,*]"}
    )
    return deployment, config


def _policies() -> tuple[Body, ...]:
    selected = labelled("selected")
    resources = selected["spec"]["rules"][0]["match"]["any"][0]["resources"]
    resources["namespaceSelector"] = {"matchLabels": {"guarded": "yes"}}
    context = [{"name": "known", "configMap": {"name": "teams", "namespace": "shop"}}]
    deny = {"conditions": {"any": [_condition("{{ known.data.allowed }}", "NotEquals", "yes")]}}
    asking = policy(
        "asking",
        ["Pod"],
        {"context": context, "validate": {"message": "not allowed", "deny": deny}},
    )
    goose = labelled("goose", "example.com/v1/Goose")
    exception = {
        "apiVersion": "kyverno.io/v2",
        "kind": "PolicyException",
        "metadata": {"name": "old", "namespace": "shop"},
        "spec": {
            "exceptions": [{"policyName": "labelled", "ruleNames": ["rule"]}],
            "match": {"any": [{"resources": {"kinds": ["Pod"], "names": ["old"]}}]},
        },
    }
    return labelled(), selected, asking, goose, exception


def _condition(key: str, operator: str, value: str) -> Body:
    return {"key": key, "operator": operator, "value": value}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PagedServer]:
    """A cluster with policies, an exception, a custom kind and Kyverno's configuration."""
    with PagedServer() as running:
        running.serve(NAMES)
        teams = api_object("v1", "ConfigMap", "shop/teams", data={"allowed": "no"})
        running.add(namespace("shop", guarded="yes"), namespace("kube-system"), teams)
        running.add(*_policies(), *_engine())
        (tmp_path / "kubeconfig").write_text(running.kubeconfig)
        goose = {"apiVersion": "example.com/v1", "kind": "Goose", "metadata": {"name": "one"}}
        files = (pod("new"), pod("old"), pod("system", "kube-system"), goose)
        (tmp_path / "files.json").write_text("\n".join(map(json.dumps, files)))
        yield running


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, "scan", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "KUBECONFIG": "kubeconfig"},
    )


def _failures(done: subprocess.CompletedProcess[str]) -> set[tuple[str, str]]:
    assert done.returncode in (0, 1), done.stderr
    rows = json.loads(done.stdout)["results"]
    return {(row["policy"], row["resource"]) for row in rows if row["result"] == "fail"}


EXPECTED = {
    ("labelled", "v1/Pod/shop/new"),
    ("selected", "v1/Pod/shop/new"),
    ("selected", "v1/Pod/shop/old"),
    ("asking", "v1/Pod/shop/new"),
    ("asking", "v1/Pod/shop/old"),
    ("goose", "example.com/v1/Goose//one"),
}
"""The exception lets the old Pod off, the namespace's labels select, the ConfigMap answers, the
custom kind is outside namespaces, and kube-system is not sent to Kyverno."""


@pytest.mark.slow
def test_files_are_judged_by_the_policies_of_a_cluster(server: PagedServer, tmp_path: Path) -> None:
    done = _run(tmp_path, "files.json", "--policies-from", "cluster", "-o", "json")
    assert _failures(done) == EXPECTED
    assert "not sent to Kyverno in the cluster: resourceFilters [*/*,kube-system,*]" in done.stderr
    assert not any(request.method != "GET" for request in server.requests)


@pytest.mark.slow
@pytest.mark.usefixtures("server")
def test_objects_of_files_stand_before_those_of_the_cluster(tmp_path: Path) -> None:
    teams = api_object("v1", "ConfigMap", "shop/teams", data={"allowed": "yes"})
    (tmp_path / "more.json").write_text(json.dumps(teams))
    (tmp_path / "space.json").write_text(json.dumps(namespace("shop", guarded="no")))
    files = ("files.json", "more.json", "space.json")
    done = _run(tmp_path, *files, "--policies-from", "cluster", "-o", "json")
    assert _failures(done) == {each for each in EXPECTED if each[0] in ("labelled", "goose")}


@pytest.mark.slow
@pytest.mark.usefixtures("server")
def test_a_recording_judges_as_its_cluster(tmp_path: Path) -> None:
    recorded = _run(tmp_path, "--cluster", "--cluster-policies", "--record", "recording")
    assert recorded.returncode in (0, 1), recorded.stderr
    live = _run(tmp_path, "files.json", "--policies-from", "cluster", "-o", "json")
    (tmp_path / "kubeconfig").unlink()
    done = _run(tmp_path, "files.json", "--policies-from", "recording", "-o", "json")
    assert "not sent to Kyverno in recording" in done.stderr
    # The ConfigMap that a policy asks for was recorded if the scan asked for it.
    asked = {each for each in EXPECTED if each[0] != "asking"}
    assert asked <= _failures(done)
    assert _failures(live) == EXPECTED


@pytest.mark.usefixtures("server")
@from_table("arguments", "said")
def test_options_that_do_not_go_together(tmp_path: Path, arguments: list[str], said: str) -> None:
    done = _run(tmp_path, "files.json", *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.slow
def test_what_cannot_be_read_fails_the_scan(server: PagedServer, tmp_path: Path) -> None:
    def refuse(request: Request) -> None:
        if request.path == "/apis/apps/v1/deployments":
            raise forbidden("deployments")

    server.before = refuse
    done = _run(tmp_path, "files.json", "--policies-from", "cluster", "-o", "json")
    assert done.returncode == 1
    assert "not read: Kyverno's configuration, without which every object counts as sent" in (
        done.stderr
    )
    assert ("labelled", "v1/Pod/kube-system/system") in _failures(done)


@pytest.mark.usefixtures("server")
def test_a_cluster_is_scanned_by_its_own_policies(tmp_path: Path) -> None:
    done = _run(tmp_path, "--cluster", "--policies-from", "cluster")
    assert done.returncode == 2
    assert "--policies-from is for files" in done.stderr
