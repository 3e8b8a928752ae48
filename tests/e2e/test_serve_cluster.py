"""`chartkit serve` next to an API server: its webhooks, its reports, and policies from there."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chartkit.documents.reader import read_text
from chartkit.model import Body
from tests.addons.serve.admission.bodies import AUDITED, POD, TEAM, changed, review
from tests.admission_server import admission_server
from tests.api_server import Api, ApiServer
from tests.loopback import at_length

pytest.importorskip("granian")
pytest.importorskip("kubernetes")

_VALIDATING = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/chartkit-serve"
_MUTATING = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/chartkit-serve"
_REPORTS = "/apis/wgpolicyk8s.io/v1alpha2/namespaces/default/policyreports"
_POLICIES = "/apis/kyverno.io/v1/clusterpolicies"


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with ApiServer() as server:
        server.serve(Api("kyverno.io", "v1", "clusterpolicies", "ClusterPolicy", False))
        server.serve(Api("wgpolicyk8s.io", "v1alpha2", "policyreports", "PolicyReport", True))
        namespace: Body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
        server.put("/api/v1/namespaces/default", namespace)
        yield server


def _body(text: str) -> Body:
    body: Any = read_text(text)[0].body
    assert isinstance(body, dict)
    return body


def _environment(api: ApiServer, folder: Path) -> dict[str, str]:
    file = folder / "kubeconfig"
    file.write_text(api.kubeconfig)
    return {"KUBECONFIG": str(file)}


@pytest.mark.slow
def test_webhooks_are_there_as_long_as_the_server(api: ApiServer, tmp_path: Path) -> None:
    policies = tmp_path / "policies"
    policies.mkdir()
    (policies / "team.yaml").write_text(TEAM)
    with admission_server(
        tmp_path,
        *("-p", policies, "--apply-webhooks", "--webhook-url", "https://10.0.0.7:1234"),
        environment=_environment(api, tmp_path),
    ) as server:
        assert at_length(lambda: _VALIDATING in api.objects)
        hook = api.objects[_VALIDATING]["webhooks"][0]
        assert hook["name"] == "validate.kyverno.svc-fail"
        assert hook["clientConfig"]["url"] == "https://10.0.0.7:1234/validate/fail"
        assert _MUTATING not in api.objects
        (policies / "more.yaml").write_text(
            TEAM.replace("require-team", "lax").replace(
                "  rules:", "  failurePolicy: Ignore\n  rules:"
            )
        )
        assert at_length(lambda: len(api.objects[_VALIDATING]["webhooks"]) == 2)
        assert server.end() == 0
    assert _VALIDATING not in api.objects
    assert server.logged("webhooks deleted")


@pytest.mark.slow
def test_a_cluster_that_refuses_webhooks_ends_the_server(api: ApiServer, tmp_path: Path) -> None:
    (tmp_path / "team.yaml").write_text(TEAM)
    environment = _environment(api, tmp_path)
    config = json.loads(api.kubeconfig)
    config["users"][0]["user"]["token"] = "wrong"
    Path(environment["KUBECONFIG"]).write_text(json.dumps(config))
    with admission_server(
        tmp_path,
        *("-p", tmp_path / "team.yaml", "--apply-webhooks"),
        environment=environment,
        becomes_ready=False,
    ) as server:
        assert server.process.wait(120) == 2
    assert "does not know you (401)" in server.lines[-1]["message"]


@pytest.mark.slow
def test_reports_go_to_the_cluster(api: ApiServer, tmp_path: Path) -> None:
    (tmp_path / "audit.yaml").write_text(AUDITED)
    with admission_server(
        tmp_path,
        *("-p", tmp_path / "audit.yaml", "--reports", "cluster"),
        environment=_environment(api, tmp_path),
    ) as server:
        body = changed(POD, uid="11111111-2222-4333-8444-555555555555")
        assert server.send("/validate", review(body)).review["allowed"]
        path = f"{_REPORTS}/11111111-2222-4333-8444-555555555555"
        assert at_length(lambda: path in api.objects)
    report = api.objects[path]
    assert report["results"][0]["policy"] == "audit-team"
    assert report["metadata"]["ownerReferences"][0]["name"] == "web"


@pytest.mark.slow
def test_policies_come_from_the_cluster_and_are_watched(api: ApiServer, tmp_path: Path) -> None:
    api.put(f"{_POLICIES}/require-team", _body(TEAM))
    with admission_server(
        tmp_path, "--policies-from", "cluster", environment=_environment(api, tmp_path)
    ) as server:
        assert not server.send("/validate", review()).review["allowed"]
        api.put(f"{_POLICIES}/require-team", _body(TEAM.replace("Enforce", "Audit")))
        assert at_length(lambda: server.send("/validate", review()).review["allowed"])
