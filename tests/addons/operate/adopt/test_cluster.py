"""Adoption of a cluster, live and from its recording."""

import base64
import gzip
import json
from collections.abc import Iterator
from typing import Any

import pytest

from chartkit.documents.reader import read_file
from chartkit.model import Body
from chartkit.project.project import read_project
from tests.addons.operate.adopt.conftest import Team
from tests.data import beside
from tests.unit.network.cluster.server import PagedServer, forbidden, labelled, namespace, pod

_VALUES: Body = {"admissionController": {"replicas": 3}}


def _deployment() -> Body:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "kyverno-admission-controller",
            "namespace": "kyverno",
            "labels": {"helm.sh/chart": "kyverno-3.3.4"},
            "annotations": {
                "meta.helm.sh/release-name": "kyverno",
                "meta.helm.sh/release-namespace": "kyverno",
            },
        },
        "spec": {
            "template": {
                "spec": {
                    "containers": [
                        {"name": "kyverno", "image": "mirror:5000/kyverno/kyverno:v1.13.4@sha256:a"}
                    ]
                }
            }
        },
    }


def _release(values: Any, version: str = "3.3.4", manifest: str = "") -> Body:
    metadata = {"name": "kyverno", "version": version}
    body = {"config": values, "chart": {"metadata": metadata}, "manifest": manifest}
    packed = base64.b64encode(gzip.compress(json.dumps(body).encode()))
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "sh.helm.release.v1.kyverno.v1",
            "namespace": "kyverno",
            "labels": {"owner": "helm", "name": "kyverno", "status": "deployed"},
        },
        "data": {"release": base64.b64encode(packed).decode()},
    }


@pytest.fixture
def server(team: Team, monkeypatch: pytest.MonkeyPatch) -> Iterator[PagedServer]:
    with PagedServer(version="v1.31.9-eks-473151a") as running:
        running.add(namespace("shop"), namespace("kyverno"), _deployment(), _release(_VALUES))
        running.add(labelled(), pod("a"))
        (team.folder / "kubeconfig").write_text(running.kubeconfig)
        monkeypatch.setenv("KUBECONFIG", "kubeconfig")
        yield running


@pytest.mark.slow
def test_a_cluster_tells_everything(team: Team, server: PagedServer) -> None:
    code, body = team.adopt("--cluster")
    assert code == 0, body["rows"]
    assert {request.method for request in server.requests} == {"GET"}
    environment = read_project(team.folder / "out").environments["prd"]
    assert (str(environment.release), str(environment.kubernetes)) == ("1.13.4", "1.31")
    assert (environment.eks, environment.engine) == (True, False)
    values = read_file(team.folder / "out/engine/prd.yaml")[0].body
    assert values["admissionController"]["replicas"] == 3
    known = read_file(team.folder / "out/baselines/prd.yaml")[0].body["violations"]
    assert [each["object"] for each in known] == [
        "apps/v1/Deployment/kyverno/kyverno-admission-controller",
        "v1/Pod/shop/a",
    ]
    text = (team.folder / "out/policies/labelled/labelled.yaml").read_text()
    assert "resourceVersion" not in text


@pytest.mark.slow
def test_a_recording_tells_all_but_secrets(team: Team, server: PagedServer) -> None:
    team.adopt("--cluster", "--record", "rec", "--dry-run")
    asked = len(server.requests)
    code, body = team.adopt("rec")
    assert (code, len(server.requests)) == (1, asked)
    assert team.rows(body, "left") == [
        ("Helm release kyverno/kyverno", "its values are not known: a recording has no Secrets")
    ]
    team.write(values="admissionController: {replicas: 3}\n")
    code, body = team.adopt("rec", "--values", "values.yaml", "--force")
    assert (code, team.rows(body, "left")) == (0, [])
    assert read_file(team.folder / "out/engine/prd.yaml")[0].body["admissionController"] == {
        "replicas": 3
    }


