"""The cluster around a policy's examples."""

from __future__ import annotations

from pathlib import Path

import pytest

from chartkit.engine.ports.world import OFFLINE
from chartkit.errors import InputError, NoSource
from chartkit.model import Location, Resource
from chartkit.scan.verdicts import example_world

_BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
_CLUSTER = """\
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: b}
"""


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


def test_without_them_there_is_nobody_to_ask(tmp_path: Path) -> None:
    world = example_world(_example(tmp_path))
    assert world is OFFLINE
    with pytest.raises(NoSource):
        world.api.call("GET", _BUDGETS, None)


def test_a_broken_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text("{")
    with pytest.raises(InputError, match=r"cluster\.yaml"):
        example_world(_example(tmp_path))
