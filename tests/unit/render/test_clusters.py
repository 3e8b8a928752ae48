"""Environments of several clusters: values files, checks and manifests of each."""

from pathlib import Path

import pytest
import yaml

from chartkit.project.project import read_project
from chartkit.render.environment import project_environment
from chartkit.render.model import RenderResult
from chartkit.render.pipeline import RenderOptions, render_project
from tests.data import beside
from tests.unit.render.test_pipeline import PROFILE, rows

TEXT = beside(__file__)["text"]


def render(folder: Path, text: str = TEXT) -> RenderResult:
    (folder / "small.yaml").write_text(PROFILE)
    (folder / "chartkit.yaml").write_text(text)
    found = read_project(folder)
    return render_project(found, RenderOptions(tuple(found.environments.values())))


@pytest.mark.slow
def test_each_cluster_is_rendered_and_checked(tmp_path: Path) -> None:
    done = render(tmp_path)
    assert not done.failed, done.rows
    assert [row.environment for row in rows(done, "compatibility")] == [
        "prd/east",
        "prd/west",
        "qa",
    ]
    assert "EKS" in rows(done, "compatibility")[1].message
    assert [path.name for path in done.written] == [
        "kyverno-policies",
        "prd_east",
        "prd_west",
        "qa",
    ]
    chart = tmp_path / "charts/kyverno-policies"
    texts = {file.name: file.read_text() for file in chart.glob("values_*")}
    bodies = {name: yaml.safe_load(text) for name, text in texts.items()}
    assert bodies["values_prd.yaml"] == {
        "kyvernoVersion": "1.19",
        "validationFailureAction": "Enforce",
        "exclude": {"any": [{"resources": {"namespaces": ["kyverno"]}}]},
    }
    assert bodies["values_prd_east.yaml"] is None
    assert bodies["values_prd_west.yaml"] == {
        "policies": {"disallow-host-path": {"action": "Audit"}}
    }
    assert "# the engine" in texts["values_prd.yaml"]
    assert "eu-central-1" in texts["values_prd_east.yaml"]
    assert set(bodies) == {
        "values_prd.yaml",
        "values_prd_east.yaml",
        "values_prd_west.yaml",
        "values_qa.yaml",
    }


def test_a_scan_has_the_policies_of_one_cluster(tmp_path: Path) -> None:
    render(tmp_path)
    project = read_project(tmp_path)
    actions = {}
    for name in ("prd/east", "prd/west"):
        found = project_environment(project, project.environment(name))
        (policy,) = (each for each in found.resources if each.name == "disallow-host-path")
        actions[name] = policy.body["spec"]["validationActions"]
    assert actions == {"prd/east": ["Deny"], "prd/west": ["Audit"]}


def test_a_mistake_in_a_cluster_is_at_its_place(tmp_path: Path) -> None:
    text = TEXT.replace('eks: "1.33"', 'eks: "1.20"')
    failed = [row for row in render(tmp_path, text).rows if row.outcome == "fail"]
    assert {(row.environment, row.check) for row in failed} >= {("prd/west", "compatibility")}
