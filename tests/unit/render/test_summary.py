"""Summaries and manifests of renders, threads that wait for Helm, and parts of the chart."""

import contextlib
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chartkit.errors import RenderError
from chartkit.helm import backend as helm
from chartkit.helm import render as chart_render
from chartkit.helm.model import Target
from chartkit.model import Diagnostic, Location, Severity
from chartkit.output.write import Tree
from chartkit.project.project import read_project
from chartkit.render import chart, summary
from chartkit.render.chart import helm_threads
from chartkit.render.manifests import drift
from chartkit.render.model import Outcome, RenderResult, Row, rows
from chartkit.render.pipeline import RenderOptions, render_project
from chartkit.report.command_report import text_of
from chartkit.report.text.layout import Screen
from tests.data import beside, from_table, tables

_TEXTS = beside(__file__)

PLACE = Location("chartkit.yaml", 3, 5)


def written(
    found: Sequence[Row],
    colour: bool = False,
    width: int | None = None,
    verbose: bool = False,
    quiet: bool = False,
) -> str:
    blocks = summary.blocks(found, width, verbose, quiet)
    return "".join(text_of(blocks, Screen(colour, width)))


def finding(severity: Severity, location: Location | None = None) -> Diagnostic:
    return Diagnostic("CK999", severity, "something", location, "do this")


def test_nothing_found_passes() -> None:
    assert rows("dev", "values", [], "all right", PLACE) == [
        Row("dev", "values", Outcome.PASS, "all right", PLACE)
    ]


def test_a_note_passes_too_and_a_warning_stands_for_itself() -> None:
    noted = rows("dev", "values", [finding(Severity.NOTE)], "all right", PLACE)
    assert [each.outcome for each in noted] == [Outcome.PASS, Outcome.NOTE]
    warned = rows("dev", "values", [finding(Severity.WARNING)], "all right", PLACE)
    assert [each.outcome for each in warned] == [Outcome.WARNING]


def test_a_finding_without_a_place_stands_where_the_check_does() -> None:
    (row,) = rows("dev", "values", [finding(Severity.ERROR)], "all right", PLACE)
    assert row == Row("dev", "values", Outcome.FAIL, "something", PLACE, "do this")
    elsewhere = Location("x", 1)
    (other,) = rows("dev", "values", [finding(Severity.ERROR, elsewhere)], "", PLACE)
    assert other.location == elsewhere


TABLE = beside(__file__)["table"]
ROWS = [
    Row("dev", "values", Outcome.PASS, "all right", PLACE),
    Row("prd", "helm", Outcome.FAIL, "it broke", None, "mend it"),
]


GRID = _TEXTS["grid"]
WARNED = Row("prd", "values", Outcome.WARNING, "a key", PLACE)


def test_every_row_is_a_line_on_demand() -> None:
    assert written(ROWS, verbose=True) == TABLE


def test_a_grid_has_the_worst_outcome_and_findings_end_with_failures() -> None:
    passed = Row("prd", "values", Outcome.PASS, "all right", PLACE)
    assert written([*ROWS, passed, WARNED]) == GRID


def test_an_equal_finding_of_several_environments_is_shown_once() -> None:
    found = [replace(WARNED, environment=name) for name in ("dev", "qa, prd", "")]
    text = written(found)
    assert "warning  values (dev, qa, prd, all)  chartkit.yaml:3:5" in text
    assert text.count("a key") == 1


VIOLATIONS = """\

fail  workloads (dev, qa)  needs-owner: 5 objects
  Pod/shop/0: needs-owner/rule: 0 has no owner
  at 0.yaml:3:5, 1.yaml:3:5, 2.yaml:3:5, …
  → fix it

pass: 0, note: 0, warning: 1, fail: 5
"""


def test_violations_of_a_policy_are_one_entry_with_three_places() -> None:
    found = [
        Row(
            "dev, qa",
            "workloads",
            Outcome.FAIL,
            f"Pod/shop/{number}: needs-owner/rule: {number} has no owner",
            Location(f"{number}.yaml", 3, 5),
            "fix it",
            "needs-owner",
            f"Pod/shop/{number}",
        )
        for number in range(5)
    ]
    assert written([WARNED, *found], quiet=True) == VIOLATIONS
    # Each has a row of its own for programs.
    assert len([*summary.findings(found)]) == 5


