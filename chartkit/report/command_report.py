"""The output of commands that have no results of rules, in every format: what a command says for
programs, and its findings, are all that a format needs; the blocks of a report for people, which
text and Markdown each show in their own way; parts of JSON reports by JMESPath in the standard's
dialect, as the command line of AWS has it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TextIO, TypeAlias

import jmespath
from jmespath.exceptions import JMESPathError, ParseError

from chartkit.documents.yaml_dump import dump_yaml
from chartkit.errors import InputError
from chartkit.model import (
    Body,
    Diagnostic,
    Explanation,
    Json,
    Location,
    Resource,
    RuleResult,
    Severity,
    Status,
    mapping_at,
    single_line,
)
from chartkit.report.files import write_pieces
from chartkit.report.finding import Finding, FindingRule, FindingSink, diagnostic_finding
from chartkit.report.formats import QUERIED, writer_of
from chartkit.report.json_report import json_text
from chartkit.report.junit import TestCase, junit_xml
from chartkit.report.model import (
    COMMENT_LIMIT,
    INCOMPLETE,
    NONE_ACCEPTED,
    SCHEMA_VERSION,
    Accepted,
    ReportOptions,
    field_places,
    resource_id,
    rule_id,
)
from chartkit.report.outputs import Output
from chartkit.report.spool import Spool
from chartkit.report.text.layout import PLAIN, Screen, fold, table
from chartkit.safe_text import markdown_block, markdown_cell, markdown_rows
from chartkit.wording import shortened

_FRAME: Final = 1_000
"""The characters that are kept free for headings, totals and the note on what is left out."""
_SHOWN = frozenset({Status.FAIL, Status.WARN, Status.ERROR})


def markdown_table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of GitHub's Markdown, ending with a newline; markup in cells is escaped."""
    return markdown_rows(headers, ([markdown_cell(cell) for cell in cells] for cells in rows))


def cut_comment(text: str) -> str:
    """Return the first lines of a Markdown text that fit a comment, and how many are left out."""
    if len(text) <= COMMENT_LIMIT:
        return text
    kept, left = [], COMMENT_LIMIT - _FRAME
    lines = text.splitlines(keepends=True)
    for line in lines:
        left -= len(line)
        if left < 0:
            break
        kept.append(line)
    fence = "```\n" if "".join(kept).count("```") % 2 else ""
    return f"{''.join(kept)}{fence}{_cut_note(len(lines) - len(kept), 'line')}"


def _cut_note(count: int, noun: str) -> str:
    what = f"{count} more {noun}{'' if count == 1 else 's'}"
    return f"\n{what} left out: a comment has at most 65,536 characters. `-o json` has all.\n"


class MarkdownWriter:
    """A report with totals and a table of failures, warnings and errors; `detailed`: of all."""

    def __init__(self, options: ReportOptions) -> None:
        self._options = options
        self._rows = Spool()
        self._limit = options.comment_limit - _FRAME if options.comment_limit else None
        self._left = self._limit
        self._cut = 0

    def add(
        self, resource: Resource, results: Sequence[RuleResult], accepted: Accepted = NONE_ACCEPTED
    ) -> None:
        """Add one resource's results."""
        for position, result in enumerate(results):
            if self._options.detailed or result.status in _SHOWN:
                if self._cut:
                    self._cut += 1
                    continue
                acceptance = accepted.get(position)
                status = str(acceptance.state if acceptance else result.status)
                lines = [result.message, *map(str, field_places(resource, result))]
                lines += [str(acceptance)] if acceptance else []
                names = (resource_id(resource), rule_id(result))
                cells = (status, *names, "\n".join(lines))
                self._take(f"| {' | '.join(map(markdown_cell, cells))} |\n")

    def _take(self, row: str) -> None:
        """Add a row, as long as the report does not become longer than it may be."""
        if self._left is not None:
            if self._cut or len(row) > self._left:
                self._cut += 1
                return
            self._left -= len(row)
        self._rows.write(row)

    def part(self) -> tuple[bytes, int]:
        part = self._rows.part(), self._cut
        self._left, self._cut = self._limit, 0
        return part

    def append(self, part: tuple[bytes, int]) -> None:
        text, cut = part
        for row in text.decode().split("\n")[:-1]:
            self._take(f"{row}\n")
        self._cut += cut

    def finish(self, counts: Counter[Status]) -> Iterator[str]:
        pieces = self._pieces(counts)
        if self._options.comment_limit and self._options.course.unread:
            return iter([cut_comment("".join(pieces))])
        return pieces

    def _pieces(self, counts: Counter[Status]) -> Iterator[str]:
        headers = [str(status) for status in Status]
        yield markdown_table(headers, [[str(counts[status]) for status in Status]])
        if self._options.course.is_incomplete:
            yield f"\n{INCOMPLETE}\n"
        if unread := self._options.course.unread:
            rows = [
                (str(row.location or ""), single_line(row.message), row.hint or "")
                for row in unread
            ]
            yield "\nNot read:\n\n" + markdown_table(("Location", "Message", "Hint"), rows)
        if self._rows.size:
            yield "\n" + markdown_table(("Result", "Resource", "Rule", "Message"), ())
            yield from self._rows.pieces()
        if self._cut:
            yield _cut_note(self._cut, "result")


