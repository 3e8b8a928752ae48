"""CK015: keys of older charts of Kyverno."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from chartkit.model import Diagnostic, Json
from chartkit.values.lint.rule import ChartValues, Rule
from chartkit.values.moved.table import FIRST_OF_THREE, LAST_OF_TWO, Row, rows

_ENGINE: Final = "kyverno"
_CONTROLLER: Final = "admissionController"


class MovedKey(Rule):
    id = "CK015"
    what = "A key of older Kyverno charts that this chart has elsewhere or no longer has."
    why = "No template reads it, so the setting silently has no effect."
    do = (
        "Run `chartkit values migrate`: it rewrites the file for this chart and reports what it "
        "did with each key."
    )
    problematic = "replicaCount: 3\n"
    correct = "admissionController:\n  replicas: 3\n"

    def check_values(self, subject: ChartValues) -> Iterator[Diagnostic]:
        defaults = subject.defaults.body or {}
        if _CONTROLLER not in defaults:
            return
        for document in subject.overlays:
            moved: dict[tuple[str, ...], list[Row]] = {}
            for key, row in rows(_ENGINE).items():
                if _has(document.body, key) and not _has(defaults, key):
                    moved.setdefault(_unknown(defaults, key), []).append(row)
            for key, gone in moved.items():
                hint = f"`chartkit values migrate {document.source.file}` rewrites the file"
                yield self.error(_message(key, gone), document.locate(*key), hint)


def _message(key: tuple[str, ...], gone: list[Row]) -> str:
    name, last = ".".join(key), max(row.span.last for row in gone)
    version = FIRST_OF_THREE if last == LAST_OF_TWO else last.next_minor()
    if len(gone) > 1 or gone[0].key != key:
        return f"what stood below '{name}' has other places since chart {version}"
    targets = sorted({".".join(target) for target in gone[0].targets})
    if targets:
        return f"'{name}' is {', '.join(targets)} since chart {version}"
    return f"'{name}' has had no effect since chart {version}: {gone[0].why}"


def _unknown(defaults: Json, key: tuple[str, ...]) -> tuple[str, ...]:
    """Return the shortest part of a key that the chart does not have."""
    return next(key[:end] for end in range(1, len(key) + 1) if not _has(defaults, key[:end]))


def _has(values: Json, path: tuple[str, ...]) -> bool:
    for step in path:
        if not isinstance(values, Mapping) or step not in values:
            return False
        values = values[step]
    return True
