"""A server that answers with what is no answer: never a scan of nothing that passes."""

from typing import Any

import pytest

from chartkit.errors import InputError
from chartkit.model import Body
from chartkit.network.cluster.reader import Reader, listed
from chartkit.network.cluster.source import RefusedError
from tests.unit.network.cluster.conftest import World
from tests.unit.network.cluster.server import labelled

NO_LIST: list[Body] = [
    {},
    {"type": "object"},
    {"kind": "Pod", "items": []},
    {"kind": "Status", "items": [], "status": "Success"},
    {"kind": "PodList"},
    {"kind": "PodList", "items": {}},
    {"kind": "PodList", "items": "x"},
    {"kind": "PodList", "items": ["x"]},
    {"kind": "PodList", "items": [{"metadata": "x"}]},
    {"kind": "PodList", "items": [None]},
    {"kind": "PodList", "items": [{"metadata": {}}]},
    *(
        {"kind": "PodList", "items": [{"metadata": {"name": "a", key: wrong}}]}
        for key in ("name", "namespace")
        for wrong in (1, 1.5, True, ["a"], [], {}, {"a": "b"})
    ),
    {"kind": "PodList", "items": [{"metadata": {"name": None}}]},
    {"kind": 1, "items": []},
]
PODS = {"name": "pods", "kind": "Pod", "namespaced": True, "verbs": ["list"]}


class _Answers:
    """A server of fixed answers; the answer of every other path is the one for ``*``."""

    fault = None

    def __init__(self, answers: dict[str, Any]) -> None:
        self._answers = answers

    def get(self, path: str, /) -> Body:
        found: Body = self._answers.get(path.partition("?")[0], self._answers["*"])
        return found


@pytest.mark.parametrize("answer", NO_LIST)
def test_what_is_no_list_of_objects(answer: Body) -> None:
    with pytest.raises(RefusedError, match="the response"):
        list(listed(_Answers({"*": answer}), "/api/v1/pods", "v1", "Pod"))


@pytest.mark.parametrize("items", [[], None, [{"metadata": {"name": "a"}}]])
def test_what_is_a_list(items: Any) -> None:
    found = list(
        listed(_Answers({"*": {"kind": "PodList", "items": items}}), "/api/v1/pods", "v1", "Pod")
    )
    assert len(found) == len(items or ())


@pytest.mark.parametrize("answer", [{"type": "object"}, {"kind": "APIGroupList"}, {"groups": "x"}])
def test_a_server_that_does_not_say_what_it_serves(answer: Body) -> None:
    with pytest.raises(InputError, match="does not say what it serves: the response is not"):
        Reader(_Answers({"*": answer}))


@pytest.mark.parametrize(
    "wrong", [None, 1, True, "x", [], ["a"], [None], {}, {"a": "b"}, [{"a": 1}]]
)
def test_groups_and_resources_with_values_of_any_type(wrong: Any) -> None:
    group: Body = {"name": "a", "versions": [{"groupVersion": "a/v1", "version": "v1"}]}
    group["preferredVersion"] = {"groupVersion": "a/v1"}
    for key in (*PODS, "shortNames", "group", "version", "singularName"):
        resources = {"kind": "APIResourceList", "resources": [{**PODS, key: wrong}]}
        for changed in group:
            groups = {"kind": "APIGroupList", "groups": [{**group, changed: wrong}]}
            reader = Reader(_Answers({"/apis": groups, "*": resources}))
            assert all(isinstance(each.name, str) for each in reader.discovery.all)


def test_a_version_whose_resources_are_no_list() -> None:
    groups = {"kind": "APIGroupList", "groups": []}
    reader = Reader(_Answers({"/apis": groups, "*": {"type": "object"}}))
    assert list(reader.unread) == ["the kinds of v1"]


def test_lists_that_are_none_are_not_read() -> None:
    answers: dict[str, Body] = {
        "/apis": {"kind": "APIGroupList", "groups": []},
        "/api/v1": {"kind": "APIResourceList", "resources": [PODS]},
        "*": {"type": "object"},
    }
    reader = Reader(_Answers(answers))
    [pods] = reader.discovery.all
    assert list(reader.everywhere(pods)) == []
    assert reader.unread["pods"] == "the response is not a list"
    assert not reader.namespaces
    assert "namespaces" in reader.unread


def test_a_scan_of_such_a_server_fails(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    named = world.policies(labelled())
    monkeypatch.setattr(type(world.server), "answer", lambda *_: {"type": "object"})
    code, out, err = world.scan("--cluster", *named)
    assert (code, out) == (2, "")
    assert "is this an API server?" in err
