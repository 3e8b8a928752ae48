"""Notes and warnings of one kind, as one line each."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from chartkit.model import Diagnostic, Severity

_MOST_ALONE: Final = 2
"""The notes of one kind that have a line each."""
OBJECT_RULE: Final = "object-fields"
"""The rule of warnings about kinds and fields, which have a line each."""
_NAMES: Final = re.compile(r"^[\w.-]+: |'[^']*'|\S*[/.]\S+|\d+")
"""Names first or in quotes, paths and numbers, which differ between notes of one kind."""
_IN_GROUPS: Final = frozenset((Severity.NOTE, Severity.WARNING))


def grouped(
    rows: Iterable[Diagnostic],
    lists_all: bool = False,
    severities: Collection[Severity] = _IN_GROUPS,
    more: str = "--detailed",
) -> Iterator[Diagnostic]:
    """Yield notes and warnings with one line for more than two that say the same of several places,
    where the first of them stands; rows of other severities stay as they are. lists_all: whether
    all do; more: the option that lists all."""
    groups: dict[object, list[Diagnostic]] = {}
    for row in rows:
        single = lists_all or row.severity not in severities or row.rule_id == OBJECT_RULE
        said = (row.rule_id, row.severity, _NAMES.sub("", row.message))
        groups.setdefault(id(row) if single else said, []).append(row)
    for group in groups.values():
        if len(group) <= _MOST_ALONE:
            yield from group
        else:
            yield _as_one(group, f"{more} lists all")


def _as_one(group: list[Diagnostic], more: str) -> Diagnostic:
    first, *others = group
    located = dict.fromkeys(str(each.location) for each in others if each.location)
    places = [place for place in located if place != str(first.location)][:2]
    such_as = f", such as {' and '.join(places)}" if places else ""
    message = f"{first.message}; {len(others)} more of the kind{such_as}"
    hint = f"{first.hint}; {more}" if first.hint else more
    return replace(first, message=message, hint=hint)


@contextmanager
def grouping(
    note: Callable[[Diagnostic], None], lists_all: bool = False
) -> Iterator[Callable[[Diagnostic], None]]:
    """Give a function that takes notes; at the end, call note with them as `grouped` has them."""
    rows: list[Diagnostic] = []
    try:
        yield rows.append
    finally:
        for row in grouped(rows, lists_all):
            note(row)
