"""Commands in the logs of pipelines, which show findings at their lines: GitHub's and Azure's."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from chartkit.model import Severity, Status
from chartkit.report.finding import Finding, FindingFormat
from chartkit.report.model import INCOMPLETE, AcceptedAs, ReportOptions, summary
from chartkit.report.spool import Spool
from chartkit.safe_text import escape_controls, shown, without_commands

_GITHUB: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_GITHUB_PROPERTY: Final = _GITHUB | str.maketrans({":": "%3A", ",": "%2C"})
_AZURE: Final = str.maketrans({"%": "%AZP25", "\r": "%0D", "\n": "%0A"})
_AZURE_PROPERTY: Final = _AZURE | str.maketrans({"]": "%5D", ";": "%3B"})
_COMMANDS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


class _Annotations(FindingFormat):
    """A line for each finding that is not known, and at the end what there was in all."""

    def __init__(self, options: ReportOptions) -> None:
        super().__init__(options)
        self._spool = Spool()
        self._known = 0
        self._levels: Counter[Severity] = Counter()

    def write(self, finding: Finding) -> None:
        self._levels[finding.level] += 1
        acceptance = finding.acceptance
        if acceptance is not None and acceptance.state is AcceptedAs.KNOWN:
            self._known += 1
        else:
            level = Severity.NOTE if acceptance is not None else finding.level
            self._spool.write(f"{self._line(finding, level)}\n")

    def part(self) -> tuple[bytes, int, Counter[Severity]]:
        part = self._spool.part(), self._known, self._levels
        self._known, self._levels = 0, Counter()
        return part

    def append(self, part: tuple[bytes, int, Counter[Severity]]) -> None:
        text, accepted, levels = part
        self._spool.append(text)
        self._known += accepted
        self._levels.update(levels)

    def finish(self, counts: Counter[Status]) -> Iterator[str]:
        yield from self._spool.pieces()
        levels = {str(level): self._levels[level] for level in Severity}
        numbers = summary(counts) if counts else levels
        totals = ", ".join(f"{name}: {count}" for name, count in numbers.items())
        accepted = f"; known: {self._known}" if self._known else ""
        end = f"; {INCOMPLETE}" if self._options.course.is_incomplete else ""
        yield f"chartkit: {totals}{accepted}{end}\n"

    @abstractmethod
    def _line(self, finding: Finding, level: Severity) -> str:
        """Return the command that shows a finding."""


class GithubWriter(_Annotations):
    """Workflow commands (`::error file=…,line=…::message`), which GitHub shows as annotations in
    the files of a pull request; suppressed findings are notices."""

    def _line(self, finding: Finding, level: Severity) -> str:
        properties = dict(zip(("file", "line", "col", "title"), _values(finding), strict=True))
        pairs = _pairs(properties, _GITHUB_PROPERTY)
        return f"::{_COMMANDS[level]} {','.join(pairs)}::{_written(_text(finding), _GITHUB)}"


class AzureWriter(_Annotations):
    """Logging commands (`##vso[task.logissue …]`) of Azure Pipelines, which has errors and
    warnings; suppressed findings and notes are lines."""

    def _line(self, finding: Finding, level: Severity) -> str:
        if level is Severity.NOTE:
            where = f"{finding.location}: " if finding.file else ""
            return f"note {shown(where + finding.rule.id)}: {shown(_text(finding))}"
        names = ("type", "sourcepath", "linenumber", "columnnumber", "code")
        properties = dict(zip(names, (str(level), *_values(finding)), strict=True))
        pairs = "".join(f"{pair};" for pair in _pairs(properties, _AZURE_PROPERTY))
        return f"##vso[task.logissue {pairs}]{_written(_text(finding), _AZURE)}"


def _values(finding: Finding) -> Sequence[str | int]:
    """Return a finding's file, line, column (0 where there is no file) and rule."""
    location = finding.location if finding.file else None
    line, column = (location.line, location.column) if location else (0, 0)
    return finding.repository_file, line, column, finding.rule.id


def _pairs(properties: Mapping[str, str | int], escapes: Mapping[int, str]) -> Iterator[str]:
    """Yield `key=value` of the properties that have a value."""
    for key, value in properties.items():
        if value:
            yield f"{key}={_written(str(value), escapes)}"


def _text(finding: Finding) -> str:
    lines = [finding.message or finding.rule.id]
    if finding.subject:
        lines[0] = f"{finding.subject}: {lines[0]}"
    lines += [text for text in (finding.field, finding.hint) if text]
    lines += [str(finding.acceptance)] if finding.acceptance else []
    return "\n".join(lines)


def _written(text: str, escapes: Mapping[int, str]) -> str:
    return escape_controls(without_commands(text).translate(escapes))
