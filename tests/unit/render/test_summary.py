from __future__ import annotations

from chartkit.model import Diagnostic, Location, Severity
from chartkit.render import summary
from chartkit.render.model import Outcome, Row, rows

PLACE = Location("chartkit.yaml", 3, 5)


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


def test_one_table() -> None:
    assert summary.as_text(ROWS) == TABLE


def test_colours_change_nothing_else() -> None:
    import click

    coloured = summary.as_text(ROWS, colour=True)
    assert coloured != TABLE
    assert click.unstyle(coloured) == TABLE


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
    assert summary.as_text(rows_).splitlines()[1].endswith("  ERROR: <input>:1:3: no")
    assert summary.as_json(rows_)["rows"][0]["message"] == whole
