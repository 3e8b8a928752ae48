"""The identity of violations."""

import pytest

from chartkit.model import Location, Resource, RuleResult, RuleType, Status
from chartkit.scan.gate.violation import (
    Violation,
    field_path,
    kind_and_namespace,
    object_name,
    violations_of,
)
from tests.data import from_table

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "cart", "namespace": "shop", "annotations": {"example.com/a": "b"}},
    "spec": {
        "containers": [{"name": "app"}, {"name": "twice"}, {"name": "twice"}, "x"],
        "volumes": [{"name": ""}],
    },
}


@from_table("pointer", "path")
def test_items_of_lists_have_their_names(pointer: str, path: str) -> None:
    assert field_path(POD, pointer) == path


def test_each_field_is_a_violation() -> None:
    result = RuleResult("p", "r", RuleType.VALIDATION, Status.FAIL, "no", fields=("/spec/a", "/b"))
    found = list(violations_of(Resource(POD), result))
    name = "v1/Pod/shop/cart"
    assert found == [Violation("p", "r", name, "spec.a"), Violation("p", "r", name, "b")]


def test_object_without_a_name_is_known_by_its_file() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "a-"}}
    name = object_name(Resource(pod, Location("a/pods.yaml", 7, 1, "/items/3")))
    assert name == "v1/Pod// in a/pods.yaml/items/3"
    assert kind_and_namespace(name) == ("v1", "Pod", "")
    assert object_name(Resource({"a": 1}, Location("a/b.json", 7))) == "a/b.json"


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("apps/v1/Deployment/shop/cart", ("apps/v1", "Deployment", "shop")),
        ("v1/Namespace//shop", ("v1", "Namespace", "")),
        ("a/b.json", ("", "", "")),
    ],
)
def test_kind_and_namespace_of_an_object(name: str, parts: tuple[str, str, str]) -> None:
    assert kind_and_namespace(name) == parts
