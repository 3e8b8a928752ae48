"""What expressions are answered from a scan's objects and recorded answers."""

import json
from datetime import UTC, datetime

import pytest

from chartkit.engine.cel.cluster_host import ClusterHost
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cli_files.world import UserApi
from chartkit.engine.ports.services import Cluster, ServiceAnswer, ServiceCall
from chartkit.engine.ports.world import (
    OFFLINE,
    NoMocks,
    Recorded,
    UnknownEntry,
    World,
)
from chartkit.errors import LookupFailed, NoSource
from chartkit.go.strconv import Int64
from chartkit.model import Body, Json


def _object(kind: str, name: str, namespace: str = "", **labels: str) -> Body:
    metadata: Body = {"name": name, "labels": labels}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata}


_A = _object("ConfigMap", "a", "team", app="x")
_B = _object("ConfigMap", "b", "other", app="y")
_TEAM = _object("Namespace", "team")
_RECORDED = {
    "GET http://s": Recorded(404, {"n": 1}),
    "GET http://list": Recorded(200, [1]),
    "POST /apis/authorization.k8s.io/v1/subjectaccessreviews": Recorded(201, {"ok": True}),
}


class _Mocks(NoMocks):
    def recorded(self, method: str, url: str, /) -> Recorded | None:
        return _RECORDED.get(f"{method} {url}")


class _Services:
    def ask(self, call: ServiceCall, /) -> ServiceAnswer:
        sent = {"url": call.url, "headers": dict(call.headers), "data": (call.body or b"").decode()}
        return ServiceAnswer(200, "OK", json.dumps(sent).encode())


class _Entries:
    def data(self, name: str, projection: str, /) -> Json:
        if name == "unknown":
            raise UnknownEntry("failed to fetch entry key=unknown")
        if projection:
            raise LookupFailed(f'projection "{projection}" not found')
        return [name]


_WORLD = World(
    api=UserApi(Cluster([_A, _B, _TEAM])),
    services=_Services(),
    global_context=_Entries(),
    mocks=_Mocks(),
)


def _host(namespace: str = "") -> ClusterHost:
    return ClusterHost(
        _WORLD,
        "policy",
        namespace=namespace,
        now=lambda: datetime(2024, 1, 1, tzinfo=UTC),
        chance=lambda limit: limit - 1,
    )


@pytest.mark.parametrize(
    ("resource", "namespace", "name", "found"),
    [
        ("configmaps", "team", "a", _A),
        ("configmaps", "", "a", None),
        ("configmaps", "other", "a", None),
        ("namespaces", "", "team", _TEAM),
        ("secrets", "team", "a", None),
        ("configmaps/status", "team", "a", _A),
    ],
)
def test_an_object_is_found_in_its_namespace_alone(
    resource: str, namespace: str, name: str, found: Body | None
) -> None:
    assert _host().get_resource("v1", resource, namespace, name) == found


def test_a_list_is_of_a_namespace_or_of_all_and_labels_select() -> None:
    listed = _host().list_resources("v1", "configmaps", "team", {})
    assert listed == {"apiVersion": "v1", "kind": "ConfigMapList", "items": [_A]}
    assert _host().list_resources("v1", "configmaps", "", {})["items"] == [_B, _A]
    assert _host().list_resources("v1", "configmaps", "", {"app": "y"})["items"] == [_B]
    assert _host().list_resources("v1", "configmaps", "none", {})["items"] == []


def test_a_kind_of_kubernetes_may_have_no_object() -> None:
    listed = _host().list_resources("apps/v1", "deployments", "", {})
    assert listed == {"apiVersion": "apps/v1", "kind": "DeploymentList", "items": []}


def test_another_resource_of_which_there_is_none_cannot_be_listed() -> None:
    with pytest.raises(CelError, match=r"^nodepools\.karpenter\.sh resource not found$"):
        _host().list_resources("karpenter.sh/v1", "nodepools", "", {})


def test_an_entry_that_is_not_there_is_null_and_a_wrong_projection_an_error() -> None:
    assert _host().global_context("e", "") == ["e"]
    assert _host().global_context("unknown", "") is None
    with pytest.raises(CelError, match="projection"):
        _host().global_context("e", "p")


def test_without_anybody_to_ask_an_entry_is_null() -> None:
    with pytest.raises(NoSource):
        OFFLINE.global_context.data("e", "")
    assert ClusterHost(OFFLINE, "p").global_context("e", "") is None


def test_an_answer_has_its_status_beside_it() -> None:
    answer = _host().http("GET", "http://s", {}, None, "")
    assert answer == {"n": 1, "body": {"n": 1}, "statusCode": 404}
    answer = _host().http("GET", "http://list", {}, None, "")
    assert answer == {"body": [1], "statusCode": 200}
    assert isinstance(answer["statusCode"], Int64)
    asked = _host().http("POST", "http://x", {"A": "b"}, {"c": 1}, "")
    assert asked["headers"] == {"A": "b"}
    assert asked["data"] == '{"c":1}\n'


def test_what_is_sent_to_the_cluster_needs_a_recorded_answer() -> None:
    host = _host()
    kind = ("authorization.k8s.io/v1", "subjectaccessreviews")
    assert host.post_resource(*kind, "", {}) == {"ok": True}
    with pytest.raises(CelError, match="no cluster to ask"):
        host.post_resource("v1", "pods", "team", {})


def test_what_is_generated_gets_its_namespace_and_whole_numbers() -> None:
    host = _host()
    made = {**_object("ConfigMap", "x", "elsewhere"), "n": 1.0, "f": 1.5}
    host.generate("team", [made, {"kind": "List", "apiVersion": "v1", "items": [_B]}])
    assert [each["metadata"].get("namespace") for each in host.generated] == ["team", "team"]
    assert [repr(host.generated[0][key]) for key in "nf"] == ["1", "1.5"]
    assert made["metadata"]["namespace"] == "elsewhere"


def test_what_stands_outside_namespaces_is_generated_there() -> None:
    host = _host()
    host.generate("team", [_TEAM])
    assert "namespace" not in host.generated[0]["metadata"]
    with pytest.raises(CelError, match="cross-scope generation denied"):
        _host("team").generate("team", [_TEAM])


def test_time_and_chance_are_those_that_were_given() -> None:
    assert _host().now() == datetime(2024, 1, 1, tzinfo=UTC)
    assert _host().random_below(7) == 6
    assert 0 <= ClusterHost(OFFLINE, "p").random_below(3) < 3
