"""Markdown tables, and the scan report made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from chartkit.model import Resource, RuleResult, Status
from chartkit.report.model import ReportOptions, resource_id, rule_id

_SHOWN = frozenset({Status.FAIL, Status.WARN, Status.ERROR})


def markdown_table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of GitHub's Markdown, ending with a newline; what cells hold is shown as it is."""
    lines = [headers, ["---"] * len(headers), *([_cell(cell) for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(text: str) -> str:
    for plain, shown in (("&", "&amp;"), ("<", "&lt;"), ("|", "\\|"), ("`", "\\`"), ("*", "\\*")):
        text = text.replace(plain, shown)
    return "<br>".join(text.strip().splitlines())


class MarkdownWriter:
    """Totals, then a table of failures, warnings and errors; with `detailed` every result."""

    def __init__(self, options: ReportOptions) -> None:
        self._options = options
        self._rows: list[tuple[str, ...]] = []

    def add(self, resource: Resource, results: Sequence[RuleResult]) -> None:
        """Takes one resource's results."""
        for result in results:
            if self._options.detailed or result.status in _SHOWN:
                names = (resource_id(resource), rule_id(result))
                self._rows.append((str(result.status), *names, result.message))

    def finish(self, counts: Counter[Status]) -> str:
        """The report, ending with a newline."""
        headers = [str(status) for status in Status]
        totals = markdown_table(headers, [[str(counts[status]) for status in Status]])
        if not self._rows:
            return totals
        table = markdown_table(("Result", "Resource", "Rule", "Message"), self._rows)
        return f"{totals}\n{table}"
