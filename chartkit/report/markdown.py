"""Markdown tables, and the scan report made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from chartkit.model import Resource, RuleResult, Status, single_line
from chartkit.report.model import (
    COMMENT_LIMIT,
    INCOMPLETE,
    NONE_ACCEPTED,
    Accepted,
    ReportOptions,
    field_places,
    resource_id,
    rule_id,
)
from chartkit.report.spool import Spool
from chartkit.safe_text import markdown_cell, markdown_rows

_FRAME: Final = 1_000
"""The characters that are kept free for headings, totals and the note on what is left out."""
_SHOWN = frozenset({Status.FAIL, Status.WARN, Status.ERROR})


def markdown_table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of GitHub's Markdown, ending with a newline; markup in cells is escaped."""
    return markdown_rows(headers, ([markdown_cell(cell) for cell in cells] for cells in rows))


def cut_comment(text: str) -> str:
    """Return a text of Markdown that a comment of a pull request takes: its first lines, and how
    many are left out."""
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
    """A report with totals and a table of failures, warnings and errors; with `detailed`, of every
    result."""

    def __init__(self, options: ReportOptions) -> None:
        self._options = options
        self._rows = Spool()
        self._limit = options.comment_limit - _FRAME if options.comment_limit else None
        self._left = self._limit
        self._cut = 0

    def add(
        self,
        resource: Resource,
        results: Sequence[RuleResult],
        accepted: Accepted = NONE_ACCEPTED,
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
