"""The policies chart as four Kyverno versions get it, to the letter.

`pytest tests/golden --update-golden` writes the expectations anew.
"""

from functools import cache
from pathlib import Path

import pytest

from chartkit.charts.plan import ChartPlan
from chartkit.charts.policies.chart import plan
from chartkit.documents.reader import parse_yaml
from chartkit.documents.yaml_dump import dump_documents
from chartkit.helm.render import dry_run, render_chart
from chartkit.project.project import Project, read_project
from tests.conftest import Golden

_FOLDER = Path(__file__).parent / "policies_chart"
_EXPECTED = "policies_chart/expected/"
_ENVIRONMENTS = ("v1-8", "v1-10", "v1-12", "v1-19")


@cache
def _project() -> Project:
    return read_project(_FOLDER)


@cache
def _plan() -> ChartPlan:
    return plan(_project())


@pytest.mark.parametrize("name", _ENVIRONMENTS)
def test_policies_chart_manifests(name: str, golden: Golden) -> None:
    values = parse_yaml(_plan().values[f"values_{name}.yaml"])
    kube_version = _project().environment(name).kube_version
    rendered = render_chart(_plan(), [values], namespace="kyverno", kube_version=kube_version)
    text = dump_documents(resource.body for resource in rendered.resources)
    golden(_EXPECTED + f"{name}.yaml", text)


@pytest.mark.parametrize("name", _ENVIRONMENTS)
def test_values_of_an_environment(name: str, golden: Golden) -> None:
    file = f"values_{name}.yaml"
    golden(_EXPECTED + file, _plan().values[file])


@pytest.mark.parametrize("name", _ENVIRONMENTS)
def test_policies_chart_notes(name: str, golden: Golden) -> None:
    values = parse_yaml(_plan().values[f"values_{name}.yaml"])
    kube_version = _project().environment(name).kube_version
    shown = dry_run(_plan(), [values], namespace="kyverno", kube_version=kube_version)
    golden(_EXPECTED + f"notes_{name}.txt", shown.notes)
