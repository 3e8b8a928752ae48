"""Answers of a bounded size, with notes of what was left out and how to ask for it."""

from __future__ import annotations

import json
from typing import Final

from chartkit.model import Json

_LEAST: Final = 200
"""The room without which a member of an object is left out."""


def text_of(value: Json) -> str:
    """Return a value as JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def without_passes(output: str, document: Json, notes: list[str]) -> None:
    """Take what passes out of the report of a scan or test, or out of the answer of `why`, and all
    but the most telling field of the results of a scan; output: the name of the command's JSON."""
    if output not in _PASSING:
        return
    outer, key, why = _PASSING[output]
    count = total = 0
    for holder in document[outer] if outer else [document]:
        rows = holder[key]
        holder[key] = [row for row in rows if not _passes(row)]
        total += len(rows)
        count += len(rows) - len(holder[key])
    if count:
        notes.append(f"left out: {count} of {total} {key}, which {why}")
    if output == "scan" and [row.pop("fields") for row in document["results"] if "fields" in row]:
        notes.append("left out: further fields of results (`detailed` gives them)")


_PASSING: Final = {
    "scan": ("", "results", "pass or are skipped (`detailed` gives them)"),
    "test": ("cases", "rows", "are as expected (`detailed` gives them)"),
    "why": ("objects", "rules", "pass or are about other kinds (name a `policy`)"),
}
"""The list of a document's parts, or of the document itself, that has results."""


def _passes(row: Json) -> bool:
    is_other_kind = row["result"] == "none" and row["decision"].get("field") == "/kind"
    is_skipped = row["result"] == "skip" and "decision" not in row
    return row["result"] in ("pass", "Pass") or is_skipped or is_other_kind


def bounded(value: Json, room: int, path: str, notes: list[str]) -> Json:
    """Return a value of at most about so many characters of JSON, and add a note for each list and
    text that is cut; path: what the value is called, for a document as `query` calls it."""
    if len(text_of(value)) <= room:
        return value
    if isinstance(value, str):
        kept = value[:room]
        kept = kept[: kept.rfind("\n") + 1] or kept
        notes.append(f"{path}: the first {len(kept):,} of {len(value):,} characters")
        return f"{kept}…"
    if isinstance(value, list):
        return _bounded_list(value, room, path, notes)
    if not isinstance(value, dict):
        return value
    sizes = {key: len(text_of(value[key])) + len(key) + 4 for key in value}
    cut = {}
    for number, key in enumerate(sorted(value, key=sizes.__getitem__)):
        share = room // (len(value) - number) - len(key) - 4
        if share < min(sizes[key], _LEAST):
            continue
        name = key if key.isidentifier() else json.dumps(key)
        cut[key] = bounded(value[key], share, f"{path}.{name}".lstrip("."), notes)
        room -= len(text_of(cut[key])) + len(key) + 4
    if left_out := len(value) - len(cut):
        notes.append(f"left out: {left_out:,} of {len(value):,} members of {path or 'the answer'}")
    return {key: cut[key] for key in value if key in cut}


def _bounded_list(value: list[Json], room: int, path: str, notes: list[str]) -> list[Json]:
    kept: list[Json] = []
    for each in value:
        room -= len(text_of(each)) + 1
        if room < 0:
            break
        kept.append(each)
    if value and not kept:
        kept.append(bounded(value[0], room + len(text_of(value[0])), f"{path}[0]", notes))
    if left_out := len(value) - len(kept):
        rest = f"query `{path}[{len(kept)}:]` gives them"
        notes.append(f"left out: {left_out:,} of {len(value):,} {path} ({rest})")
    return kept
