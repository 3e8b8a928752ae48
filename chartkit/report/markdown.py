"""Markdown tables, and the scan report made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from chartkit.model import Resource, RuleResult, Status
from chartkit.report.findings import NONE_ACCEPTED, Accepted, field_places
from chartkit.report.model import ReportOptions, resource_id, rule_id
from chartkit.report.spool import Spool
from chartkit.safe_text import markdown_cell

_SHOWN = frozenset({Status.FAIL, Status.WARN, Status.ERROR})


def markdown_table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of GitHub's Markdown, ending with a newline; markup in cells is escaped."""
    return "".join((_line(headers), _line(["---"] * len(headers)), *map(_row, rows)))


def _row(cells: Sequence[str]) -> str:
    return _line([markdown_cell(cell) for cell in cells])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


class MarkdownWriter:
    """A report with totals and a table of failures, warnings and errors; with `detailed`, of every
    result."""

    def __init__(self, options: ReportOptions) -> None:
        self._options = options
        self._rows = Spool()

    def add(
        self,
        resource: Resource,
        results: Sequence[RuleResult],
        accepted: Accepted = NONE_ACCEPTED,
    ) -> None:
        """Add one resource's results."""
        for position, result in enumerate(results):
            if self._options.detailed or result.status in _SHOWN:
                acceptance = accepted.get(position)
                status = str(acceptance.state if acceptance else result.status)
                lines = [result.message, *map(str, field_places(resource, result))]
                lines += [str(acceptance)] if acceptance else []
                names = (resource_id(resource), rule_id(result))
                self._rows.write(_row((status, *names, "\n".join(lines))))

    def finish(self, counts: Counter[Status]) -> Iterator[str]:
        """Yield the report, ending with a newline."""
        headers = [str(status) for status in Status]
        yield markdown_table(headers, [[str(counts[status]) for status in Status]])
        if self._rows.size:
            yield "\n" + markdown_table(("Result", "Resource", "Rule", "Message"), ())
            yield from self._rows.pieces()
