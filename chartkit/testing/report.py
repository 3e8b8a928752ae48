"""Writers of test results, one for each format, and the coverage of tests: rules that no test
reaches, that never match, or that never fail."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import click

from chartkit.model import (
    Body,
    Diagnostic,
    Location,
    Resource,
    RuleResult,
    RuleType,
    Severity,
    Status,
)
from chartkit.report.command_report import Block, CommandReport, Markup, Table
from chartkit.report.finding import diagnostic_body
from chartkit.report.junit import TestCase, junit_xml
from chartkit.safe_text import shown, shown_lines
from chartkit.testing.model import CaseResult, Row, Verdict, written_rule
from chartkit.wording import counted

_FAILURES: Final = frozenset({Status.FAIL, Status.WARN})


@dataclass(frozen=True, slots=True)
class Options:
    """detailed: whether to show passed rows; coverage: shown if given."""

    detailed: bool = False
    coverage: Coverage | None = None


def _text(results: Sequence[CaseResult], options: Options) -> Iterator[Block]:
    """Yield each failure with expected and actual status and message, then the totals."""
    if wrong := diagnostics(results):
        for diagnostic in wrong:
            yield from _indented(str(diagnostic), 0)
        yield ""
    for case in results:
        rows = [row for row in case.rows if options.detailed or row.verdict is Verdict.FAIL]
        if rows or case.error:
            yield click.style(shown(case.path), bold=True)
            yield from _indented(f"error: {case.error}", 2) if case.error else ()
            for row in rows:
                yield from _row_lines(row)
            yield ""
    if options.coverage is not None:
        yield f"coverage of {counted(len(options.coverage.rules), 'rule')}"
        for title, rules in _gaps(options.coverage):
            yield f"  {title}: {len(rules)}"
            yield from (f"    {shown(name)}  {at}" for name, at in map(_names, rules))
        yield ""
    yield _totals(results)


def diagnostics(results: Sequence[CaseResult]) -> list[Diagnostic]:
    """Return the faults of policies, once where several tests name them."""
    return list(dict.fromkeys(diagnostic for case in results for diagnostic in case.diagnostics))


def to_json(results: Sequence[CaseResult], options: Options) -> Body:
    """Return the report for programs: `cases` in the shape of Kyverno's recorded answers,
    `findings` about policies, and `coverage` where it is asked for."""
    cases: list[Body] = []
    for case in results:
        rows = [
            {
                "message": row.message,
                "policy": row.policy,
                "reason": row.reason,
                "resource": row.resource,
                "result": str(row.verdict),
                "rule": row.rule,
            }
            for row in case.rows
        ]
        cases.append({"case": case.case, "exit_code": case.exit_code, "rows": rows})
        if case.error:
            cases[-1]["error"] = case.error
    findings = [diagnostic_body(diagnostic) for diagnostic in diagnostics(results)]
    body: Body = {"cases": cases, "findings": findings}
    if options.coverage is not None:
        body["coverage"] = [
            {
                "policy": rule.policy,
                "rule": rule.rule,
                "location": str(rule.location),
                "reached": rule.reached,
                "matched": rule.matched,
                "failed": rule.failed,
            }
            for rule in options.coverage.rules
        ]
    return body


def _markdown(results: Sequence[CaseResult], options: Options) -> Iterator[Block]:
    """Yield totals and a table of failures; with `detailed`, of all rows."""
    yield Markup(_totals(results))
    rows = [
        (case.case, row.policy, row.rule, row.resource, str(row.verdict), row.reason, row.message)
        for case in results
        for row in case.rows
        if options.detailed or row.verdict is Verdict.FAIL
    ]
    rows.extend(
        (case.case, "", "", "", "Error", "could not be run", case.error)
        for case in results
        if case.error
    )
    if rows:
        headers = ("Test", "Policy", "Rule", "Resource", "Result", "Reason", "Message")
        yield Table(headers, rows)
    if options.coverage is not None:
        gaps = [
            (title, *_names(rule)) for title, rules in _gaps(options.coverage) for rule in rules
        ]
        yield Table(("Coverage", "Rule", "Where"), gaps)


def report(results: Sequence[CaseResult], options: Options) -> CommandReport:
    """Return the results for every format."""
    return CommandReport(
        text=lambda _width: _text(results, options),
        value=lambda: to_json(results, options),
        rows="cases",
        markdown=lambda: _markdown(results, options),
        own={"junit": lambda: junit_xml((case.case, _junit_cases(case)) for case in results)},
        findings=lambda: _findings(results),
        results=lambda: _results(results),
    )


def _findings(results: Sequence[CaseResult]) -> Iterator[Diagnostic]:
    """An error for each unexpected result, and for each test that could not be run."""
    yield from diagnostics(results)
    for case in results:
        if case.error:
            location = Location(case.path)
            yield Diagnostic("test", Severity.ERROR, case.error, location)
        for row in case.rows:
            if row.verdict is Verdict.FAIL:
                rule = f"{row.policy}/{row.rule}" if row.rule else row.policy
                text = f"{row.resource}: wanted {row.wanted}, got {row.got or 'nothing'}"
                if row.wanted == row.got:
                    text += f": {row.reason}"
                message = "\n".join(filter(None, (text, row.message)))
                yield Diagnostic(rule, Severity.ERROR, message, row.location)


def _results(results: Sequence[CaseResult]) -> Iterator[tuple[Resource, RuleResult]]:
    """Yield each row as a result for its object: that it passed, failed, or was skipped."""
    for case in results:
        for row in case.rows:
            *version, kind, namespace, name = ["", *row.resource.split("/")]
            body = {
                "apiVersion": "/".join(filter(None, version)),
                "kind": kind,
                "metadata": {"namespace": namespace, "name": name},
            }
            status = Status(row.verdict.lower())
            message = "\n".join(filter(None, (row.reason, row.message)))
            result = RuleResult(row.policy, row.rule, RuleType.VALIDATION, status, message)
            yield Resource(body, row.location), result


def _row_lines(row: Row) -> list[str]:
    colours = {Verdict.PASS: "green", Verdict.FAIL: "red", Verdict.SKIP: "cyan"}
    verdict = click.style(f"{row.verdict:<4}", fg=colours[row.verdict])
    rule = f"{row.policy}/{row.rule}" if row.rule else row.policy
    lines = [f"  {verdict} {shown(rule)} {shown(row.resource)}  {row.location}"]
    if row.verdict is Verdict.PASS:
        return [*lines, f"       {shown(row.reason)}"] if row.reason != "Ok" else lines
    line = f"       wanted {shown(row.wanted) or 'nothing'}, got {shown(row.got) or 'nothing'}"
    if row.reason != f"Want {row.wanted}, got {row.got}":
        line += f": {shown(row.reason)}"
    return [*lines, line, *_indented(row.message, 7)]


def _indented(text: str, width: int) -> list[str]:
    return [" " * width + line for line in shown_lines(text)] if text.strip() else []


def _totals(results: Sequence[CaseResult]) -> str:
    rows = [row for case in results for row in case.rows]
    counts = {verdict: sum(row.verdict is verdict for row in rows) for verdict in Verdict}
    errors = sum(bool(case.error) for case in results)
    text = f"{counted(len(results), 'test')}, {counted(len(rows), 'result')}: "
    text += f"{counts[Verdict.PASS]} passed, "
    text += f"{counts[Verdict.FAIL]} failed, {counts[Verdict.SKIP]} skipped"
    return f"{text}; {counted(errors, 'test')} could not be run" if errors else text


def _junit_cases(case: CaseResult) -> list[TestCase]:
    """Return a test case for each row of a test file."""
    outcomes = {Verdict.PASS: "", Verdict.FAIL: "failure", Verdict.SKIP: "skipped"}
    cases = []
    for row in case.rows:
        name = f"{row.policy}/{row.rule}" if row.rule else row.policy
        text = f"wanted {row.wanted}, got {row.got or 'nothing'}\n{row.message}\n{row.location}"
        cases.append(TestCase(name, row.resource, outcomes[row.verdict], row.reason, text))
    if case.error:
        cases.append(TestCase(case.case, case.path, "error", "could not be run", case.error))
    return cases


def _gaps(coverage: Coverage) -> list[tuple[str, list[RuleCoverage]]]:
    return [
        ("no test reaches", coverage.unreached),
        ("match nothing", coverage.unmatched),
        ("never failed", coverage.never_failed),
    ]


def _names(rule: RuleCoverage) -> tuple[str, str]:
    name = f"{rule.policy}/{rule.rule}" if rule.rule else rule.policy
    return name, str(rule.location)


@dataclass(slots=True)
class RuleCoverage:
    """One rule of one policy over all tests that load it.

    judging: whether it can fail; reached: whether an expectation names it; matched: whether it has
    a result for any object; failed: whether it ever failed one.
    """

    policy: str
    rule: str
    location: Location
    judging: bool
    reached: bool = False
    matched: bool = False
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Coverage:
    """All rules that tests load, by policy file and rule."""

    rules: tuple[RuleCoverage, ...] = field(default=())

    @property
    def unreached(self) -> list[RuleCoverage]:
        """Rules that no expectation names."""
        return [rule for rule in self.rules if not rule.reached]

    @property
    def unmatched(self) -> list[RuleCoverage]:
        """Rules that match no object of any test."""
        return [rule for rule in self.rules if not rule.matched]

    @property
    def never_failed(self) -> list[RuleCoverage]:
        """Rules that match, and could fail, but never did."""
        return [rule for rule in self.rules if rule.matched and rule.judging and not rule.failed]


def coverage_of(results: Iterable[CaseResult]) -> Coverage:
    """Add the results of all tests up."""
    rules: dict[tuple[str, int, str, str], RuleCoverage] = {}
    for case in results:
        for policy in case.policies:
            file, line, name = policy.key
            own = set(policy.rules)
            reached = {
                written_rule(row.rule, own)
                for row in case.rows
                if row.policy.rpartition("/")[2] == name and row.got
            }
            seen = [(written_rule(s.rule, own), s.status) for s in case.seen if s.policy == name]
            matched = {rule for rule, _ in seen}
            failed = {rule for rule, status in seen if status in _FAILURES}
            for rule in policy.rules:
                coverage = rules.setdefault(
                    (file, line, name, rule),
                    RuleCoverage(name, rule, Location(file, line), rule in policy.judging),
                )
                coverage.reached |= rule in reached
                coverage.matched |= rule in matched
                coverage.failed |= rule in failed
    return Coverage(tuple(rules[key] for key in sorted(rules)))
