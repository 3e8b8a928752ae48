"""The output of commands without results: every format, files, and queries over the JSON."""

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from chartkit.documents.reader import read_text
from chartkit.errors import InputError
from chartkit.model import Diagnostic, Explanation, Location, Severity, Status
from chartkit.report import FORMATS, formats
from chartkit.report.command_report import (
    CommandReport,
    Query,
    queried,
    require_findings,
    write_report,
)
from chartkit.report.finding import Finding, FindingFormat, diagnostic_finding
from chartkit.report.outputs import Output, parse_all
from chartkit.report.text.layout import Screen
from tests.unit.report.samples import HOSTILE

OF_RESULTS = {"policyreport", "openreports"}
OF_COMMANDS = sorted(set(FORMATS) - OF_RESULTS)
DATA = Path(__file__).parent / "data"
PLACE = Location("values.yaml", 3, 5, "/a/b")
FOUND = (
    Diagnostic("CK001", Severity.ERROR, "no such key\nat all", PLACE, "remove it"),
    Diagnostic("CK002", Severity.WARNING, "old"),
    Diagnostic("helm", Severity.NOTE, "said", Location("values.yaml", 1)),
)
MEANING = {"CK001": Explanation("CK001", "A key without effect.", "It is a typo.", "Fix it.")}


def report(found: Sequence[Diagnostic] = FOUND) -> CommandReport:
    rows = [{"rule": each.rule_id, "message": each.message} for each in found]
    body = {"count": len(rows), "findings": rows}
    return CommandReport(
        text=lambda width: [f"\x1b[1mwidth\x1b[0m: {width}"],
        value=lambda: body,
        rows="findings",
        findings=lambda: found,
        explanations=MEANING,
    )


def written(name: str, given: CommandReport | None = None, query: str | None = None) -> str:
    stdout = io.StringIO()
    parsed = None if query is None else Query.parse(query)
    write_report(given or report(), [Output(name)], stdout, query=parsed)
    return stdout.getvalue()


@pytest.mark.parametrize("name", OF_COMMANDS)
@pytest.mark.parametrize("case", ["nothing", *sorted(HOSTILE)])
def test_every_format_takes_any_findings(name: str, case: str) -> None:
    text = HOSTILE.get(case, "")
    hostile = Diagnostic(text, Severity.ERROR, text, Location(text, 1, 1, text), text)
    found = written(name, report((hostile,) if text else ()))
    assert found.endswith("\n")
    assert not [line for line in found.splitlines() if line.startswith("::") and name != "github"]


def test_json_has_the_version_of_its_schema() -> None:
    body = json.loads(written("json"))
    assert list(body) == ["schemaVersion", "count", "findings"]
    assert body["schemaVersion"] == 1
    assert read_text(written("yaml"))[0].body == body
    *rows, last = map(json.loads, written("ndjson").splitlines())
    assert rows == body.pop("findings")
    assert last == body


