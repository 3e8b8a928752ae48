"""JUnit XML, as CI systems read it, and the scan report in it.

Source of the elements: the schema of Apache Ant's JUnit task, which Jenkins and GitLab follow.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from chartkit.model import Resource, RuleResult, Status
from chartkit.report.model import ReportOptions, resource_id

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold, escaped or not."""


@dataclass(frozen=True, slots=True)
class TestCase:
    """One thing that was checked. outcome: empty where it is good, else `failure`, `error` or
    `skipped`; reason: in a few words; text: all there is to say."""

    __test__ = False

    class_name: str
    name: str
    outcome: str = ""
    reason: str = ""
    text: str = ""


Suites = Iterable[tuple[str, Sequence[TestCase]]]
"""Test cases by the name of their suite."""


def junit_xml(suites: Suites) -> str:
    """The document, ending with a newline."""
    root = ElementTree.Element("testsuites")
    totals: Counter[str] = Counter()
    for name, cases in suites:
        counts = Counter(case.outcome for case in cases)
        suite = ElementTree.SubElement(root, "testsuite", name=_xml(name))
        _count(suite, len(cases), counts)
        totals.update(counts)
        for case in cases:
            _add(suite, case)
    _count(root, totals.total(), totals)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _count(element: ElementTree.Element, tests: int, counts: Counter[str]) -> None:
    numbers = {"tests": tests, "failures": counts["failure"], "errors": counts["error"]}
    for name, number in {**numbers, "skipped": counts["skipped"]}.items():
        element.set(name, str(number))


def _add(suite: ElementTree.Element, case: TestCase) -> None:
    names = {"classname": _xml(case.class_name), "name": _xml(case.name)}
    element = ElementTree.SubElement(suite, "testcase", names)
    if case.outcome:
        inner = ElementTree.SubElement(element, case.outcome, message=_xml(case.reason))
        inner.text = _xml(case.text)


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


_OUTCOMES = {
    Status.FAIL: "failure",
    Status.WARN: "",
    Status.ERROR: "error",
    Status.SKIP: "skipped",
    Status.PASS: "",
}


class JUnitWriter:
    """A suite an object, a test case a rule."""

    def __init__(self, options: ReportOptions) -> None:
        self._options = options
        self._suites: list[tuple[str, list[TestCase]]] = []

    def add(self, resource: Resource, results: Sequence[RuleResult]) -> None:
        """Takes one resource's results."""
        if results:
            cases = [self._case(resource, result) for result in results]
            self._suites.append((resource_id(resource), cases))

    def finish(self, counts: Counter[Status]) -> str:  # noqa: ARG002 - each suite counts its own
        """The report, ending with a newline."""
        return junit_xml(self._suites)

    def _case(self, resource: Resource, result: RuleResult) -> TestCase:
        reason = f"{result.status} ({self._options.action(resource, result)})"
        text = f"{result.message}\n{resource.location}"
        name = result.rule or result.policy
        return TestCase(result.policy, name, _OUTCOMES[result.status], reason, text)
