from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.command import chartkit
from tests.e2e.transcript import check_page

VALUES = """\
# Ours.
policyExceptions: # reviewed every month
  enabled: true
config:
  resourceFiltersExcludeNamespaces: [kube-system]
admissionController:
  autoscaling: {enabled: true}
"""


def test_page(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    (tmp_path / "values.yaml").write_text(VALUES, "utf-8")
    check_page("lint.md", tmp_path, request.config.getoption("--update-golden"))


def test_what_is_rendered(tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    budget = "{enabled: true, minAvailable: 1}"
    file.write_text(
        f"backgroundController:\n  replicas: 1\n  podDisruptionBudget: {budget}\n", "utf-8"
    )
    done = chartkit(tmp_path, "values", "lint", "values.yaml", "--ha", "-o", "json")
    assert done.code == 1
    found = {each["rule"]: each for each in json.loads(done.out)["findings"]}
    assert set(found) == {"CK111", "CK113"}
    assert found["CK113"]["location"].startswith("values.yaml:3:")


@pytest.mark.parametrize(
    ("text", "rule", "place"),
    [
        ("replicas: 2", "CK112", "values.yaml:2:3"),
        ("replicas: 4", "CK111", "values.yaml:2:3"),
        ("autoscaling: {enabled: true, minReplicas: 2}", "CK112", "values.yaml:2:32"),
    ],
)
def test_places_are_those_that_decide(tmp_path: Path, text: str, rule: str, place: str) -> None:
    (tmp_path / "values.yaml").write_text(f"admissionController:\n  {text}\n", "utf-8")
    done = chartkit(tmp_path, "values", "lint", "values.yaml", "--ha", "-o", "json")
    found = [each["location"] for each in json.loads(done.out)["findings"] if each["rule"] == rule]
    assert found[0] == place


def test_line_ends_stay(tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_bytes(b"policyExceptions:\r\n  enabled: true # ours\r\n")
    done = chartkit(tmp_path, "values", "lint", "values.yaml", "--fix")
    assert done.code == 0
    mended = b"features:\r\n  policyExceptions:\r\n    enabled: true # ours\r\n"
    assert file.read_bytes() == mended
    file.write_bytes(b"replicaCount: 3\r\n")
    chartkit(tmp_path, "values", "migrate", "values.yaml", "--write")
    assert file.read_bytes() == b"admissionController:\r\n  replicas: 3\r\n"


def test_other_charts(tmp_path: Path) -> None:
    chart = tmp_path / "chart"
    chart.mkdir()
    (tmp_path / "mine.yaml").write_text("port: 1\n", "utf-8")
    done = chartkit(tmp_path, "values", "lint", "mine.yaml", "--chart", "chart")
    assert (done.code, done.line) == (2, "chart: is no chart: it has no Chart.yaml")
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: c\nversion: 1.0.0\n", "utf-8")
    (chart / "values.yaml").write_text("port: 2\n", "utf-8")
    done = chartkit(tmp_path, "values", "lint", "mine.yaml", "--chart", "chart")
    assert (done.code, done.out) == (0, "errors: 0, warnings: 0, notes: 0\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [\n", "values.yaml:2"),
        ("- a\n", "values.yaml:1: must be a mapping of values"),
        (
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: kyverno}\n",
            "values.yaml:1: is an object of kind Application, and not values",
        ),
        ("a: 1\n---\nb: 2\n", "values.yaml:3: has more than one YAML document"),
        ("a: 1\na: 2\n", "values.yaml:2:1: the key 'a' stands here a second time"),
    ],
)
def test_input(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "values.yaml").write_text(text, "utf-8")
    for fix in ((), ("--fix",)):
        done = chartkit(tmp_path, "values", "lint", "values.yaml", *fix)
        assert (done.code, done.out) == (2, "")
        assert done.line.startswith(message)
    assert (tmp_path / "values.yaml").read_text("utf-8") == text


def test_a_place_in_the_charts_own_values_names_the_chart(tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text("", "utf-8")
    done = chartkit(tmp_path, "values", "lint", "values.yaml", "--ha", "-o", "json")
    places = [each["location"] for each in json.loads(done.out)["findings"]]
    assert places
    assert all(place.startswith("kyverno/values.yaml:") for place in places)