def test_sarif_explains_the_ids_of_findings() -> None:
    log = json.loads(written("sarif"))
    schema = json.loads((DATA / "sarif-schema-2.1.0.json").read_text("utf-8"))
    jsonschema.Draft4Validator(schema).validate(log)
    (run,) = log["runs"]
    first = run["tool"]["driver"]["rules"][0]
    assert (first["id"], first["shortDescription"]["text"]) == ("CK001", "A key without effect.")
    assert [each["level"] for each in run["results"]] == ["error", "warning", "note"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["region"] == {"startLine": 3, "startColumn": 5}


def test_fingerprints_of_findings_name_no_line() -> None:
    moved = [
        Diagnostic("CK001", Severity.ERROR, "no", Location("v.yaml", at, 1, "/a")) for at in (1, 9)
    ]
    first, second = map(diagnostic_finding, moved)
    assert first.fingerprint == second.fingerprint


def test_annotations_count_levels() -> None:
    lines = written("github").splitlines()
    assert (
        lines[0]
        == "::error file=values.yaml,line=3,col=5,title=CK001::no such key%0Aat all%0Aremove it"
    )
    assert lines[-1] == "chartkit: error: 1, warning: 1, note: 1"


def test_junit_has_a_suite_for_each_file() -> None:
    root = ElementTree.fromstring(written("junit"))
    assert (root.get("failures"), root.get("skipped")) == ("1", "1")
    assert [suite.get("name") for suite in root] == ["values.yaml", ""]


def test_tables_have_a_row_for_each_finding() -> None:
    assert len(list(csv.DictReader(io.StringIO(written("csv"))))) == 3
    assert written("markdown").splitlines()[2].startswith("| error | values.yaml:3:5 | CK001 |")


def rows_alone() -> CommandReport:
    rows = [
        {"reference": "a/one", "title": "One", "file": "a/one.yaml", "line": 3, "kinds": ["Pod"]},
        {"name": "two", "ends": None, "location": "two.yaml:1:1", "state": "open"},
    ]
    return CommandReport(
        text=lambda _width: ["two"], value=lambda: {"policies": rows}, rows="policies"
    )


@pytest.mark.parametrize("name", OF_COMMANDS)
def test_rows_without_findings_are_in_every_format(name: str) -> None:
    text = written(name, rows_alone())
    assert "two" in text
    assert name == "text" or "one.yaml" in text


def test_rows_are_notes_with_their_places() -> None:
    first, second = csv.DictReader(io.StringIO(written("csv", rows_alone())))
    assert (first["policy"], first["rule"], first["result"]) == ("a/one", "", "note")
    assert (first["file"], first["line"], first["message"]) == ("a/one.yaml", "3", "One")
    assert second["message"] == "name: two, state: open"


class Shouted(FindingFormat):
    """A format that one declaration adds for results and for every command."""

    def write(self, finding: Finding) -> None:
        self.lines = [*getattr(self, "lines", ()), f"{finding.rule.id.upper()}\n"]

    def finish(self, counts: Counter[Status]) -> Iterator[str]:  # noqa: ARG002 - lines alone
        return iter(self.lines)


def test_a_format_that_is_registered_serves_every_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "FORMATS", {**FORMATS, "shouted": Shouted})
    assert written("shouted") == "CK001\nCK002\nHELM\n"
    assert written("shouted", rows_alone()) == "A/ONE\nTWO\n"
    require_findings([Output.parse("shouted")])


def test_files_appear_next_to_standard_output(tmp_path: Path) -> None:
    stdout, file = io.StringIO(), tmp_path / "new" / "r.json"
    write_report(report(), parse_all(["text", f"json={file}"]), stdout, Screen(colour=True))
    assert stdout.getvalue() == "\x1b[1mwidth\x1b[0m: None\n"
    assert json.loads(file.read_text("utf-8"))["count"] == 3


def test_the_totals_of_reports_in_files_are_printed(tmp_path: Path) -> None:
    stdout, names = io.StringIO(), [f"json={tmp_path}/r.json", f"markdown={tmp_path}/r.md"]
    counted = replace(report(), value=lambda: {"summary": {"pass": 3, "fail": 0}})
    write_report(counted, parse_all(names), stdout)
    assert stdout.getvalue() == f"pass: 3, fail: 0 ({tmp_path}/r.json, {tmp_path}/r.md)\n"
    write_report(report(), parse_all(names), stdout)
    assert stdout.getvalue().count("\n") == 1


@pytest.mark.parametrize("name", sorted(OF_RESULTS))
def test_formats_of_results_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="is for results of policies"):
        require_findings([Output(name)])


def test_a_query_chooses_a_part() -> None:
    assert json.loads(written("json", query="findings[?rule=='helm'].message")) == ["said"]
    assert written("yaml", query="findings[].rule") == "- CK001\n- CK002\n- helm\n"
    assert written("ndjson", query="findings[].rule").splitlines() == [
        '"CK001"',
        '"CK002"',
        '"helm"',
    ]
    assert json.loads(written("json", query="schemaVersion")) == 1


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("a[", "column 3"),
        ("", "mpty"),
        ("length(count)", "length"),
        ("nope(@)", "nope"),
        ("&a", "fits"),
        ("[" + "1" * 5000 + "]", "fits"),
    ],
)
def test_wrong_queries_are_named(query: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as raised:
        written("json", query=query)
    assert "\n" not in str(raised.value)


def test_a_query_needs_json() -> None:
    with pytest.raises(InputError, match="none is written"):
        queried(["sarif"], "a")
