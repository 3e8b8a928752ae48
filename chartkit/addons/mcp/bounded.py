"""Answers of a bounded size, with notes of what was left out and how to ask for it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

import jmespath

from chartkit.model import Json

_LEAST: Final = 200
"""The room without which a member of an object is left out."""


def text_of(value: Json) -> str:
    """Return a value as JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def without_passes(output: str, document: Json, notes: list[str]) -> Mapping[str, str]:
    """Take what passes out of the report of a scan or test, or out of the answer of `why`, and all
    but the most telling field of the results of a scan. Return the filter of each list that has
    fewer members; output: the name of the command's JSON."""
    if output not in _WANTED:
        return {}
    outer, key, wanted, why = _WANTED[output]
    count = total = 0
    for holder in document[outer] if outer else [document]:
        rows = holder[key]
        holder[key] = jmespath.search(wanted, rows)
        total += len(rows)
        count += len(rows) - len(holder[key])
    if count:
        notes.append(f"left out: {count} of {total} {key}, which {why}")
    if output == "scan" and [row.pop("fields") for row in document["results"] if "fields" in row]:
        notes.append("left out: further fields of results (`detailed` gives them)")
    return {key: wanted}


_WANTED: Final = {
    "scan": (
        *("", "results", "[?result!='pass' && result!='skip']"),
        "pass or are skipped (`detailed` gives them)",
    ),
    "test": ("cases", "rows", "[?result!='Pass']", "are as expected (`detailed` gives them)"),
    "why": (
        *("objects", "rules", "[?result!='pass' && !(result=='none' && decision.field=='/kind')]"),
        "pass or are about other kinds (name a `policy`)",
    ),
}
"""The list of a document's parts, or of the document itself, that has results, which of these are
wanted, and what the others are."""


def bounded(
    value: Json, room: int, path: str, notes: list[str], filters: Mapping[str, str]
) -> Json:
    """Return a value of at most about so many characters of JSON, and add a note for each list and
    text that is cut.

    path: what the value is called, for a document as `query` calls it; filters: by which lists of
    the document have fewer members already.
    """
    if len(text_of(value)) <= room:
        return value
    if isinstance(value, str):
        kept = value[:room]
        kept = kept[: kept.rfind("\n") + 1] or kept
        notes.append(f"{path}: the first {len(kept):,} of {len(value):,} characters")
        return f"{kept}…"
    if isinstance(value, list):
        return _bounded_list(value, room, path, notes, filters)
    if not isinstance(value, dict):
        return value
    sizes = {key: len(text_of(value[key])) + len(key) + 4 for key in value}
    cut = {}
    for number, key in enumerate(sorted(value, key=sizes.__getitem__)):
        share = room // (len(value) - number) - len(key) - 4
        if share < min(sizes[key], _LEAST):
            continue
        name = f"{path}.{key if key.isidentifier() else json.dumps(key)}".lstrip(".")
        name = f"({name}{filters[key]})" if key in filters else name
        cut[key] = bounded(value[key], share, name, notes, filters)
        room -= len(text_of(cut[key])) + len(key) + 4
    if left_out := len(value) - len(cut):
        notes.append(f"left out: {left_out:,} of {len(value):,} members of {path or 'the answer'}")
    return {key: cut[key] for key in value if key in cut}


def _bounded_list(
    value: list[Json], room: int, path: str, notes: list[str], filters: Mapping[str, str]
) -> list[Json]:
    kept: list[Json] = []
    for each in value:
        room -= len(text_of(each)) + 1
        if room < 0:
            break
        kept.append(each)
    if value and not kept:
        kept.append(bounded(value[0], room + len(text_of(value[0])), f"{path}[0]", notes, filters))
    if left_out := len(value) - len(kept):
        rest = f"query `{path}[{len(kept)}:]` gives them"
        notes.append(f"left out: {left_out:,} of {len(value):,} ({rest})")
    return kept
