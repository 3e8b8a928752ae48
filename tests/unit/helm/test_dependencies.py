"""The charts on which a chart depends."""

from pathlib import Path

import pytest

from chartkit.errors import MissingChartError, RenderError
from chartkit.helm.render import render_chart
from tests.data import from_table

CHART = "apiVersion: v2\nname: NAME\nversion: 1.0.0\n"
OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\n"


def _chart(folder: Path, dependency: str = "", values: str = "") -> Path:
    (folder / "templates").mkdir(parents=True)
    above = f"dependencies:\n- {{{dependency}, version: 1.0.0}}\n" if dependency else ""
    (folder / "Chart.yaml").write_text(CHART.replace("NAME", folder.name) + above)
    (folder / "templates" / "a.yaml").write_text(OBJECT.replace("NAME", folder.name))
    (folder / "values.yaml").write_text(values)
    return folder


def _names(chart: Path) -> list[str]:
    return sorted(each.name for each in render_chart(chart).resources)


REMOTE = "name: child, repository: 'https://a.example'"


@pytest.mark.parametrize("there", ["", "child-extra", "childish"])
def test_a_missing_chart_is_named_with_its_line(tmp_path: Path, there: str) -> None:
    chart = _chart(tmp_path / "parent", REMOTE)
    if there:
        _chart(chart / "charts" / there)
    with pytest.raises(MissingChartError, match="the chart 'child', which is not in") as caught:
        render_chart(chart)
    assert str(caught.value.location) == f"{chart}/Chart.yaml:5:4"
    assert caught.value.hint == f"helm dependency build {chart}"


def test_a_chart_in_charts_is_there(tmp_path: Path) -> None:
    chart = _chart(tmp_path / "parent", REMOTE)
    _chart(chart / "charts" / "child")
    assert _names(chart) == ["child", "parent"]


@from_table("switch", "values", "is_needed")
def test_a_chart_that_values_switch_off_is_not_needed(
    tmp_path: Path, switch: str, values: str, is_needed: bool
) -> None:
    chart = _chart(tmp_path / "parent", f"{REMOTE}, {switch}", values)
    if is_needed:
        with pytest.raises(MissingChartError):
            render_chart(chart)
    else:
        assert _names(chart) == ["parent"]
    override = tmp_path / "own.yaml"
    override.write_text("child: {enabled: true, live: true}\ntags: {db: true}\n")
    with pytest.raises(MissingChartError):
        render_chart(chart, (override,))


def test_charts_beside_are_taken(tmp_path: Path) -> None:
    chart = _chart(tmp_path / "parent", "name: child, repository: 'file://../child'")
    child = _chart(tmp_path / "child", "name: deep, repository: 'file://../libs/deep'")
    deep = _chart(tmp_path / "libs" / "deep")
    assert _names(chart) == ["child", "deep", "parent"]
    (deep / "templates" / "b.yaml").write_text(OBJECT.replace("NAME", "later"))
    assert _names(chart) == ["child", "deep", "later", "parent"]
    objects = {resource.name: resource.location for resource in render_chart(chart).resources}
    assert Path(str(objects["later"])).parent == deep / "templates"
    (deep / "templates" / "b.yaml").write_text('a: {{ fail "no" }}\n')
    with pytest.raises(RenderError) as caught:
        render_chart(chart)
    assert str(caught.value.location) == f"{deep}/templates/b.yaml:1:6"
    (child / "Chart.yaml").unlink()
    with pytest.raises(MissingChartError):
        render_chart(chart)


def test_no_chart_outside_of_the_repository_is_taken(tmp_path: Path) -> None:
    _chart(tmp_path / "outside")
    chart = _chart(tmp_path / "in" / "parent", "name: outside, repository: 'file://../../outside'")
    with pytest.raises(MissingChartError):
        render_chart(chart)
    (tmp_path / ".git").mkdir()
    (chart / "templates" / "a.yaml").write_text(OBJECT.replace("NAME", "changed"))
    assert _names(chart) == ["changed", "outside"]
