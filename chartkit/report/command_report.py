"""The output of commands that have no results of rules, in every format: what a command says for
programs, and its findings, are all that a format needs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TextIO

from chartkit.documents.yaml_dump import dump_yaml
from chartkit.errors import InputError
from chartkit.model import Body, Location, Resource, RuleResult, Severity, Status
from chartkit.report.blocks import Block, Table, markdown_of, text_of
from chartkit.report.finding import Finding, FindingRule, FindingSink
from chartkit.report.formats import writer_of
from chartkit.report.json_report import json_text
from chartkit.report.junit import TestCase, junit_xml
from chartkit.report.markdown import cut_comment
from chartkit.report.model import SCHEMA_VERSION, ReportOptions
from chartkit.report.outputs import Output, write_pieces
from chartkit.report.query import Query
from chartkit.report.text.layout import PLAIN, Screen
from chartkit.wording import shortened

_OWN: Final = frozenset({"text", "json", "yaml", "ndjson", "markdown", "junit"})
_OUTCOMES: Final = {Severity.ERROR: "failure", Severity.WARNING: "", Severity.NOTE: "skipped"}
_VERSION: Final = "schemaVersion"
_PLACE: Final = frozenset({"file", "line", "location"})
_LONGEST: Final = 400
"""The most characters of the message that is made of a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandReport:
    """The output of a command.

    text: the blocks for people, for a width of the terminal (None: any); value: of the JSON object;
    rows: the key of the list in it whose items are the lines of `ndjson`; markdown: the blocks of
    the text for pull requests, where it has more than the findings; own: further writers by format,
    such as `junit`; findings: for the formats of pipelines, None for a command that has rows alone,
    which are notes there; results: for the formats of results of policies, such as PolicyReports.
    """

    text: Callable[[int | None], Iterable[Block]]
    value: Callable[[], Body]
    rows: str
    markdown: Callable[[], Iterable[Block]] | None = None
    own: Mapping[str, Callable[[], str]] = field(default_factory=dict)
    findings: Callable[[], Iterable[Finding]] | None = None
    results: Callable[[], Iterable[tuple[Resource, RuleResult]]] | None = None

    @property
    def body(self) -> Body:
        """The value of the JSON report, with the version of its schema."""
        return {_VERSION: SCHEMA_VERSION, **json.loads(json.dumps(self.value()))}

    def found(self) -> Iterable[Finding]:
        """Return the findings, or the rows as notes."""
        if self.findings is not None:
            return self.findings()
        return [_note(self.rows, row) for row in self.body[self.rows]]


def require_findings(outputs: Sequence[Output]) -> None:
    """Raise InputError for a format of results alone, such as PolicyReports."""
    for output in outputs:
        if output.format not in _OWN:
            _writer(output.format)


def write_report(
    report: CommandReport,
    outputs: Sequence[Output],
    stdout: TextIO,
    screen: Screen = PLAIN,
    query: Query | None = None,
) -> None:
    """Write the report in every format; a file appears whole or not at all."""
    for output in outputs:
        shows = screen if output.file is None else PLAIN
        pieces = _pieces(report, output.format, shows, query)
        if output.file is None:
            stdout.writelines(pieces)
        else:
            write_pieces(output.file, pieces)


def _pieces(report: CommandReport, name: str, screen: Screen, query: Query | None) -> Iterable[str]:
    if name in {"json", "yaml", "ndjson"}:
        if query is not None:
            return [query.written([json.dumps(report.body)], name)]
        return _data(report, name)
    if name == "text":
        return text_of(report.text(screen.width), screen)
    if name == "markdown":
        blocks = [_table(report.found())] if report.markdown is None else report.markdown()
        return [cut_comment(markdown_of(blocks))]
    if name in report.own:
        return [report.own[name]()]
    if name == "junit":
        return [_cases(report.found())]
    if report.results is not None and not isinstance(writer_of(name)(ReportOptions()), FindingSink):
        return _results(report.results(), name)
    writer = _writer(name)
    for finding in report.found():
        writer.write(finding)
    return writer.finish(Counter())


def _note(rows: str, row: Body) -> Finding:
    """Return a row for programs as a note: its title or message, or its texts and numbers."""
    name = next((row[key] for key in ("reference", "name", "id") if row.get(key)), rows)
    location = str(row.get("file") or row.get("location") or "")
    place = Location(location, row.get("line") or 0) if location else None
    values = (
        f"{key}: {value}"
        for key, value in row.items()
        if value and isinstance(value, str | int) and key not in _PLACE
    )
    message = row.get("title") or row.get("message") or shortened(", ".join(values), _LONGEST)
    return Finding(FindingRule(name, name), Severity.NOTE, "note", message, place)


def _data(report: CommandReport, name: str) -> Iterator[str]:
    body = report.body
    if name == "json":
        yield f"{json_text(body)}\n"
    elif name == "yaml":
        yield dump_yaml(body)
    else:
        rows = body.pop(report.rows)
        yield from (f"{json_text(row, indent=None)}\n" for row in rows)
        yield f"{json_text(body, indent=None)}\n"


def _results(results: Iterable[tuple[Resource, RuleResult]], name: str) -> Iterator[str]:
    writer = writer_of(name)(ReportOptions(detailed=True))
    counts: Counter[Status] = Counter()
    for resource, result in results:
        writer.add(resource, [result])
        counts[result.status] += 1
    yield from writer.finish(counts)


def _writer(name: str) -> FindingSink:
    writer = writer_of(name)(ReportOptions())
    if not isinstance(writer, FindingSink):
        raise InputError(f"-o {name} is for results of policies, as `chartkit scan` has them")
    return writer


def _table(findings: Iterable[Finding]) -> Table:
    rows = [
        (str(finding.level), str(finding.location or ""), finding.rule.id, _message(finding))
        for finding in findings
    ]
    return Table(("Level", "Location", "Rule", "Message"), rows)


def _cases(findings: Iterable[Finding]) -> str:
    """Return a suite for each file, with a test case for each finding; notes are skipped."""
    suites: dict[str, list[TestCase]] = {}
    for finding in findings:
        where, message = str(finding.location or ""), _message(finding)
        case = TestCase(
            finding.rule.id,
            message,
            _OUTCOMES[finding.level],
            finding.result,
            f"{message}\n{where}",
            finding.file,
        )
        suites.setdefault(finding.file, []).append(case)
    return junit_xml(suites.items())


def _message(finding: Finding) -> str:
    return f"{finding.message} ({finding.hint})" if finding.hint else finding.message
