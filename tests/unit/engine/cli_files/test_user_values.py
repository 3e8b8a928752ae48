"""Values files, settings and mocks."""

import pytest

from chartkit.engine.cli_files.admissions import UserValues
from chartkit.engine.cli_files.user_files import read_settings, read_values
from chartkit.engine.cli_files.world import UserApi, UserGlobalContext, UserMocks
from chartkit.errors import InputError, LookupFailed, NoSource
from chartkit.model import Body, Json, Location
from tests.data import from_table, tables

PLACE = Location("values.yaml", 1, 1)

BODY: Body = tables(__file__)["body"]


def test_the_first_values_that_fit_a_rule_are_its_own() -> None:
    names = ("autogen-a", "a", "b", "autogen-b")
    values = UserValues(by_rule={("p", name): {"of": name} for name in names})
    rules = ("autogen-a", "autogen-cronjob-a", "b", "autogen-b")
    assert [values.for_rule("p", rule)["of"] for rule in rules] == ["autogen-a", "a", "b", "b"]


def test_user_values() -> None:
    values = read_values(BODY, PLACE, {"s": "set"})
    assert values.for_resource("p", "r") == {
        "a": "resource",
        "b.c": 1,
        "request.operation": "UPDATE",
        "s": "set",
    }
    assert values.for_resource("other", "r")["a"] == "global"
    assert values.for_rule("p", "u") == {"v": 1, "e": "x"}
    assert values.for_rule("p", "other") == {}
    assert values.labels == {"n": {"b": "2"}, "m": {}}
    assert values.operation("p", "r") == "UPDATE"


def test_nothing_given() -> None:
    values = read_values(None, PLACE)
    assert values == UserValues()
    assert values.operation("p", "r") == "CREATE"


@from_table("body", "message")
def test_user_values_faults(body: Json, message: str) -> None:
    with pytest.raises(InputError) as raised:
        read_values(body, PLACE)
    assert raised.value.message.startswith(message)
    assert raised.value.location == PLACE


def test_user_values_settings() -> None:
    texts = ["a=1", " b = 2 ", "a=3", "c", "d=", "=e", "f=1=2", "request.object.x=1"]
    assert read_settings(texts) == {"a": "1", "b": "2"}


def test_global_entries() -> None:
    entries = UserGlobalContext(tables(__file__)["global_entries"])
    assert entries.data("plain", "") == {"a": {"b": 1}}
    assert entries.data("plain", "a") == {"b": 1}
    assert entries.data("path", "") == 1
    assert entries.data("named", "kinds") == ["Pod"]
    assert entries.data("empty", "") is None
    for name, projection, message in (
        ("plain", "z", '^global context mock: projection "z" not found$'),
        ("path", "z", "requested but value is not an object$"),
        ("bad", "", '^globalContextEntries "bad" fieldPath: Unknown key "zz" in path$'),
        ("lost", "", "data is required when projections are set$"),
        ("zz", "", "^failed to fetch entry key=zz$"),
    ):
        with pytest.raises(LookupFailed, match=message):
            entries.data(name, projection)


def test_user_values_configmaps() -> None:
    body = {"metadata": {"name": "c", "namespace": "n"}, "data": {}}
    assert UserApi(configmaps=[body]).configmap("n", "c") is body
    with pytest.raises(NoSource):
        UserApi().configmap("n", "c")


def test_recorded_calls() -> None:
    calls = [
        {"urlPath": "/a", "response": {"body": 1}},
        {"urlPath": "/a", "method": "post", "response": {"body": 2, "statusCode": 201}},
    ]
    mocks = UserMocks(api_calls=calls)
    assert mocks.has_recorded
    get, post = mocks.recorded("GET", "/a"), mocks.recorded("POST", "/a")
    assert get is not None
    assert (get.status, get.body) == (200, 1)
    assert post is not None
    assert (post.status, post.body) == (201, 2)
    assert mocks.recorded("GET", "/b") is None
    assert not UserMocks().has_recorded
