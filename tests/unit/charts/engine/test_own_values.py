"""`engineValues`: the project's own values files for the engine's chart."""

from pathlib import Path

import pytest
import yaml

from chartkit.charts.engine.values import own_values
from chartkit.errors import InputError
from chartkit.project.project import read_project
from chartkit.render.pipeline import RenderOptions, render_project
from tests.unit.render.test_pipeline import PROFILE, rows

TEXT = """\
profiles: [./small.yaml]
environments:
  prd:
    kyverno: "1.19"
    kubernetes: "1.34"
    highAvailability: true
    engineValues: [one.yaml, two.yaml]
"""


def project(folder: Path, one: str, two: str) -> Path:
    (folder / "small.yaml").write_text(PROFILE)
    (folder / "chartkit.yaml").write_text(TEXT)
    (folder / "one.yaml").write_text(one)
    (folder / "two.yaml").write_text(two)
    return folder


@pytest.mark.slow
def test_files_are_merged_over_what_chartkit_sets(tmp_path: Path) -> None:
    first = "admissionController: {replicas: 5, priorityClassName: a}\n"
    one = f"{first}reportsController: {{replicas: 1}}\n"
    found = read_project(project(tmp_path, one, "admissionController: {replicas: 4}\n"))
    done = render_project(found, RenderOptions(tuple(found.environments.values())))
    # The one replica of the reports controller fails the environment, at its line.
    assert done.failed
    (row,) = [each for each in rows(done, "availability") if each.outcome == "fail"]
    assert str(row.location) == f"{tmp_path}/one.yaml:2:21"
    (tmp_path / "one.yaml").write_text(first)
    done = render_project(found, RenderOptions(tuple(found.environments.values())))
    values = yaml.safe_load((tmp_path / "charts/kyverno/values_prd.yaml").read_text())
    admission = values["admissionController"]
    assert (admission["replicas"], admission["priorityClassName"]) == (4, "a")
    assert values["reportsController"] == {"replicas": 2}


@pytest.mark.slow
def test_a_mistake_is_at_its_line(tmp_path: Path) -> None:
    two = "features:\n  policyExceptions: {enable: true}\nadmisionController: {}\n"
    found = read_project(project(tmp_path, "{}\n", two))
    done = render_project(found, RenderOptions(tuple(found.environments.values())))
    failed = [each for each in rows(done, "values") if each.outcome == "fail"]
    assert {(str(each.location), each.hint) for each in failed} == {
        (f"{tmp_path}/two.yaml:2:22", "did you mean 'enabled'?"),
        (f"{tmp_path}/two.yaml:3:1", "did you mean 'admissionController'?"),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "there is no values file"),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
            "is an object of kind ConfigMap",
        ),
        ("- a\n", "mapping"),
        ("a: 1\na: 2\n", "the key 'a' stands here a second time"),
    ],
)
def test_a_file_that_holds_no_values_is_refused(
    tmp_path: Path, text: str | None, message: str
) -> None:
    folder = project(tmp_path, "{}\n", text or "")
    if text is None:
        (folder / "two.yaml").unlink()
    with pytest.raises(InputError) as raised:
        own_values(read_project(folder).environment("prd"))
    assert message in str(raised.value)
