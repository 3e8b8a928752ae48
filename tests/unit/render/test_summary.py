from collections.abc import Sequence
from dataclasses import replace

import pytest

from chartkit.model import Diagnostic, Location, Severity
from chartkit.render import summary
from chartkit.render.model import Outcome, Row, rows
from chartkit.report.command_report import text_of
from chartkit.report.text.layout import Screen

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


TABLE = """\
ENVIRONMENT  CHECK   RESULT  LOCATION           MESSAGE
dev          values  pass    chartkit.yaml:3:5  all right
prd          helm    fail                       it broke
                                                → mend it

pass: 1, note: 0, warning: 0, fail: 1
"""
ROWS = [
    Row("dev", "values", Outcome.PASS, "all right", PLACE),
    Row("prd", "helm", Outcome.FAIL, "it broke", None, "mend it"),
]


GRID = """\
CHECK   dev        prd
values  ✓ pass     ! warning
helm    -          ✗ fail

warning  values (prd)  chartkit.yaml:3:5
  a key

fail  helm (prd)
  it broke
  → mend it

pass: 2, note: 0, warning: 1, fail: 1
"""
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
    assert found["rows"][1] == {
        "environment": "prd",
        "check": "helm",
        "result": "fail",
        "message": "it broke",
        "location": None,
        "hint": "mend it",
    }


def test_a_row_of_the_table_is_one_line_and_programs_get_all_of_it() -> None:
    whole = "ERROR: <input>:1:3: no\n | a.\n | ..^"
    rows_ = [Row("dev", "policies", Outcome.FAIL, whole, PLACE)]
    text = written(rows_, verbose=True)
    assert text.splitlines()[1].endswith("  ERROR: <input>:1:3: no")
    assert "\n  ERROR: <input>:1:3: no\n" in written(rows_)
    assert summary.as_json(rows_)["rows"][0]["message"] == whole
