"""`chartkit serve` over real connections and next to an API server."""

import base64
import contextlib
import json
import os
import signal
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from chartkit.documents.reader import read_text
from chartkit.model import Body
from tests.addons.serve.admission.bodies import AUDITED, CEL, LABELS, POD, TEAM, changed, review
from tests.admission_server import AdmissionServer, admission_server, exchange
from tests.api_server import Api, ApiServer
from tests.e2e.transcript import check_page
from tests.loopback import at_length

pytestmark = pytest.mark.slow

pytest.importorskip("granian")

GOOD = changed(POD, labels={"team": "a"})


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AdmissionServer]:
    folder = tmp_path_factory.mktemp("serve")
    (folder / "policies").mkdir()
    (folder / "policies" / "all.yaml").write_text("---\n".join((TEAM, AUDITED, CEL, LABELS)))
    arguments = ("-p", folder / "policies", "--reports", folder / "reports")
    with admission_server(folder, *arguments, "--body-timeout", "1") as running:
        yield running


def test_it_denies_and_allows(server: AdmissionServer) -> None:
    denied = server.send("/validate?timeout=10s", review())
    assert denied.status == 200
    assert denied.review["uid"] == "c0ffee"
    assert denied.review["allowed"] is False
    assert "require-team:\n  check-team: 'validation error: " in denied.review["status"]["message"]
    assert server.send("/validate?timeout=10s", review(GOOD)).review["allowed"] is True


def test_it_mutates(server: AdmissionServer) -> None:
    response = server.send("/mutate", review()).review
    patch = json.loads(base64.b64decode(response["patch"]))
    assert patch == [{"op": "add", "path": "/metadata/labels", "value": {"managed": "yes"}}]


def test_a_connection_takes_many_reviews(server: AdmissionServer) -> None:
    with closing(server.client()) as client:
        for number in range(50):
            found = exchange(client, "/validate", review(GOOD, uid=f"u{number}"))
            assert found.review == {"uid": f"u{number}", "allowed": True}


def test_many_clients_at_once_get_their_own_answers(server: AdmissionServer) -> None:
    wrong: list[object] = []

    def ask(number: int) -> None:
        with closing(server.client()) as client:
            for turn in range(5):
                body = GOOD if (number + turn) % 2 else POD
                found = exchange(client, "/validate", review(body, uid=f"{number}-{turn}"))
                expected = {"uid": f"{number}-{turn}", "allowed": body is GOOD}
                if found.status != 200 or not expected.items() <= found.review.items():
                    wrong.append(found)

    clients = [threading.Thread(target=ask, args=(number,)) for number in range(40)]
    for each in clients:
        each.start()
    for each in clients:
        each.join()
    assert wrong == []


@pytest.mark.parametrize(
    ("path", "method", "media", "content", "status"),
    [
        ("/validate", "POST", "text/plain", b"{}", 415),
        ("/validate", "POST", "application/yaml", review(), 415),
        ("/validate", "POST", "", review(), 415),
        ("/validate", "GET", "application/json", None, 405),
        ("/", "POST", "application/json", review(), 404),
        ("/validate/../x", "POST", "application/json", review(), 404),
        ("/validate", "POST", "application/json", b"", 400),
        ("/validate", "POST", "application/json", b"{", 400),
        ("/validate", "POST", "application/json", b"\xff" * 100, 400),
        ("/mutate", "POST", "application/json", b"[" * 200_000, 400),
        ("/validate", "POST", "application/json", review(uid=None), 400),
        ("/validate", "POST", "application/json; charset=utf-8", review(), 200),
    ],
)
def test_other_requests_get_a_status(
    server: AdmissionServer, path: str, method: str, media: str, content: bytes, status: int
) -> None:
    found = server.send(path, content, {"Content-Type": media} if media else {}, method)
    assert found.status == status


@pytest.mark.parametrize("media", ["application/json"])
def test_a_body_of_ten_megabytes_is_refused(server: AdmissionServer, media: str) -> None:
    large = changed(POD, annotations={"text": "x" * 10_000_000})
    assert server.send("/validate", review(large), {"Content-Type": media}).status == 413
    assert server.send("/validate", review()).status == 200


