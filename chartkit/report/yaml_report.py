"""The report for programs as YAML: the values of the JSON report."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from chartkit.documents.yaml_dump import dump_text, dump_yaml
from chartkit.model import Body, Resource, RuleResult, Status
from chartkit.report.findings import NONE_ACCEPTED, Accepted
from chartkit.report.json_report import further_lists, rows_of
from chartkit.report.model import SCHEMA_VERSION, ReportOptions, summary
from chartkit.report.spool import Spool

_INNER: Final = "  "
_written: Final = lru_cache(maxsize=4096)(dump_text)
_LINE_START: Final = re.compile("^(?=.)", re.MULTILINE)


class YamlWriter:
    """A report with the keys and values of the JSON report."""

    def __init__(self, options: ReportOptions) -> None:
        self._options = options
        self._spool = Spool()

    def add(
        self,
        resource: Resource,
        results: Sequence[RuleResult],
        accepted: Accepted = NONE_ACCEPTED,
    ) -> None:
        """Add one resource's results."""
        for row in rows_of(self._options, resource, results, accepted):
            self._spool.write(f"-{''.join(_members(row, _INNER))[1:]}")

    def part(self) -> bytes:
        return self._spool.part()

    def append(self, part: bytes) -> None:
        self._spool.append(part)

    def finish(self, counts: Counter[Status]) -> Iterator[str]:
        head: Body = {"schemaVersion": SCHEMA_VERSION, "summary": summary(counts)}
        if self._options.course.is_incomplete:
            head["incomplete"] = True
        yield dump_yaml(head)
        yield "results:\n" if self._spool.size else "results: []\n"
        yield from self._spool.pieces()
        if lists := further_lists(self._options):
            yield dump_yaml(lists)


def _members(row: Body, indent: str) -> Iterator[str]:
    """Yield the members of a row in lines: `dump_yaml` writes the same, and takes far longer."""
    for key, value in row.items():
        if isinstance(value, str):
            yield f"{indent}{key}: {_written(value, len(indent))}\n"
        elif key == "fields":
            yield f"{indent}{key}:\n"
            for place in value:
                lines = "".join(_members(place, f"{indent}{_INNER}"))
                yield f"{indent}-{lines[len(indent) + 1 :]}"
        else:
            yield _LINE_START.sub(indent, dump_yaml({key: value}))