@pytest.mark.slow
def test_after_adoption_the_cluster_differs_in_what_was_announced(
    team: Team, server: PagedServer
) -> None:
    """The policies of the cluster against those of the charts: every difference has a row."""
    _, body = team.adopt("--cluster")
    assert [subject for subject, _ in team.rows(body, "changed")] == ["metadata"]
    stored = [each for each in server.objects.values() if each["kind"] == "ClusterPolicy"]
    for each in stored:
        team.write(**{f"live__{each['metadata']['name']}": json.dumps(each)})
    team.run("render", "--project", "out")
    _, out, _ = team.run("diff", "--project", "out", "--against", "live", "-o", "json")
    changes = json.loads(out)["comparisons"][0]["changes"]
    fields = [
        field["path"]
        for each in changes
        if each["kind"] == "ClusterPolicy"
        for field in each["fields"]
    ]
    own = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")
    assert fields
    assert {path.split(".")[1].partition("[")[0] for path in fields} <= {
        "labels",
        "annotations",
        *own,
    }


def _current(server: PagedServer, manifest: str, **metadata: str) -> None:
    """Let the cluster have a Kyverno that chartkit's chart installs."""
    deployment = _deployment()
    deployment["metadata"] |= metadata
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    container["image"] = "reg.kyverno.io/kyverno/kyverno:v1.19.1"
    server.add(deployment, _release({}, "3.9.1", manifest))


_STRONG_ROLE = beside(__file__)["strong-role"]


@pytest.mark.slow
def test_what_the_chart_changes_of_kyverno_is_announced(team: Team, server: PagedServer) -> None:
    _current(server, _STRONG_ROLE)
    code, body = team.adopt("--cluster", "--eks", "1.34")
    assert code == 0, body["rows"]
    changed = dict(team.rows(body, "changed"))
    assert "allows to" in changed["ClusterRole kyverno:background-controller:core"]
    assert "ConfigMap" in changed["Kyverno"]
    team.adopt("--cluster", "--eks", "1.34", "--record", "rec", "--dry-run", "--force")
    team.write(values="admissionController: {replicas: 3}\n")
    _, body = team.adopt("rec", "--eks", "1.34", "--values", "values.yaml", "--force")
    notes = dict(team.rows(body, "note"))
    assert "no Helm release of it was read" in notes["Kyverno"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "namespace", "place"),
    [("kyv", "kyverno", "release kyverno/kyv"), ("kyverno", "policy", "release policy/kyverno")],
)
def test_a_kyverno_elsewhere_is_not_taken_over(
    team: Team, server: PagedServer, name: str, namespace: str, place: str
) -> None:
    _current(server, "")
    deployment = next(each for each in server.objects.values() if each["kind"] == "Deployment")
    release = {"meta.helm.sh/release-name": name, "meta.helm.sh/release-namespace": namespace}
    deployment["metadata"]["annotations"] = release
    code, body = team.adopt("--cluster", "--eks", "1.34")
    left = dict(team.rows(body, "left"))
    assert code == 1
    assert left["Kyverno"].startswith(f"is in {place}, and chartkit's charts install it as")
    assert not read_project(team.folder / "out").environments["prd"].engine


@pytest.mark.slow
def test_what_may_not_be_read_is_left(team: Team, server: PagedServer) -> None:
    def refuse(request: object) -> None:
        path = str(getattr(request, "path", ""))
        if path.endswith(("/secrets", "/policyexceptions")):
            raise forbidden(path)

    server.before = refuse
    code, body = team.adopt("--cluster")
    assert code == 1
    subjects = {subject for subject, _ in team.rows(body, "left")}
    assert subjects == {"Helm release kyverno/kyverno", "policyexceptions.kyverno.io"}


@pytest.mark.slow
@pytest.mark.parametrize("data", ["", "%%%", "aGFsbG8=", base64.b64encode(b"e30=").decode()])
def test_a_damaged_release_is_left(team: Team, server: PagedServer, data: str) -> None:
    secret = _release({})
    secret["data"] = {"release": data}
    server.add(secret)
    code, body = team.adopt("--cluster")
    assert code == 1
    assert [subject for subject, _ in team.rows(body, "left")] == ["Helm release kyverno/kyverno"]


def test_a_cluster_is_one_environment(team: Team, server: PagedServer) -> None:
    code, _, err = team.run("adopt", "--cluster", "--env", "a", "--env", "b")
    assert code == 2
    assert "a cluster is one environment" in err
    assert server.requests == []
