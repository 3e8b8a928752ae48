"""Rows on kinds and fields of workloads, as the Kubernetes of each environment has them."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from chartkit.project.project import read_project
from chartkit.render.checks.run import object_fields
from tests.data import beside

_TEXTS = beside(__file__)

PROJECT = _TEXTS["project"]
OBJECTS = _TEXTS["objects"]


def test_the_environment_decides(tmp_path: Path) -> None:
    (tmp_path / "chartkit.yaml").write_text(PROJECT)
    (tmp_path / "apps").mkdir()
    (tmp_path / "apps" / "a.yaml").write_text(OBJECTS)
    project = read_project(tmp_path)
    found = {}
    for name, environment in project.environments.items():
        workloads = environment.workloads
        subject: Any = SimpleNamespace(
            project=project, environment=environment, workloads=workloads, others=()
        )
        rows = object_fields(subject)
        found[name] = [(row.location.line, row.message) for row in rows if row.location]
    claim = "Kubernetes 1.33 does not serve ResourceClaim of resource.k8s.io/v1: it came with 1.34"
    fields = "Pod: spec.hostNetwok is not a field of Kubernetes 1."
    widget = (27, "Widget: spec.colour is not a field of example.com/v1")
    assert found == {
        "old": [(2, claim), (9, f"{fields}33"), widget],
        "new": [(9, f"{fields}35"), widget],
    }
