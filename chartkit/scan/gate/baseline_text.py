"""The text of a baseline: written anew, with comments and untouched entries as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import yaml

from chartkit.documents.reader import read_text
from chartkit.documents.yaml_dump import dump_text
from chartkit.errors import InputError
from chartkit.scan.gate.baseline import API_VERSION, KIND, Baseline, KnownViolation, parse_baseline

_HEAD: Final = f"""\
# Known violations, which do not fail a run. `chartkit scan --baseline FILE --update-baseline`
# writes this file; reason, until and comments stay.
apiVersion: {API_VERSION}
kind: {KIND}
"""
_LIST: Final = "violations:"
_BEFORE_ITEMS: Final = 2


@dataclass(frozen=True, slots=True)
class _Parts:
    """A text in parts: up to its list, the text of each item with the comments above it, and what
    follows; indent: of the items."""

    head: str
    items: tuple[tuple[str, str], ...]
    tail: str = ""
    indent: str = "  "


_NEW: Final = _Parts(_HEAD, ())


def baseline_text(baseline: Baseline, entries: Sequence[KnownViolation]) -> str:
    """Return the text of a baseline with other entries; those that have not changed keep their
    text, and all keep their comments. A text with anchors or several documents loses them."""
    text = _text(_parts(baseline), baseline, entries)
    return text if _reads_as(text, entries) else _text(_NEW, baseline, entries)


def _reads_as(text: str, entries: Sequence[KnownViolation]) -> bool:
    try:
        found = parse_baseline(read_text(text), Path()).entries
    except InputError:
        return False
    return [replace(each, index=-1) for each in found] == [
        replace(each, index=-1) for each in entries
    ]


def _text(parts: _Parts, baseline: Baseline, entries: Sequence[KnownViolation]) -> str:
    if not entries:
        comments = "".join(comments for comments, _ in parts.items)
        return f"{parts.head}{comments}{_LIST} []\n{parts.tail}"
    before = {entry.index: entry for entry in baseline.entries}
    text = [parts.head, f"{_LIST}\n"]
    for entry in entries:
        comments, own = (
            parts.items[entry.index] if 0 <= entry.index < len(parts.items) else ("", "")
        )
        is_same = own and before[entry.index] == entry
        above = comments if len(text) > _BEFORE_ITEMS else comments.lstrip("\n")
        text += [above, own if is_same else _item(entry, parts.indent)]
    return "".join([*text, parts.tail])


def _item(entry: KnownViolation, indent: str) -> str:
    first, others = f"{indent}- ", f"{indent}  "
    lines = [f"{key}: {value}\n" for key, value in _members(entry, len(others))]
    return first + others.join(lines)


def _members(entry: KnownViolation, indent: int) -> Iterator[tuple[str, str]]:
    violation = entry.violation
    texts = {
        "policy": violation.policy,
        "rule": violation.rule,
        "object": violation.object,
        "field": violation.field,
        "result": "error" if violation.is_error else "",
    }
    yield from ((key, dump_text(text, indent)) for key, text in texts.items() if text)
    if entry.count > 1:
        yield "count", str(entry.count)
    if entry.reason:
        yield "reason", dump_text(entry.reason, indent)
    if entry.until:
        yield "until", entry.until.isoformat()


def _parts(baseline: Baseline) -> _Parts:
    """Return the parts of the file's text, of a new file where there is none or where its list is
    written in one line."""
    if baseline.document is None:
        return _NEW
    text = baseline.document.source.text
    node: Any = yaml.compose(text, yaml.CSafeLoader)
    key, value = next(pair for pair in node.value if pair[0].value == "violations")
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    head = "".join(lines[: key.start_mark.line])
    others = [pair[0].start_mark.line for pair in node.value]
    following = min((each for each in others if each > key.start_mark.line), default=len(lines))
    if value.flow_style or node.flow_style or not value.value:
        kept = "" if node.flow_style else head
        return _Parts(kept or _HEAD, (), "".join(lines[following:]))
    starts = [_start(lines, item.start_mark.line) for item in value.value]
    first = key.start_mark.line + 1
    spans = zip(starts, [*starts[1:], following], strict=True)
    ends = [_end(lines, start, end) for start, end in spans]
    items = []
    for start, end in zip(starts, ends, strict=True):
        items.append(("".join(lines[first:start]), "".join(lines[start:end])))
        first = end
    dashed = lines[starts[0]]
    indent = dashed[: len(dashed) - len(dashed.lstrip())]
    return _Parts(head, tuple(items), "".join(lines[first:]), indent)


def _start(lines: Sequence[str], line: int) -> int:
    """Return the line with the dash of an item."""
    while not lines[line].lstrip().startswith("-"):
        line -= 1
    return line


def _end(lines: Sequence[str], start: int, end: int) -> int:
    """Return the end of an item's own lines; comments and empty lines below belong to the next."""
    while end > start + 1 and lines[end - 1].strip()[:1] in ("", "#"):
        end -= 1
    return end
