"""The cluster around a policy's examples."""

from dataclasses import replace
from pathlib import Path

import pytest

from chartkit.documents.reader import read_text, resources
from chartkit.engine import Request, evaluate
from chartkit.engine.cel_policies import fields
from chartkit.engine.ports.world import OFFLINE
from chartkit.errors import InputError, NoSource
from chartkit.model import Location, Resource
from chartkit.scan.policies import compile_all
from chartkit.scan.verdicts import example_world, judge
from tests.data import beside

_TEXTS = beside(__file__)

_BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
_CLUSTER = _TEXTS["cluster"]


def _example(folder: Path) -> Resource:
    return Resource({"kind": "Deployment"}, Location(str(folder / "good.yaml"), 1))


def test_objects_beside_an_example_are_there(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(_CLUSTER)
    world = example_world(_example(tmp_path))
    (budget,) = world.api.call("GET", _BUDGETS, None)["items"]
    assert budget["metadata"]["name"] == "web"
    assert world.api.configmap("default", "settings")["data"] == {"a": "b"}
    (listed,) = world.api.cluster("p", "").listed("policy/v1", "poddisruptionbudgets", "default")
    assert listed == budget


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(_CLUSTER)
    example_world(_example(tmp_path))
    (tmp_path / "cluster.yaml").write_text(_CLUSTER.replace("{a: b}", "{a: changed}"))
    world = example_world(_example(tmp_path))
    assert world.api.configmap("default", "settings")["data"] == {"a": "changed"}


def test_without_them_there_is_nobody_to_ask(tmp_path: Path) -> None:
    world = example_world(_example(tmp_path))
    assert world is OFFLINE
    with pytest.raises(NoSource):
        world.api.call("GET", _BUDGETS, None)


def test_a_broken_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text("{")
    with pytest.raises(InputError, match=r"cluster\.yaml"):
        example_world(_example(tmp_path))


_CEL = _TEXTS["cel"]


def test_a_verdict_needs_no_fields(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (policy,) = compile_all([*resources(read_text(_CEL))]).policies
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\ndata: {a: bad}\n"
    (given,) = resources(read_text(text, str(tmp_path / "bad.yaml")))
    request = Request(given)
    (with_fields,) = evaluate([policy], request, example_world(given))
    assert with_fields.fields == ("/data/a",)

    def fail(*_: object) -> tuple[str, ...]:
        raise AssertionError("the fields of a failure are looked for")

    monkeypatch.setattr(fields, "fields_of", fail)
    world = example_world(given, wants_fields=False)
    (without,) = evaluate([policy], request, world)
    assert without == replace(with_fields, fields=())
    assert judge([policy], (), given, world).said == "m"
