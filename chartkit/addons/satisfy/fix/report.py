"""The report of a fix: the files that change, and the violations that stay, with reasons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from chartkit.addons.satisfy.fix.model import Batch, Subject
from chartkit.model import Location, single_line
from chartkit.report.model import resource_id
from chartkit.safe_text import shown
from chartkit.wording import counted

_MOST: Final = 1_000
"""The most lines of reasons."""
_MOST_ALONE: Final = 2
"""The violations with one reason that have lines of their own."""


def batch_lines(batches: Sequence[Batch], verb: str) -> Iterator[str]:
    """Yield what was fixed and the files, together those of one batch; verb: `fixed` or
    `would fix`."""
    for batch in batches:
        fixed = [subject for subject in batch.subjects if subject.edits]
        violations = counted(sum(subject.fixed for subject in fixed), "violation")
        fields = counted(sum(len(subject.edits) for subject in fixed), "field")
        counts = f"{violations} of {counted(len(fixed), 'object')}, {fields}"
        names = [shown(file.name) for file in batch.files]
        if len(names) == 1:
            yield f"{verb} {names[0]}: {counts}"
        elif names:
            yield f"{verb} {len(names)} files: {counts}"
            yield from (f"  {name}" for name in names)


def open_lines(subjects: Sequence[Subject]) -> Iterator[str]:
    """Yield what a person decides, then what is not fixed; of many that stay for one
    reason, their number in each file."""
    for title, is_decision in (("a person decides:", True), ("not fixed:", False)):
        lines = [*_lines(subjects, is_decision)]
        if lines:
            yield title
            yield from lines[:_MOST]
            if len(lines) > _MOST:
                yield f"  and {counted(len(lines) - _MOST, 'more line')}"


def _lines(subjects: Sequence[Subject], is_decision: bool) -> Iterator[str]:
    kinds: dict[str, list[tuple[str, str, Location]]] = {}
    for subject in subjects:
        name = shown(resource_id(subject.given))
        for (policy, rule), reason in subject.open.items():
            if reason.is_decision is is_decision:
                of_rule = f"{policy.rpartition('/')[2]}/{rule}".rstrip("/")
                row = (name, of_rule, reason.location)
                kinds.setdefault(single_line(reason.text), []).append(row)
    for text, rows in kinds.items():
        if len(rows) > _MOST_ALONE:
            yield f"  {text}:"
            yield from _by_file(rows)
            continue
        for name, of_rule, location in rows:
            yield f"  {name} {of_rule}: {text}"
            yield f"    {location}"


def _by_file(rows: Sequence[tuple[str, str, Location]]) -> Iterator[str]:
    files: dict[str, list[str]] = {}
    for name, _, location in rows:
        files.setdefault(location.file, []).append(name)
    for file, names in files.items():
        objects = counted(len(set(names)), "object")
        yield f"    {shown(file)}: {counted(len(names), 'violation')} of {objects}"