def test_a_chunked_body_is_bounded_too(server: AdmissionServer) -> None:
    with closing(server.connect()) as client:
        head = b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        client.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n")
        chunk = b"%x\r\n%s\r\n" % (1 << 20, b"x" * (1 << 20))
        try:
            for _ in range(9):
                client.sendall(chunk)
        except (OSError, ssl.SSLError):
            pass  # It may close before all is sent.
        assert b" 413 " in client.recv(200)


def test_a_body_of_six_megabytes_is_judged(server: AdmissionServer) -> None:
    large = changed(POD, annotations={"text": "x" * 6_000_000})
    assert server.send("/validate", review(large)).review["allowed"] is False


def test_a_slow_client_is_given_up(server: AdmissionServer) -> None:
    with closing(server.connect()) as client:
        head = b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        client.sendall(head + b"Content-Length: 100\r\n\r\n{")
        assert b" 408 " in client.recv(200)


def test_a_client_that_sends_nothing_is_given_up(server: AdmissionServer) -> None:
    with closing(server.connect()) as silent, contextlib.suppress(ConnectionResetError):
        assert silent.recv(1) == b""
    assert at_length(lambda: bool(server.logged("connections that sent no request were closed")))


def test_it_says_what_it_does(server: AdmissionServer) -> None:
    server.send("/validate", review(name="noted"))
    assert at_length(lambda: any(each["name"] == "noted" for each in server.logged("denied")))
    line = next(each for each in server.logged("denied") if each["name"] == "noted")
    assert line["kind"] == "Pod"
    assert line["user"] == "jane"
    assert "require-team" in line["reason"]


def test_metrics_have_kyvernos_names(server: AdmissionServer) -> None:
    server.send("/validate", review())
    text = server.send("/metrics", method="GET").body
    assert "# TYPE kyverno_admission_requests_total counter" in text
    denied = [
        line
        for line in text.splitlines()
        if line.startswith("kyverno_admission_requests_total{")
        and 'request_allowed="false"' in line
    ]
    assert float(denied[0].rpartition(" ")[2]) >= 1
    for label in (
        'policy_name="require-team"',
        'policy_validation_mode="enforce"',
        'rule_result="fail"',
        'rule_execution_cause="admission_request"',
    ):
        assert label in text
    assert "kyverno_admission_review_duration_seconds_bucket{" in text
    assert "kyverno_validating_policy_results_total{" in text


def test_health_is_told(server: AdmissionServer) -> None:
    for path in ("/livez", "/readyz", "/health/liveness", "/health/readiness"):
        assert server.send(path, method="GET").status == 200


def test_audit_results_are_reports(server: AdmissionServer) -> None:
    body = changed(GOOD, name="reported", uid="11111111-2222-4333-8444-555555555555")
    audited = {**body, "metadata": {**body["metadata"], "labels": {"team": ""}}}
    assert server.send("/validate", review(body)).review["allowed"]
    folder = server.authority.parent / "reports" / "default"
    file = folder / "11111111-2222-4333-8444-555555555555.yaml"
    assert at_length(file.is_file)
    assert "policy: audit-team" in file.read_text()
    server.send("/validate", review(audited, operation="DELETE", object=None, oldObject=audited))
    assert at_length(lambda: not file.exists())


def test_dry_runs_have_no_report(server: AdmissionServer) -> None:
    body = changed(GOOD, name="dry", uid="99999999-2222-4333-8444-555555555555")
    assert server.send("/validate", review(body, dryRun=True)).review["allowed"]
    later = changed(GOOD, name="wet", uid="88888888-2222-4333-8444-555555555555")
    server.send("/validate", review(later))
    folder = server.authority.parent / "reports" / "default"
    assert at_length((folder / "88888888-2222-4333-8444-555555555555.yaml").is_file)
    assert not (folder / "99999999-2222-4333-8444-555555555555.yaml").exists()


