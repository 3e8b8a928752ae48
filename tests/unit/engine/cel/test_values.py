"""Values of CEL: times, maps with keys of any type, images, and what hosts answer."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from chartkit.engine.cel import compile_expression
from chartkit.engine.cel.cluster_host import ClusterHost
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.errors import CelError, Stopped
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.notation import notation
from chartkit.engine.cel.times import (
    Duration,
    Timestamp,
    duration_of_text,
    in_zone,
    timestamp_of_text,
)
from chartkit.engine.cel.values import KeyedMap, Uint
from chartkit.engine.cli_files.world import UserApi
from chartkit.engine.ports.services import Cluster, ServiceAnswer, ServiceCall
from chartkit.engine.ports.world import OFFLINE, NoMocks, Recorded, UnknownEntry, World
from chartkit.errors import LookupFailed, NoSource
from chartkit.go.strconv import Int64
from chartkit.model import Body, Json
from tests.data import from_table, tables
from tests.errors import error_of

_TABLES = tables(__file__)


@from_table("text", "printed")
def test_a_timestamp_prints_as_it_was_written(text: str, printed: str) -> None:
    assert str(timestamp_of_text(text)) == printed


@from_table("text", "message")
def test_what_is_no_timestamp(text: str, message: str) -> None:
    assert str(error_of(CelError, timestamp_of_text, text)) == message


@from_table("text", "printed")
def test_a_duration_prints_its_seconds(text: str, printed: str) -> None:
    assert str(duration_of_text(text)) == printed


def test_what_is_no_duration() -> None:
    error = error_of(CelError, duration_of_text, "1d")
    assert str(error) == "type conversion error from 'string' to 'google.protobuf.Duration'"


def test_a_sum_keeps_the_offset() -> None:
    later = timestamp_of_text("2024-05-06T23:00:00+02:00").plus(duration_of_text("2h"))
    assert str(later) == "2024-05-07T01:00:00+02:00"


def test_sums_stay_within_the_years() -> None:
    with pytest.raises(CelError, match="timestamp overflow"):
        timestamp_of_text("9999-12-31T23:59:59Z").plus(Duration(10**9))


def test_differences_stay_within_64_bits() -> None:
    with pytest.raises(CelError, match="integer overflow"):
        timestamp_of_text("9999-12-31T00:00:00Z").minus(timestamp_of_text("0001-01-01T00:00:00Z"))


def test_equality_and_order_do_not_see_the_offset() -> None:
    assert timestamp_of_text("2024-05-06T07:00:00Z") == timestamp_of_text(
        "2024-05-06T09:00:00+02:00"
    )
    assert not Timestamp(0, 60) < Timestamp(0)


@from_table("zone", "offset")
def test_times_zones(zone: str, offset: int) -> None:
    assert in_zone(timestamp_of_text("2024-07-01T12:00:00Z"), zone).offset == offset


@from_table("zone", "message")
def test_what_is_no_zone(zone: str, message: str) -> None:
    assert str(error_of(CelError, in_zone, Timestamp(0), zone)) == message


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_zones_at_the_ends_of_time(text: str) -> None:
    assert in_zone(timestamp_of_text(text), "Asia/Tokyo").offset > 0


_MIXED = "{dyn(true): 'a', dyn(1): 'b', dyn(1u): 'c', dyn(1.0): 'd'}"


@from_table("expression", "expected")
def test_each_type_has_its_own_keys(expression: str, expected: object) -> None:
    environment = ENVIRONMENTS["standard"]
    program = compile_expression(expression, environment)
    assert program.evaluate({}) == expected


def test_bytes_are_no_key() -> None:
    with pytest.raises(CelError, match="hash of unhashable type"):
        compile_expression("{b'a': 1}", ENVIRONMENTS["standard"]).evaluate({})


def test_it_is_a_dict_like_any_other() -> None:
    entries = KeyedMap([(1, "a"), (Uint(1), "b")])
    assert isinstance(entries, dict)
    assert list(entries) == list(entries.keys()) == [1, 1]
    assert list(entries.values()) == ["a", "b"]
    assert dict(entries) == {1: "b"}
    assert {**entries} == {1: "b"}
    assert entries.get(1) == entries[1] == "a"
    assert entries.get(2) is None
    assert 1.0 not in entries
    assert entries == KeyedMap([(1, "a"), (Uint(1), "b")])
    assert entries != KeyedMap([(1, "a")])
    assert entries != {}
    assert repr(entries) == "{1: 'a', 1u: 'b'}"
    assert entries.pop(1) == "a"
    assert entries.pop(1, "gone") == "gone"
    assert len(entries) == 1


def test_a_map_that_go_cannot_hold_stops_the_evaluation() -> None:
    text = "listObjToMap([{'k': 'a'}], [{{1: 'x'}: 'x'}], 'k', 'v') == {} || true"
    with pytest.raises(Stopped, match="hash of unhashable type map"):
        compile_expression(text, ENVIRONMENTS["gpol"]).evaluate({})


IMAGE: Body = _TABLES["image"]


class Registry(Host):
    """A registry with one image."""

    def __init__(self, image: Any) -> None:
        self._image = image

    def image_data(self, _reference: str, /) -> Body:
        found: Body = self._image
        return found


def value(expression: str, image: Any = IMAGE) -> str:
    program = compile_expression(
        expression.replace("IMAGE", "getImageData('a')"), ENVIRONMENTS["ivpol"]
    )
    return notation(program.evaluate({}, Registry(image)))


@from_table("expression", "expected")
def test_native_images_fields(expression: str, expected: str) -> None:
    assert value(expression) == expected


@from_table("expression", "message")
def test_what_is_not_there(expression: str, message: str) -> None:
    assert error_of(CelError, value, expression).message == message


@pytest.mark.parametrize(
    ("image", "expression", "expected"),
    [
        ({"configData": {"config": {"User": "a"}}}, "IMAGE.ConfigData.Config.User", '"a"'),
        (
            {"manifest": [1], "digest": 5},
            "IMAGE.Digest + string(IMAGE.Manifest.SchemaVersion)",
            '"0"',
        ),
        (
            {"manifest": {"layers": ["x", None, {"size": 2**70, "digest": 1, "data": "%"}]}},
            "IMAGE.Manifest.Layers.map(one, one.Size + int(one.Data.size()))",
            "[0, 0, 0]",
        ),
        (
            {
                "config": {
                    "created": "soon",
                    "config": {"Labels": "x", "Healthcheck": {"Interval": "1"}},
                }
            },
            "IMAGE.ConfigData.Created.Time == timestamp('0001-01-01T00:00:00Z') && "
            "IMAGE.ConfigData.Config.Labels.size() == 0 && "
            "IMAGE.ConfigData.Config.Healthcheck.Interval == duration('0s')",
            "true",
        ),
    ],
)
def test_answers_of_another_shape(image: Body, expression: str, expected: str) -> None:
    assert value(expression, image) == expected


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