@pytest.mark.parametrize("width", [60, 80, 200])
def test_lines_fit_into_the_terminal(width: int) -> None:
    names = [f"environment-{number}" for number in range(12)]
    rows_ = [Row(name, "engine's pods", Outcome.PASS, "", PLACE) for name in names]
    rows_.append(Row(names[0], "helm", Outcome.FAIL, "word " * 60, PLACE, "do " * 80))
    lines = written(rows_, width=width).splitlines()
    assert all(len(line) <= width for line in lines)
    assert all(any(name in line for line in lines) for name in names)


@pytest.mark.parametrize("verbose", [True, False])
def test_colours_change_nothing_else(verbose: bool) -> None:
    import click

    coloured = written([*ROWS, WARNED], colour=True, verbose=verbose)
    plain = written([*ROWS, WARNED], verbose=verbose)
    assert coloured != plain
    assert click.unstyle(coloured) == plain


def test_for_programs() -> None:
    found = summary.as_json(ROWS)
    assert found["summary"] == {"pass": 1, "note": 0, "warning": 0, "fail": 1}
    assert found["rows"][0]["location"] == "chartkit.yaml:3:5"
    assert found["rows"][1] == tables(__file__)["for_programs"]


def test_a_row_of_the_table_is_one_line_and_programs_get_all_of_it() -> None:
    whole = "ERROR: <input>:1:3: no\n | a.\n | ..^"
    rows_ = [Row("dev", "policies", Outcome.FAIL, whole, PLACE)]
    text = written(rows_, verbose=True)
    assert text.splitlines()[1].endswith("  ERROR: <input>:1:3: no")
    assert "\n  ERROR: <input>:1:3: no\n" in written(rows_)
    assert summary.as_json(rows_)["rows"][0]["message"] == whole


_FOREVER = "a: {{ range until 1000000 }}{{ range until 1000000 }}{{ end }}{{ end }}\n"


def test_an_interrupt_ends_what_helm_does(tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: c\nversion: 1.0.0\n")
    (tmp_path / "templates" / "a.yaml").write_text(_FOREVER)

    with contextlib.suppress(KeyboardInterrupt), helm_threads() as executor:
        running = executor.submit(helm.helm().render, tmp_path, {}, Target("r", "n"))
        while not running.running():
            time.sleep(0.01)
        time.sleep(0.1)
        raise KeyboardInterrupt
    with pytest.raises(RenderError):
        running.result()

    # The next command starts Helm anew.
    (tmp_path / "templates" / "a.yaml").write_text("")
    assert helm.helm().render(tmp_path, {}, Target("r", "n")) is not None


@pytest.mark.parametrize(
    "record", [None, "", "null", "[]", '{"a.yaml": 1}', "[" * 100_000, "\ud800"]
)
def test_manifests_next_to_no_usable_record_are_compared(
    tmp_path: Path, record: str | None
) -> None:
    folder = tmp_path / "rendered" / "dev"
    folder.mkdir(parents=True)
    (folder / "a.yaml").write_text("a: 1\n")
    if record is not None:
        (folder / ".chartkit").write_bytes(record.encode("utf-8", "surrogatepass"))
    wanted = json.dumps({"a.yaml": {"manifests": "", "chart": ""}})
    text, rows = drift([Tree(folder, {"a.yaml": "a: 2\n", ".chartkit": wanted})])
    assert "-a: 1\n+a: 2\n" in text
    assert [str(row.location) for row in rows] == [str(folder)]


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


@from_table("case", "problem")
def test_partial_chart_values_that_the_schema_refuses(
    tmp_path: Path, case: str, problem: str
) -> None:
    with pytest.raises(RenderError, match="the chart's schema refuses") as refused:
        run(tmp_path, case)
    assert problem in str(refused.value)
    assert "values_dev.yaml:" in str(refused.value)
