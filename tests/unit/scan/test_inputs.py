"""What is scanned, and with which values."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from chartkit.errors import InputError
from chartkit.scan.inputs import ChartOptions, read_inputs

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n"


def test_values_without_a_chart_are_refused(tmp_path: Path) -> None:
    (tmp_path / "pods").mkdir()
    (tmp_path / "pods" / "pod.yaml").write_text(POD, "utf-8")
    values = ChartOptions(values=(tmp_path / "values.yaml",))
    for paths in ([str(tmp_path / "pods" / "pod.yaml")], [str(tmp_path / "pods")], ["-"]):
        with pytest.raises(InputError, match=r"values.yaml: no chart is scanned that takes it"):
            read_inputs(paths, io.StringIO(POD), print, values)
        assert len(read_inputs(paths, io.StringIO(POD), print, ChartOptions())) == 1


def test_values_are_for_a_chart_anywhere_below(tmp_path: Path) -> None:
    templates = tmp_path / "deep" / "chart" / "templates"
    templates.mkdir(parents=True)
    (templates.parent / "Chart.yaml").write_text("apiVersion: v2\nname: c\nversion: 1.0.0\n")
    (templates / "pod.yaml").write_text(POD.replace("web", "'{{ .Values.name }}'"), "utf-8")
    (tmp_path / "values.yaml").write_text("name: mine\n", "utf-8")
    values = ChartOptions(values=(tmp_path / "values.yaml",))
    found = read_inputs([str(tmp_path / "deep")], io.StringIO(), print, values)
    assert [each.name for each in found] == ["mine"]