_OWN: Final = frozenset({"text", "json", "yaml", "ndjson", "markdown", "junit"})
_OUTCOMES: Final = {Severity.ERROR: "failure", Severity.WARNING: "", Severity.NOTE: "skipped"}
_VERSION: Final = "schemaVersion"
_PLACE: Final = frozenset({"file", "line", "location"})
_LONGEST: Final = 400
"""The most characters of the message that is made of a row."""
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandReport:
    """The output of a command.

    text: the blocks for people, for a width of the terminal (None: any); value: of the JSON object;
    rows: the key of the list in it whose items are the lines of `ndjson`; markdown: the blocks of
    the text for pull requests, where it has more than the findings; own: further writers by format,
    such as `junit`; findings: for the formats of pipelines, None for a command that has rows alone,
    which are notes there; explanations: of the diagnostics among them, by their IDs; results: for
    the formats of results of policies, such as PolicyReports.
    """

    text: Callable[[int | None], Iterable[Block]]
    value: Callable[[], Body]
    rows: str
    markdown: Callable[[], Iterable[Block]] | None = None
    own: Mapping[str, Callable[[], str]] = field(default_factory=dict)
    findings: Callable[[], Iterable[Finding | Diagnostic]] | None = None
    explanations: Mapping[str, Explanation] = field(default_factory=dict)
    results: Callable[[], Iterable[tuple[Resource, RuleResult]]] | None = None

    @property
    def body(self) -> Body:
        """The value of the JSON report, with the version of its schema."""
        return {_VERSION: SCHEMA_VERSION, **json.loads(json.dumps(self.value()))}

    def found(self) -> Iterable[Finding]:
        """Return the findings, or the rows as notes."""
        if self.findings is not None:
            meaning = self.explanations.get
            return [
                diagnostic_finding(row, meaning(row.rule_id))
                if isinstance(row, Diagnostic)
                else row
                for row in self.findings()
            ]
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
    """Write the report in every format; a file appears whole or not at all. Where all are files,
    the totals that a report has are printed with their names."""
    for output in outputs:
        shows = screen if output.file is None else PLAIN
        pieces = _pieces(report, output.format, shows, query)
        if output.file is None:
            stdout.writelines(pieces)
        else:
            write_pieces(output.file, pieces)
    files = [str(output.file) for output in outputs if output.file is not None]
    if files and len(files) == len(outputs) and (totals := mapping_at(report.body, "summary")):
        counts = ", ".join(f"{name}: {count}" for name, count in totals.items())
        stdout.write(f"{counts} ({', '.join(files)})\n")