def test_files_are_read_again_under_load(tmp_path: Path) -> None:
    policies = tmp_path / "policies"
    policies.mkdir()
    file = policies / "team.yaml"
    file.write_text(TEAM)
    stop = threading.Event()
    wrong: list[object] = []
    with admission_server(tmp_path, "-p", policies) as server:

        def ask() -> None:
            with closing(server.client()) as client:
                while not stop.is_set():
                    found = exchange(client, "/validate", review())
                    if found.status != 200:
                        wrong.append(found)

        clients = [threading.Thread(target=ask) for _ in range(4)]
        for each in clients:
            each.start()
        file.write_text(TEAM.replace("Enforce", "Audit"))
        assert at_length(lambda: server.send("/validate", review()).review["allowed"])
        file.write_text(TEAM.replace("pattern:", "pattrn:"))
        kept = "policies not reloaded: those from before stay"
        assert at_length(lambda: bool(server.logged(kept)))
        assert server.send("/validate", review()).review["allowed"]
        assert "team.yaml" in server.logged(kept)[0]["error"]
        file.write_text(TEAM)
        assert at_length(lambda: not server.send("/validate", review()).review["allowed"])
        stop.set()
        for each in clients:
            each.join()
    assert wrong == []


def test_reviews_beyond_the_bound_are_sent_back(tmp_path: Path) -> None:
    policies = tmp_path / "team.yaml"
    policies.write_text(TEAM)
    with admission_server(tmp_path, "-p", policies, "--max-in-flight", "2") as server:
        head = b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        slow = [server.connect(), server.connect()]
        content = review()
        for each in slow:
            each.sendall(head + b"Content-Length: %d\r\n\r\n" % len(content) + content[:10])
        assert at_length(lambda: server.send("/validate", content).status == 429)
        for each in slow:
            each.sendall(content[10:])
            assert b" 200 " in each.recv(100)
            each.close()
        assert server.send("/validate", content).status == 200


def test_reviews_in_flight_end_before_the_server(tmp_path: Path) -> None:
    policies = tmp_path / "team.yaml"
    policies.write_text(TEAM)
    with admission_server(tmp_path, "-p", policies) as server:
        head = b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        content = review()
        client = server.connect()
        client.sendall(head + b"Content-Length: %d\r\n\r\n" % len(content) + content[:10])
        time.sleep(0.3)
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        client.sendall(content[10:])
        assert b" 200 " in client.recv(100)
        client.close()
        assert server.process.wait(20) == 0
    assert server.logged("ended")


def test_an_interrupt_ends_it_at_once(tmp_path: Path) -> None:
    policies = tmp_path / "team.yaml"
    policies.write_text(TEAM)
    with (
        admission_server(tmp_path, "-p", policies, "--workers", "2") as server,
        closing(server.connect()) as client,
    ):
        client.sendall(b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n{")
        assert server.end(signal.SIGINT) == 0
    assert server.logged("ended")


def test_a_worker_that_is_killed_is_replaced(tmp_path: Path) -> None:
    policies = tmp_path / "team.yaml"
    policies.write_text(TEAM)
    with admission_server(tmp_path, "-p", policies, "--workers", "2") as server:
        killed: set[int] = set()
        seen: set[int] = set()

        def others(most: int) -> bool:
            with contextlib.suppress(OSError):  # What a worker had accepted went with it.
                server.send("/validate", review())
            seen.update(each["process"] for each in server.logged("denied"))
            return len(seen - killed) >= most

        for _ in range(3):  # Within seconds, as if it were a loop.
            assert at_length(lambda: others(1))
            victim = (seen - killed).pop()
            assert victim != server.process.pid
            os.kill(victim, signal.SIGKILL)
            killed.add(victim)
        assert at_length(lambda: others(2))


def test_the_page_shows_what_is_printed(tmp_path: Path, update: bool) -> None:
    (tmp_path / "team.yaml").write_text(TEAM)
    check_page("serve.md", tmp_path, update)


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


def test_policies_come_from_the_cluster_and_are_watched(api: ApiServer, tmp_path: Path) -> None:
    api.put(f"{_POLICIES}/require-team", _body(TEAM))
    with admission_server(
        tmp_path, "--policies-from", "cluster", environment=_environment(api, tmp_path)
    ) as server:
        assert not server.send("/validate", review()).review["allowed"]
        api.put(f"{_POLICIES}/require-team", _body(TEAM.replace("Enforce", "Audit")))
        assert at_length(lambda: server.send("/validate", review()).review["allowed"])
