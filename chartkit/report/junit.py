"""JUnit XML, as CI systems read it, and the scan report in it.

Source of the elements: the schema of Apache Ant's JUnit task, which Jenkins and GitLab follow.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.documents.unread import UNREAD
from chartkit.model import Resource, RuleResult, Status
from chartkit.report.model import (
    INCOMPLETE,
    NONE_ACCEPTED,
    Acceptance,
    Accepted,
    ReportOptions,
    field_places,
    resource_id,
)
from chartkit.report.spool import Spool
from chartkit.safe_text import without_commands

_NOT_XML: Final = "\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\ud800-\\udfff\\ufffe\\uffff"
"""Characters that XML 1.0 does not allow, not even escaped."""
_IN_TEXT: Final = re.compile(f"[&<>{_NOT_XML}]")
_IN_ATTRIBUTE: Final = re.compile(f'[&<>"\\r\\n\\t{_NOT_XML}]|(?<=#)#')
_REFERENCES: Final = {"#": "&#35;", "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"} | {
    control: f"&#{ord(control):02};" for control in "\r\n\t"
}
_DECLARATION: Final = '<?xml version="1.0" encoding="UTF-8"?>\n'
_OUTCOMES = {
    Status.FAIL: "failure",
    Status.WARN: "",
    Status.ERROR: "error",
    Status.SKIP: "skipped",
    Status.PASS: "",
}


@dataclass(frozen=True, slots=True)
class TestCase:
    """One test case. outcome: empty for success, else `failure`, `error` or `skipped`; reason: a
    few words; text: the details; file: the one that the case is about, empty if there is none."""

    __test__ = False

    class_name: str
    name: str
    outcome: str = ""
    reason: str = ""
    text: str = ""
    file: str = ""


Suites = Iterable[tuple[str, Sequence[TestCase]]]
"""Test cases by the name of their suite."""


def junit_xml(suites: Suites) -> str:
    """Return the document, ending with a newline."""
    totals: Counter[str] = Counter()
    parts: list[str] = []
    for name, cases in suites:
        counts = Counter([case.outcome for case in cases])
        totals.update(counts)
        parts.append(_suite(name, counts, map(_case_xml, cases)))
    return "".join(_document(totals, parts, is_empty=not parts))


def _document(totals: Counter[str], suites: Iterable[str], *, is_empty: bool) -> Iterator[str]:
    """Yield the pieces of the document; suites: text of whole suites."""
    yield f"{_DECLARATION}<testsuites{_numbers(totals)}"
    if is_empty:
        yield " />\n"
        return
    yield ">\n"
    yield from suites
    yield "</testsuites>\n"


def _suite(name: str, counts: Counter[str], cases: Iterable[str]) -> str:
    start = f'  <testsuite name="{_attribute(name)}"{_numbers(counts)}'
    return f"{start}>\n{''.join(cases)}  </testsuite>\n" if counts else f"{start} />\n"


def _numbers(counts: Counter[str]) -> str:
    numbers = (counts.total(), counts["failure"], counts["error"], counts["skipped"])
    return ' tests="{}" failures="{}" errors="{}" skipped="{}"'.format(*numbers)


def _case_xml(case: TestCase) -> str:
    names = f'classname="{_attribute(case.class_name)}" name="{_attribute(case.name)}"'
    file = f' file="{_attribute(case.file)}"' if case.file else ""
    start = f"    <testcase {names}{file}"
    if not case.outcome:
        return f"{start} />\n"
    inner = f'      <{case.outcome} message="{_attribute(case.reason)}"'
    inner += f">{_text(without_commands(case.text))}</{case.outcome}>" if case.text else " />"
    return f"{start}>\n{inner}\n    </testcase>\n"


def _attribute(text: str) -> str:
    return _IN_ATTRIBUTE.sub(_reference, text)


def _text(text: str) -> str:
    return _IN_TEXT.sub(_reference, text)


def _reference(match: re.Match[str]) -> str:
    return _REFERENCES.get(match[0], "\ufffd")


class JUnitWriter:
    """A report with a suite for each object and a test case for each rule."""

    def __init__(self, options: ReportOptions) -> None:
        self._options = options
        self._suites = Spool()
        self._totals: Counter[str] = Counter()

    def add(
        self, resource: Resource, results: Sequence[RuleResult], accepted: Accepted = NONE_ACCEPTED
    ) -> None:
        """Add one resource's results."""
        if results:
            cases = [
                self._case(resource, result, accepted.get(position))
                for position, result in enumerate(results)
            ]
            counts = Counter([case.outcome for case in cases])
            self._totals.update(counts)
            self._suites.write(_suite(resource_id(resource), counts, map(_case_xml, cases)))

    def part(self) -> tuple[bytes, Counter[str]]:
        totals, self._totals = self._totals, Counter()
        return self._suites.part(), totals

    def append(self, part: tuple[bytes, Counter[str]]) -> None:
        text, totals = part
        self._suites.append(text)
        self._totals.update(totals)

    def finish(self, counts: Counter[Status]) -> Iterator[str]:  # noqa: ARG002 - counted in cases
        for row in self._options.course.unread:
            file = row.location.file if row.location else ""
            text = "\n".join(filter(None, (row.message, str(row.location or ""), row.hint)))
            case = TestCase(UNREAD, file or UNREAD, "error", row.message, text, file)
            self._totals["error"] += 1
            self._suites.write(_suite(file or UNREAD, Counter(["error"]), [_case_xml(case)]))
        yield from _document(self._totals, self._suites.pieces(), is_empty=not self._suites.size)
        if self._options.course.is_incomplete:
            yield f"<!-- {INCOMPLETE} -->\n"

    def _case(
        self, resource: Resource, result: RuleResult, acceptance: Acceptance | None
    ) -> TestCase:
        outcome, name = _OUTCOMES[result.status], result.rule or result.policy
        file = resource.location.file if resource.location.line else ""
        if not outcome:
            return TestCase(result.policy, name, file=file)
        reason = f"{result.status} ({self._options.action(resource, result)})"
        if acceptance is not None:
            outcome, reason = "skipped", str(acceptance)
        elif outcome != "skipped" and self._options.is_below(self._options.facts(result).severity):
            outcome, reason = "skipped", f"{reason}, below --fail-on {self._options.fail_on}"
        places = field_places(resource, result)
        lines = (
            [result.message, *map(str, places)]
            if places
            else [result.message, str(resource.location)]
        )
        return TestCase(result.policy, name, outcome, reason, "\n".join(lines), file)