def _pieces(report: CommandReport, name: str, screen: Screen, query: Query | None) -> Iterable[str]:
    if name in {"json", "yaml", "ndjson"}:
        if query is not None:
            return [query.written([json.dumps(report.body)], name)]
        return _data(report, name)
    if name == "text":
        return text_of(report.text(screen.width), screen)
    if name == "markdown":
        blocks = [_table(report.found())] if report.markdown is None else report.markdown()
        return [cut_comment("\n".join(map(_markdown, blocks)))]
    if name in report.own:
        return [report.own[name]()]
    if name == "junit":
        # A suite for each file, with a test case for each finding; notes are skipped.
        findings = report.found()
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
        return [junit_xml(suites.items())]
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
    where = Location(location, row.get("line") or 0) if location else None
    values = (
        f"{key}: {value}"
        for key, value in row.items()
        if value and isinstance(value, str | int) and key not in _PLACE
    )
    message = row.get("title") or row.get("message") or shortened(", ".join(values), _LONGEST)
    return Finding(FindingRule(name, name), Severity.NOTE, "note", message, where)


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


def _message(finding: Finding) -> str:
    return f"{finding.message} ({finding.hint})" if finding.hint else finding.message


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading. level: from 1, the title, downwards."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells below a head; is_markup: whether the cells are Markdown already."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    is_markup: bool = False


@dataclass(frozen=True, slots=True)
class Items:
    """A list of lines."""

    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class Code:
    """Lines that stay as they are, however long they are."""

    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class Markup:
    """A paragraph of Markdown."""

    text: str


Block: TypeAlias = str | Heading | Table | Items | Code | Markup
"""A line of text, or one of these."""


def text_of(blocks: Iterable[Block], screen: Screen) -> Iterator[str]:
    """Yield blocks as text, folded at the width of the screen, without colours if it has none."""
    for block in blocks:
        text = "\n".join(_lines(block, screen.width))
        if not isinstance(block, Code):
            text = fold(text, screen.width)
        yield f"{text if screen.colour else _COLOUR.sub('', text)}\n"


def _lines(block: Block, width: int | None) -> Iterable[str]:
    match block:
        case Table(head, rows):
            return table([head, *rows], width)
        case Items(lines) | Code(lines):
            return lines
        case Heading(text) | Markup(text) | text:
            return [text]


def _markdown(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {markdown_cell(text)}\n"
        case Table(head, rows, is_markup):
            return markdown_rows(head, rows) if is_markup else markdown_table(head, rows)
        case Items(lines):
            return "".join(f"- {markdown_cell(line)}\n" for line in lines)
        case Code(lines):
            return "\n".join([*markdown_block(lines), ""])
        case Markup(text):
            return f"{text}\n"
        case text:
            return f"{markdown_cell(text)}\n"


@dataclass(frozen=True, slots=True)
class Query:
    """An expression that chooses a part of a JSON report."""

    text: str
    compiled: Any

    @classmethod
    def parse(cls, text: str) -> Query:
        """Compile an expression; raise InputError with its column."""
        try:
            return cls(text, jmespath.compile(text))
        except ParseError as error:
            raise _wrong(text, f"column {error.lex_position + 1}: {error.msg}") from None
        except (ValueError, RecursionError) as error:
            raise _wrong(text, str(error)) from None

    def written(self, report: Iterable[str], form: str) -> str:
        """Return the part of a JSON report in a format; raise InputError for an expression that
        does not fit the report."""
        try:
            value: Json = self.compiled.search(json.loads("".join(report)))
            json.dumps(value)
        except (JMESPathError, RecursionError, TypeError) as error:
            raise _wrong(self.text, str(error)) from None
        if form == "yaml":
            return dump_yaml(value)
        if form == "json":
            return f"{json_text(value)}\n"
        rows = value if isinstance(value, list) else [value]
        return "".join(f"{json_text(row, indent=None)}\n" for row in rows)


def queried(formats: Sequence[str], query: str | None) -> Query | None:
    """Return the compiled query; raise InputError for one that no format takes."""
    if query is None:
        return None
    if not set(formats) & set(QUERIED):
        hint = f"add -o {', -o '.join(QUERIED[:-1])} or -o {QUERIED[-1]}"
        raise InputError("--query chooses a part of a JSON report, and none is written", hint=hint)
    return Query.parse(query)


def _wrong(text: str, reason: str) -> InputError:
    message = f"--query '{text}' is not JMESPath that fits: {' '.join(reason.split())}"
    return InputError(message, hint="https://jmespath.org/specification.html has the language")
