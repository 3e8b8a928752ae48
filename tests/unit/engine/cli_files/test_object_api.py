from typing import Any

import pytest

from chartkit.engine.cli_files.world import ObjectApi, PartialApi
from chartkit.errors import LookupFailed, NoSource
from tests.data import from_table
from tests.errors import error_of


def body(api_version: str, kind: str, namespace: str, name: str) -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


API = ObjectApi(
    [
        body("v1", "Namespace", "", "shop"),
        body("v1", "Pod", "shop", "b"),
        body("v1", "Pod", "shop", "a"),
        body("v1", "Pod", "other", "c"),
        body("apps/v1", "Deployment", "shop", "a"),
        body("networking.k8s.io/v1", "Ingress", "shop", "i"),
    ]
)


@from_table("path", "names")
def test_object_api_lists(path: str, names: list[str]) -> None:
    found = API.answer("GET", path)
    assert [item["metadata"]["name"] for item in found["items"]] == names
    assert found["kind"].endswith("List")


@from_table("path", "kind")
def test_object_api_objects(path: str, kind: str) -> None:
    assert API.answer("GET", path)["kind"] == kind


@from_table("method", "path", "message")
def test_what_has_no_answer(method: str, path: str, message: str) -> None:
    assert message in error_of(LookupFailed, API.answer, method, path).message


PART = PartialApi([body("v1", "Pod", "shop", "a"), body("karpenter.sh/v1", "NodePool", "", "n")])


@from_table("path", "names")
def test_a_part_lists_what_it_has_and_kinds_of_kubernetes(path: str, names: list[str]) -> None:
    found = PART.answer("GET", path)
    assert [item["metadata"]["name"] for item in found["items"]] == names


@from_table("method", "path")
def test_a_part_does_not_know_what_it_does_not_have(method: str, path: str) -> None:
    with pytest.raises(NoSource):
        PART.answer(method, path)
    assert PART.answer("GET", "/api/v1/namespaces/shop/pods/a")["kind"] == "Pod"
