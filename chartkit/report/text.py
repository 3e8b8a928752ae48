"""The report for people: each resource with its findings, then the totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import click

from chartkit.model import Resource, RuleResult, Status, single_line
from chartkit.report.model import ReportOptions, resource_id, rule_id
from chartkit.report.spool import Spool
from chartkit.safe_text import shown, shown_lines

_COLOURS = {
    Status.PASS: "green",
    Status.FAIL: "red",
    Status.WARN: "yellow",
    Status.ERROR: "magenta",
    Status.SKIP: "cyan",
}
_SHOWN = frozenset({Status.FAIL, Status.WARN, Status.ERROR})


class TextWriter:
    """A report of failures, warnings and errors; with `detailed`, of every result."""

    def __init__(self, options: ReportOptions) -> None:
        self._options = options
        self._lines = Spool()
        self._made: dict[str, Spool] = {}

    def add(self, resource: Resource, results: Sequence[RuleResult]) -> None:
        """Add one resource's results."""
        for result in results:
            if result.generated or result.updated or result.unmade:
                self._note_made(resource, result)
        if not self._options.detailed:
            results = [result for result in results if result.status in _SHOWN]
        if not results:
            return
        names = dict.fromkeys((shown(resource_id(resource)), str(resource.location)))
        first, *place = names
        lines = ["  ".join((self._bold(first), *place))]
        for result in results:
            lines.extend(self._result(resource, result))
        self._lines.write("\n".join([*lines, "", ""]))

    def finish(self, counts: Counter[Status]) -> Iterator[str]:
        """Yield the report, ending with a newline."""
        yield from self._lines.pieces()
        for head, lines in self._made.items():
            yield f"{head}\n"
            yield from lines.pieces()
            yield "\n"
        yield ", ".join(f"{status}: {counts[status]}" for status in Status) + "\n"

    def _note_made(self, resource: Resource, result: RuleResult) -> None:
        by = f"by {shown(rule_id(result))} for {shown(resource_id(resource))}"
        for head, bodies in (
            ("would be generated:", result.generated),
            ("would be overwritten:", result.updated),
        ):
            for body in bodies:
                self._note(head, f"{shown(resource_id(Resource(body)))} {by}")
        if result.unmade:
            self._note("nothing would come of it:", f"{by}: {single_line(result.unmade)}")

    def _note(self, head: str, line: str) -> None:
        if head not in self._made:
            self._made[head] = Spool()
        self._made[head].write(f"  {line}\n")

    def _result(self, resource: Resource, result: RuleResult) -> list[str]:
        facts = self._options.facts(result)
        action = self._options.action(resource, result)
        about = ", ".join(part for part in (action, facts.severity) if part)
        status = self._status(result.status)
        message = result.message or "(no message)"
        if result.status is Status.ERROR:
            message = single_line(message)
        return [
            f"  {status} {shown(rule_id(result))} ({about})",
            *(f"        {line}" for line in shown_lines(message)),
        ]

    def _status(self, status: Status) -> str:
        text = f"{status:<5}"
        return click.style(text, fg=_COLOURS[status]) if self._options.colour else text

    def _bold(self, text: str) -> str:
        return click.style(text, bold=True) if self._options.colour else text
