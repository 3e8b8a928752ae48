"""`chartkit rescue` on a server whose webhooks nothing answers."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from chartkit.cli.schema import output_schema
from tests.addons.operate.rescue.locked_cluster import (
    MUTATING,
    POLICIES,
    SERVICE,
    SLICE,
    VALIDATING,
    LockedCluster,
    configuration,
    refusal,
)
from tests.api_server import ApiServer, Refused, Request
from tests.data import from_table
from tests.e2e.command import Done, called

FAILING = {
    "validate.kyverno.svc-fail": "Fail",
    "validate.kyverno.svc-ignore": "Ignore",
    "mutate.kyverno.svc-fail": "Fail",
    "validate-policy.kyverno.svc": "Fail",
    "webhook.cert-manager.io": "Fail",
}
OPENED = {**FAILING, "validate.kyverno.svc-fail": "Ignore", "mutate.kyverno.svc-fail": "Ignore"}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LockedCluster]:
    with ApiServer() as server:
        yield LockedCluster(server, tmp_path / "kubeconfig").build()


def rescue(cluster: LockedCluster, *arguments: str) -> Done:
    folder = cluster.kubeconfig.parent
    return called(folder, "rescue", *arguments, KUBECONFIG=str(cluster.kubeconfig))


def writes(cluster: LockedCluster) -> list[str]:
    return [each.path for each in cluster.server.requests if each.method in ("PATCH", "PUT")]


def test_locked_cluster_is_described_and_nothing_is_done(cluster: LockedCluster) -> None:
    done = rescue(cluster)
    assert done.code == 1
    assert (
        "nothing answers Kyverno's webhooks at kyverno/kyverno-svc: no ready endpoints" in done.out
    )
    assert "to open the cluster: failurePolicy Ignore for 2 webhooks" in done.out
    assert "never sent: namespaces kyverno" in done.out
    assert "left as they are: validate-policy.kyverno.svc" in done.out
    assert "cert-manager" not in done.out
    assert "nothing was done: --yes does it" in done.err
    assert cluster.policies() == FAILING
    assert not writes(cluster)


def test_json_of_a_cluster_that_is_opened_is_json_alone(cluster: LockedCluster) -> None:
    done = rescue(cluster, "--yes", "-o", "json")
    assert (done.code, json.loads(done.out)["locked"]) == (0, True)
    assert "`chartkit rescue --restore` sets them back" in done.err
    done = rescue(cluster, "--restore", "-o", "json")
    assert (done.code, done.out) == (2, "")


def test_opened_cluster_admits_again_and_is_restored(cluster: LockedCluster) -> None:
    done = rescue(cluster, "--yes")
    assert done.code == 0, done.err
    assert cluster.policies() == OPENED
    assert writes(cluster) == [MUTATING, VALIDATING]
    pod = Request("POST", "/api/v1/namespaces/default/pods", {}, "", {})
    cluster.admit(pod)
    record = cluster.kubeconfig.with_name("chartkit-rescue.yaml")
    assert "validate.kyverno.svc-fail" in record.read_text()
    done = rescue(cluster, "--restore")
    assert done.code == 1
    assert "it would lock the cluster" in done.err
    assert cluster.policies() == OPENED
    cluster.answer()
    done = rescue(cluster, "--restore")
    assert done.code == 0, done.err
    assert cluster.policies() == FAILING
    assert not record.exists()
    assert rescue(cluster).code == 0


def test_service_that_is_gone_locks_as_well(cluster: LockedCluster) -> None:
    cluster.server.put(SERVICE, None)
    done = rescue(cluster)
    assert done.code == 1
    assert "kyverno/kyverno-svc: there is no such service" in done.out


def test_endpoint_that_is_not_ready_answers_nothing(cluster: LockedCluster) -> None:
    cluster.answer(ready=False)
    assert rescue(cluster).code == 1


def test_answering_webhooks_lock_nothing(cluster: LockedCluster) -> None:
    cluster.answer()
    done = rescue(cluster, "--yes")
    assert done.code == 0
    assert "they do not lock this cluster" in done.out
    assert not writes(cluster)
    assert not cluster.kubeconfig.with_name("chartkit-rescue.yaml").exists()


def test_webhook_that_fails_despite_its_endpoints_is_found_by_what_it_refuses(
    cluster: LockedCluster,
) -> None:
    cluster.answer()

    def refuse(request: Request) -> None:
        if request.method == "POST":
            message = refusal("validate.kyverno.svc-fail").replace("no endpoints", "x509: no")
            raise Refused(500, "InternalError", message)

    cluster.server.admit = refuse
    done = rescue(cluster, "-o", "json")
    body = json.loads(done.out)
    assert done.code == 1
    assert [each["name"] for each in body["webhooks"] if each["open"]] == [
        "validate.kyverno.svc-fail"
    ]
    assert "x509" in body["refused"][0]["message"]


def test_refused_objects_are_listed_once_and_old_events_are_not(cluster: LockedCluster) -> None:
    now = datetime.now(UTC)
    cluster.replica_set("web-1", refusal("mutate.kyverno.svc-fail"))
    cluster.replica_set("quota", "exceeded quota: pods")
    recent = (now - timedelta(minutes=5)).isoformat(timespec="seconds").replace("+00:00", "Z")
    cluster.event("agent", refusal("mutate.kyverno.svc-fail"), recent)
    cluster.event("old", refusal("mutate.kyverno.svc-fail"), "2020-01-01T00:00:00Z")
    body = json.loads(rescue(cluster, "-o", "json").out)
    jsonschema.Draft7Validator(output_schema("rescue")).validate(body)
    assert [(each["kind"], each["name"]) for each in body["refused"]] == [
        ("DaemonSet", "agent"),
        ("Pod", "chartkit-rescue-probe"),
        ("ReplicaSet", "web-1"),
    ]


def test_events_that_may_not_be_read_are_a_note(cluster: LockedCluster) -> None:
    def forbid(request: Request) -> None:
        if request.path.endswith("/events"):
            raise Refused(403, "Forbidden", "events is forbidden")

    cluster.server.before = forbid
    done = rescue(cluster)
    assert done.code == 1
    assert "not asked:" in done.out
    assert "/api/v1/events" in done.out


def test_configuration_that_kyverno_wrote_anew_is_left(cluster: LockedCluster) -> None:
    assert rescue(cluster, "--yes").code == 0
    cluster.answer()
    body = cluster.server.objects[VALIDATING]
    hooks = [{**each, "failurePolicy": "Fail"} for each in body["webhooks"]]
    cluster.server.put(VALIDATING, {**body, "webhooks": hooks})
    cluster.server.put(MUTATING, None)
    before = writes(cluster)
    done = rescue(cluster, "--restore")
    assert done.code == 0, done.err
    assert "validate.kyverno.svc-fail is `Fail` already" in done.out
    assert "mutate.kyverno.svc-fail is gone" in done.out
    assert writes(cluster) == before


def test_restore_needs_the_services_of_the_opened_webhooks_alone(cluster: LockedCluster) -> None:
    assert rescue(cluster, "--yes").code == 0
    cluster.answer()
    body = cluster.server.objects[POLICIES]
    (webhook,) = body["webhooks"]
    where = {"service": {"namespace": "kyverno", "name": "cleanup"}}
    hooks = [webhook, {**webhook, "name": "cleanup.kyverno.svc", "clientConfig": where}]
    cluster.server.put(POLICIES, {**body, "webhooks": hooks})
    assert rescue(cluster, "--restore").code == 0
    assert cluster.policies()["mutate.kyverno.svc-fail"] == "Fail"


def test_second_rescue_keeps_what_the_first_recorded(cluster: LockedCluster) -> None:
    assert rescue(cluster, "--yes").code == 0
    body = cluster.server.objects[MUTATING]
    hooks = [{**each, "failurePolicy": "Fail"} for each in body["webhooks"]]
    cluster.server.put(MUTATING, {**body, "webhooks": hooks})
    assert rescue(cluster, "--yes").code == 0
    cluster.answer()
    assert rescue(cluster, "--restore").code == 0
    assert cluster.policies() == FAILING


def test_configuration_written_meanwhile_is_not_overwritten(cluster: LockedCluster) -> None:
    def conflict(request: Request) -> None:
        if request.method == "PATCH":
            assert (request.body or {})["metadata"]["resourceVersion"]
            raise Refused(409, "Conflict", "the object has been modified")

    cluster.server.before = conflict
    done = rescue(cluster, "--yes")
    assert done.code == 2
    assert "(409)" in done.line
    assert cluster.policies() == FAILING


@from_table("text", "message")
def test_file_that_is_no_record_changes_nothing(
    cluster: LockedCluster, text: str, message: str
) -> None:
    file = cluster.kubeconfig.with_name("chartkit-rescue.yaml")
    file.write_text(text)
    for arguments in (("--yes",), ("--restore", "--force")):
        done = rescue(cluster, *arguments)
        assert done.code == 2
        assert "chartkit-rescue.yaml" in done.line
        assert message in done.line
    assert cluster.policies() == FAILING
    assert file.read_text() == text


def test_restore_without_a_record_is_refused(cluster: LockedCluster) -> None:
    done = rescue(cluster, "--restore")
    assert done.code == 2
    assert done.line.startswith("chartkit-rescue.yaml: there is no record to restore from")


def test_cluster_without_webhooks_of_kyverno_says_so(cluster: LockedCluster) -> None:
    for path in (VALIDATING, MUTATING, POLICIES):
        cluster.server.put(path, None)
    done = rescue(cluster)
    assert done.code == 0
    assert "Kyverno has no webhooks here" in done.out


@pytest.mark.parametrize("odd", ["x", 1, True, [], [1], [None], {}, {"x": 1}, None], ids=repr)
def test_odd_bodies_of_a_server_are_read_as_far_as_they_go(
    cluster: LockedCluster, odd: Any
) -> None:
    hooks: list[Any] = [
        odd,
        {"name": "validate.kyverno.svc-fail", "rules": odd, "namespaceSelector": odd},
        {"name": "y.kyverno.svc", "clientConfig": odd, "rules": [odd, {"resources": [odd]}]},
        {"name": odd, "rules": [{"apiGroups": [odd]}], "failurePolicy": odd},
        {"name": "z.kyverno.svc", "clientConfig": {"service": odd}, "namespaceSelector": {}},
    ]
    hooks[-1]["namespaceSelector"] = {"matchExpressions": [odd, {"values": odd}]}
    server = cluster.server
    server.admit = lambda _request: None
    server.put(VALIDATING, configuration(VALIDATING, hooks))
    server.put(MUTATING, {**configuration(MUTATING, []), "webhooks": odd})
    cluster.answer()
    ends = {"endpoints": [odd, {"conditions": odd, "addresses": odd}]}
    server.put(SLICE, server.objects[SLICE] | ends)
    cluster.replica_set("web", refusal("y.kyverno.svc"))
    for path, body in list(server.objects.items()):
        if "replicasets" in path:
            server.put(path, {**body, "status": {"conditions": [odd, {"type": odd}]}})
    for arguments in ([], ["--yes"], ["--restore", "--force"]):
        assert rescue(cluster, *arguments).code in (0, 1, 2)


@pytest.mark.parametrize(
    "answer",
    [{"type": "object"}, {"items": 3}, {"items": ["x"]}, {"items": [{"metadata": "x"}]}, [], "x"],
)
def test_answers_that_no_api_server_gives(cluster: LockedCluster, answer: Any) -> None:
    """A cluster is not said to be open because its answers say nothing."""

    def odd(request: Request) -> None:
        if request.path.endswith("webhookconfigurations"):
            refused = Refused(200, "", "")
            refused.body = answer
            raise refused

    cluster.server.before = odd
    done = rescue(cluster)
    assert done.code == 2
    assert "with what is not JSON of Kubernetes" in done.err
