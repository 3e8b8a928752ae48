"""Examples at values of their own: a part of the chart says of them what the whole chart says."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from chartkit.errors import RenderError
from chartkit.helm import render as chart_render
from chartkit.project.project import read_project
from chartkit.render import chart
from chartkit.render.model import Outcome, RenderResult
from chartkit.render.pipeline import RenderOptions, render_project
from tests.data import beside

_TEXTS = beside(__file__)
_PROJECT = _TEXTS["project"]
_PROFILE = _TEXTS["profile"]
_METADATA = _TEXTS["metadata"]
_POLICY = _TEXTS["policy"]


def example(value: str) -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: one}}\ndata: {{x: {value}}}\n"


def run(root: Path, case: str, policy: str = _POLICY) -> RenderResult:
    folder = root / "policies" / "own" / "wanted"
    (folder / "cases" / "other").mkdir(parents=True)
    files = {
        root / "chartkit.yaml": _PROJECT,
        root / "own.yaml": _PROFILE,
        folder / "metadata.yaml": _METADATA,
        folder / "policy.yaml": policy,
        folder / "good.yaml": example("a"),
        folder / "bad.yaml": example("b"),
        folder / "cases" / "other" / "parameters.yaml": case,
        folder / "cases" / "other" / "good.yaml": example("b"),
        folder / "cases" / "other" / "bad.yaml": example("a"),
    }
    for file, text in files.items():
        file.write_text(text)
    project = read_project(root)
    return render_project(project, RenderOptions(tuple(project.environments.values())))


def test_a_part_renders_what_the_whole_chart_renders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = []

    def rendering(folder: Path, values: Sequence[Any], **options: Any) -> Any:
        found = chart_render.render_chart(folder, values, **options)
        whole = folder.parents[2] / folder.name
        if whole.is_dir():
            names = {each.name for each in folder.rglob("*.yaml")}
            assert {"NOTES.txt", "permissions.yaml", "disallow-host-path.yaml"}.isdisjoint(names)
            assert (folder / "values.schema.json").stat().st_size < 20_000
            expected = chart_render.render_chart(whole, values, **options)
            (policy,) = found.resources
            assert policy in expected.resources
            compared.append(policy)
        return found

    monkeypatch.setattr(chart, "render_chart", rendering)
    done = run(tmp_path, "wanted: b\n")
    assert not done.failed
    assert [each.body["spec"]["rules"][0]["validate"]["pattern"] for each in compared] == [
        {"data": {"x": "b"}}
    ]
    (row,) = (row for row in done.rows if row.check == "examples")
    assert (row.outcome, row.message) == (Outcome.PASS, "4 examples of 1 policy come out right")


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        ("wanted: B\n", "'policies.wanted.parameters.wanted': 'B' does not match pattern"),
        ("wanted: [b]\n", "'policies.wanted.parameters.wanted': got array, want string"),
        ("wished: b\n", "'policies.wanted.parameters.wished': additional properties 'wished'"),
    ],
)
def test_partial_chart_values_that_the_schema_refuses(
    tmp_path: Path, case: str, problem: str
) -> None:
    with pytest.raises(RenderError, match="the chart's schema refuses") as refused:
        run(tmp_path, case)
    assert problem in str(refused.value)
    assert "values_dev.yaml:" in str(refused.value)
