"""What the engine's rendered controllers say of policies that call services."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from chartkit.kyverno.controllers import allows_http, controllers
from chartkit.model import Resource
from chartkit.project.project import Project
from chartkit.render.pipeline import RenderOptions, render_project
from tests.data import beside, from_table
from tests.unit.project.project_files import write_profile, write_project

FLAG = "allowHTTPInNamespacedPolicies"
NAMES = ("admission", "background", "cleanup", "reports")


def _controller(name: str, **container: Any) -> Resource:
    metadata = {"name": name, "labels": {"app.kubernetes.io/component": f"{name}-controller"}}
    spec = {"template": {"spec": {"containers": [{"name": "other"}, {"name": "c", **container}]}}}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
    return Resource(body)


@from_table("container", "is_on")
def test_a_flag_of_a_controller(container: Any, is_on: bool) -> None:
    assert allows_http([_controller("admission", **container)]) == is_on


@from_table("args", "alone", "value")
def test_the_last_value_of_a_flag_counts(args: Any, alone: str | None, value: str) -> None:
    (found,) = controllers([_controller("admission", args=args)])
    assert found.flag("wait", "10", alone) == value


def test_every_controller_needs_it() -> None:
    on = {"args": [f"--{FLAG}=true"]}
    assert allows_http([_controller(name, **on) for name in NAMES])
    assert not allows_http([_controller("admission", **on), _controller("cleanup")])
    assert not allows_http([])


POLICY = beside(__file__)["policy"]
PROJECT = """\
library: [policies]
profiles: [./all.yaml]
environments:
  dev: {kubernetes: "1.34", kyverno: "1.19"}
"""
FORBIDDEN = (
    "spec: Forbidden: http.* is not allowed in namespaced policies; set "
    "--allowHTTPInNamespacedPolicies to enable"
)


def _said(project: Project) -> list[str]:
    """What a render says of the policies."""
    options = RenderOptions(tuple(project.environments.values()))
    return [row.message for row in render_project(project, options).rows if row.check == "policies"]


@pytest.mark.slow
def test_a_render_knows_the_charts_values(tmp_path: Path) -> None:
    (tmp_path / "policies" / "asks").mkdir(parents=True)
    (tmp_path / "policies" / "asks" / "asks.yaml").write_text(POLICY)
    write_profile(tmp_path / "all.yaml", "policies:\n  asks: {}")
    project = write_project(tmp_path, PROJECT)
    assert _said(project) == [FORBIDDEN]
    file = tmp_path / "charts" / "kyverno" / "values_dev.yaml"
    assert not file.exists(), "a policy that Kyverno refuses is a failed check"
    file.parent.mkdir(parents=True)
    values: dict[str, Any] = {}
    for name in NAMES:
        own = values.setdefault(f"{name}Controller", {})
        own = own.setdefault("container", {}) if name == "admission" else own
        own["extraArgs"] = {FLAG: True}
    file.write_text(yaml.safe_dump(values))
    assert _said(project) == ["1 policy compiles"]
