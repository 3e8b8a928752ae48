"""The report for programs as YAML: the values of the JSON report."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from chartkit.documents.yaml_dump import dump_text, dump_yaml
from chartkit.model import Body, Status
from chartkit.report.json_report import RowFormat, further_lists
from chartkit.report.model import SCHEMA_VERSION, summary

_INNER: Final = "  "
_written: Final = lru_cache(maxsize=256)(dump_text)
_LINE_START: Final = re.compile("^(?=.)", re.MULTILINE)


class YamlWriter(RowFormat):
    """A report with the keys and values of the JSON report."""

    def _text(self, row: Body) -> str:
        return f"-{''.join(_members(row, _INNER))[1:]}"

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
