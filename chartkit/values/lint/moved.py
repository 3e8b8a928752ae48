"""Checks of keys that older charts of Kyverno had."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from chartkit.kyverno.versions import Version
from chartkit.model import Diagnostic, Json, Severity
from chartkit.values.lint.subject import Subject
from chartkit.values.migrate.table import FIRST_OF_THREE, LAST_OF_TWO, Row, rows

MOVED: Final = "CK015"
_ENGINE: Final = "kyverno"
_CONTROLLER: Final = "admissionController"


def moved_keys(subject: Subject) -> Iterator[Diagnostic]:
    """CK015: a key that older charts of Kyverno had, and that no template reads now."""
    defaults = subject.defaults.body or {}
    if _CONTROLLER not in defaults:
        return
    for document in subject.overlays:
        found: dict[tuple[str, ...], list[Row]] = {}
        for key, row in rows(_ENGINE).items():
            if _has(document.body, key) and not _has(defaults, key):
                found.setdefault(_unknown(defaults, key), []).append(row)
        for key, gone in found.items():
            hint = f"`chartkit values migrate {document.source.file}` rewrites the file"
            place = document.locate(*key)
            yield Diagnostic(MOVED, Severity.ERROR, _message(key, gone), place, hint)


def _message(key: tuple[str, ...], gone: list[Row]) -> str:
    name, version = ".".join(key), _after(max(row.span.last for row in gone))
    if len(gone) > 1 or gone[0].key != key:
        return f"what stood below '{name}' has other places since chart {version}"
    targets = sorted({".".join(target) for target in gone[0].targets})
    if targets:
        return f"'{name}' is {', '.join(targets)} since chart {version}"
    return f"'{name}' has had no effect since chart {version}: {gone[0].why}"


def _unknown(defaults: Json, key: tuple[str, ...]) -> tuple[str, ...]:
    """As much of a key as the chart has not."""
    return next(key[:end] for end in range(1, len(key) + 1) if not _has(defaults, key[:end]))


def _has(values: Json, path: tuple[str, ...]) -> bool:
    for step in path:
        if not isinstance(values, Mapping) or step not in values:
            return False
        values = values[step]
    return True


def _after(version: Version) -> Version:
    return FIRST_OF_THREE if version == LAST_OF_TWO else version.next_minor()
