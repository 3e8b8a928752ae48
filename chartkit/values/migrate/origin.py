"""The chart of a values file, recognised by its keys."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.documents.reader import Document
from chartkit.errors import InputError
from chartkit.kyverno.versions import Version
from chartkit.model import Json
from chartkit.values.migrate.known import ENGINE, known
from chartkit.values.migrate.table import FIRST_OF_THREE, NEWEST, OLDEST, Span, rows
from chartkit.values.migrate.tree import Path

_SHARED = frozenset(
    {
        "cleanupController",
        "config",
        "crds",
        "customLabels",
        "existingImagePullSecrets",
        "fullnameOverride",
        "grafana",
        "imagePullSecrets",
        "nameOverride",
        "rbac",
        "webhooksCleanup",
    }
)
"""Keys that charts 2 and 3 have at the same place."""


def origin(document: Document, chart: str, given: Version | None) -> Span:
    """The charts that a file may be of; given: what its owner says.

    Raises InputError where its keys contradict each other.
    """
    if given is not None:
        if not OLDEST <= given <= NEWEST:
            hint = f"charts {OLDEST} to {NEWEST} are known"
            raise InputError(f"chart {given} is not known", None, hint)
        return Span(given, given)
    span = Span()
    decider: Path = ()
    if chart != ENGINE:
        return span
    for path, own in _evidence(document.body, ()):
        narrowed = span.within(own)
        if narrowed is None:
            first = f"{'.'.join(decider)} (chart {span})"
            message = f"has {'.'.join(path)} of chart {own} beside {first}"
            hint = "say with --from which chart it is of"
            raise InputError(message, document.locate(*path), hint)
        if narrowed != span:
            span, decider = narrowed, path
    return span


def _evidence(body: Json, parent: Path) -> Iterator[tuple[Path, Span]]:
    """The keys that tell something, with the charts that had them."""
    table, now = rows(ENGINE), known(ENGINE)
    for key, value in body.items() if isinstance(body, dict) else ():
        path = (*parent, key)
        row = table.get(path)
        if row is not None and not now.has(path):
            yield path, row.span
        elif row is None and any(each[: len(path)] == path for each in table):
            yield from _evidence(value, path)
        elif row is None and now.has(path) and path[0] not in _SHARED:
            yield path, Span(FIRST_OF_THREE, NEWEST)
