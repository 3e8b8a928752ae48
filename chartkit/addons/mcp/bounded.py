"""Answers of a bounded size, with notes of what was left out and how to ask for it."""

from __future__ import annotations

import json
from typing import Final

from chartkit.model import Json
from chartkit.wording import counted

_ALL: Final = "`detailed` gives them"


def text_of(value: Json) -> str:
    """Return a value as JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def without_passes(document: Json, notes: list[str]) -> None:
    """Take the results that pass, or are skipped, out of the report of a scan, and all but the most
    telling field of each."""
    results = document["results"]
    document["results"] = [each for each in results if each["result"] not in ("pass", "skip")]
    fields = [each.pop("fields", None) for each in document["results"]]
    if left_out := len(results) - len(fields):
        notes.append(f"left out: {counted(left_out, 'passing or skipped result')} ({_ALL})")
    if any(fields):
        notes.append(f"left out: further fields of results ({_ALL})")


def without_passing_rules(document: Json, notes: list[str]) -> None:
    """Take the rules that pass, or are about other kinds, out of the answer of `why`."""
    left_out = 0
    for each in document["objects"]:
        rules = each["rules"]
        each["rules"] = [
            rule
            for rule in rules
            if rule["result"] != "pass"
            and (rule["result"] != "none" or rule["decision"].get("field") != "/kind")
        ]
        left_out += len(rules) - len(each["rules"])
    if left_out:
        what = counted(left_out, "rule")
        notes.append(f"left out: {what} that pass or are about other kinds (name a `policy`)")


def bounded_text(text: str, room: int, notes: list[str]) -> str:
    """Return the whole lines at the start of a text that have at most so many characters."""
    if len(text) <= room:
        return text
    kept = text[: text.rfind("\n", 0, room) + 1] or text[:room]
    notes.append(f"the first {len(kept):,} of {len(text):,} characters: ask about fewer objects")
    return kept


def bounded(value: Json, room: int, path: str, notes: list[str]) -> Json:
    """Return a value of at most about so many characters of JSON, and add a note for each list and
    text that is cut; path: what `query` calls the value, empty for the whole answer."""
    if len(text_of(value)) <= room:
        return value
    if isinstance(value, str):
        kept = value[: max(room - 2, 0)]
        notes.append(f"{path}: the first {len(kept):,} of {len(value):,} characters")
        return f"{kept}…"
    if isinstance(value, list):
        return _bounded_list(value, room, path, notes)
    if not isinstance(value, dict):
        return value
    sizes = {key: len(text_of(value[key])) + len(key) + 4 for key in value}
    cut = {}
    for number, key in enumerate(sorted(value, key=sizes.__getitem__)):
        share = max(room // (len(value) - number) - len(key) - 4, 0)
        name = key if key.isidentifier() else json.dumps(key)
        cut[key] = bounded(value[key], share, f"{path}.{name}".lstrip("."), notes)
        room -= len(text_of(cut[key])) + len(key) + 4
    return {key: cut[key] for key in value}


def _bounded_list(value: list[Json], room: int, path: str, notes: list[str]) -> list[Json]:
    kept: list[Json] = []
    for each in value:
        room -= len(text_of(each)) + 1
        if room < 0:
            break
        kept.append(each)
    if not kept:
        kept.append(bounded(value[0], room + len(text_of(value[0])), f"{path}[0]", notes))
    if left_out := len(value) - len(kept):
        rest = f"query `{path}[{len(kept)}:]` gives them"
        notes.append(f"left out: {left_out:,} of {len(value):,} {path} ({rest})")
    return kept
