"""Values of charts that depend on Kyverno's: that part alone is judged and fixed."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from chartkit.cli.values import values
from tests.data import beside, from_table

CHART = beside(__file__)["chart"]
OTHERS = "policy-reporter:\n  logging: {encoding: json}\nlogging: {level: info}\ningress: {a: 1}\n"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(values, ["lint", *map(str, arguments)])


def written(folder: Path, text: str, chart: str = CHART) -> Path:
    (folder / "Chart.yaml").write_text(chart)
    file = folder / "values.yaml"
    file.write_text(text)
    return file


@pytest.mark.parametrize("with_chart", [False, True])
@pytest.mark.parametrize("key", ["engine", "second"])
def test_the_part_of_kyverno_is_judged(tmp_path: Path, with_chart: bool, key: str) -> None:
    text = f"{OTHERS}{key}:\n  admissionController:\n    replicaz: 3\n"
    file = written(tmp_path, text)
    done = run(file, "--chart", tmp_path) if with_chart else run(file)
    assert f"{file}:7:5: error CK001: unknown key 'replicaz' (did you mean 'replicas'?)" in (
        done.output
    )
    assert "errors: 1, warnings: 0, notes: 0" in done.output
    assert done.exit_code == 1


@pytest.mark.slow
def test_values_lie_on_those_of_the_chart(tmp_path: Path) -> None:
    text = "engine: {admissionController: {autoscaling: {enabled: true}}}\n"
    written(tmp_path, text)
    more = tmp_path / "more.yaml"
    more.write_text("engine: {admissionController: {autoscaling: {minReplicas: 3}}}\n")
    assert "CK009" in run(tmp_path / "values.yaml").output
    assert run(more).output == "errors: 0, warnings: 0, notes: 0\n"


def test_nothing_else_is_fixed(tmp_path: Path) -> None:
    file = written(tmp_path, f"{OTHERS}engine:\n  policyExceptions: {{enabled: true}}\n")
    assert run(file, "--fix").exit_code == 0
    assert (
        file.read_text()
        == f"{OTHERS}engine:\n  features:\n    policyExceptions: {{enabled: true}}\n"
    )


def test_nothing_below_an_unknown_key_is_fixed(tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    text = "policy-reporter:\n  logging: {encoding: json}\n"
    file.write_text(text)
    assert "CK007" not in run(file, "--fix").output
    assert file.read_text() == text


@from_table("chart", "text", "name")
def test_values_of_another_chart_are_a_note(
    tmp_path: Path, chart: str, text: str, name: str
) -> None:
    file = written(tmp_path, text, chart) if chart else tmp_path / "values.yaml"
    file.write_text(text)
    done = run(file, "--fix")
    assert f"these are values of the chart '{name}', not of Kyverno's" in done.output
    assert done.exit_code == 0
    assert file.read_text() == text


def test_one_that_cannot_be_read_is_a_row(tmp_path: Path) -> None:
    good, bad = tmp_path / "a.yaml", tmp_path / "b.yaml"
    good.write_text("admissionController: {replicaz: 3}\n")
    bad.write_text("a: [")
    done = run(bad, good)
    assert "replicaz" in done.output
    assert f"{bad}:2:1: error unread: is not YAML" in done.output
    assert done.exit_code == 2
    # Below a folder, a release of Kyverno's chart that cannot be read.
    bad.write_text("kind: HelmRelease\nspec: {chart: kyverno, values: {a: ${A}}}\n")
    done = run(tmp_path)
    assert f"{bad}:2:37: error unread: is not YAML" in done.output
    assert done.exit_code == 2


def test_what_is_wrong_in_the_values_of_all_environments_is_said_once(tmp_path: Path) -> None:
    text = "engine: {admissionController: {replicaz: 3}, replicaCount: 3}\n"
    file = written(tmp_path, text)
    (tmp_path / "values-prd.yaml").write_text("engine: {features: {}}\n")
    done = run(tmp_path)
    assert done.output.count("replicaz") == 1
    assert "values migrate" not in done.output
    assert f"{file}:1:32: error CK001" in done.output


def test_a_release_that_the_chart_refuses_is_an_error(tmp_path: Path) -> None:
    chart = tmp_path / "chart"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: web\nversion: 1.0.0\n")
    (chart / "templates" / "a.yaml").write_text('{{ fail "two replicas are none" }}')
    release = tmp_path / "release.yaml"
    release.write_text(beside(__file__)["a_release_that_the_chart_refuses_is_an_error"])
    done = run(release, "--chart", chart)
    assert "error helm: HelmRelease 'web' cannot be installed: " in done.output
    assert "two replicas are none" in done.output
    assert done.exit_code == 1
