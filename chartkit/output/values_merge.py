"""Three-way merge of values files: what chartkit generates anew, and what people wrote into them.

The last generated text is the base. What changed on one side only is taken; what changed on both
sides in different ways is a conflict, which is shown and never decided here. Which values come
out is decided on the values themselves; the text then follows them: a merge of lines where that
gives exactly those values (it takes changed comments of both sides), and an edit elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from pathlib import Path as File
from typing import Any

from chartkit.documents.reader import Document, read_text
from chartkit.errors import ChartkitError, InputError
from chartkit.model import Body, Diagnostic, Json, Location, Severity, same
from chartkit.output.yaml_edit import rewritten
from chartkit.schemas.json_schema import require_single_keys

RULE_CONFLICT = "CK121"
Path = tuple[str, ...]


class _Missing:
    def __repr__(self) -> str:
        return "absent"


_MISSING = _Missing()
"""Marks a missing key."""


class Prefer(StrEnum):
    """The side that conflicts go to, if the user gave one."""

    NEITHER = "neither"
    EDITS = "edits"
    GENERATED = "generated"


class ConflictError(ChartkitError):
    """Values that were changed by hand and are generated differently now."""

    def __init__(self, conflicts: Sequence[Diagnostic]) -> None:
        first = conflicts[0]
        super().__init__(first.message, first.location, first.hint)
        self.diagnostics = tuple(conflicts)


@dataclass(frozen=True, slots=True)
class _Conflict:
    path: Path
    base: Any
    edited: Any
    generated: Any


def merge_values(
    base: str | None, edited: str, generated: str, file: str, prefer: Prefer = Prefer.NEITHER
) -> str:
    """The text of a values file with hand edits and what is generated now.

    base: the last generated text, None where there is none; edited: the file's text now;
    generated: the new text; file: the name that messages use. Raises ConflictError with every
    conflict and its place, and InputError where a text is not a mapping or has a key twice.
    """
    if edited in (base, generated):
        return generated
    document = _document(edited, file)
    if document is not None:
        require_single_keys(document)
    if base == generated:
        return edited
    before = _mapping(base, "<the last generated values>") if base is not None else {}
    after = _mapping(generated, "<the generated values>")
    changes, conflicts = _compare(before, document.body if document else {}, after)
    if conflicts and prefer is Prefer.NEITHER:
        raise ConflictError([_diagnostic(conflict, document, file) for conflict in conflicts])
    if prefer is Prefer.GENERATED:
        changes += [(conflict.path, conflict.generated) for conflict in conflicts]
    values = document.body if document else {}
    wanted: Body = dict(values)
    for (*above, key), value in changes:
        copy, order = wanted, after
        for step in above:
            copy[step] = dict(copy[step])
            copy, order = copy[step], order.get(step, {})
        if value is _MISSING:
            copy.pop(key, None)
        elif key in copy:
            copy[key] = value
        else:
            # A new key comes after the last one that is generated before it.
            keys = list(order)
            earlier = {name for name in keys[: keys.index(key)] if name in copy}
            last = max((at for at, name in enumerate(copy) if name in earlier), default=-1)
            items = list(copy.items())
            copy.clear()
            copy.update([*items[: last + 1], (key, value), *items[last + 1 :]])
    merged = merge_lines(base, edited, generated) if base is not None else None
    with suppress(InputError):
        if merged is not None and same(_mapping(merged, "<merged>"), wanted):
            return merged
    hint = "write the values out in place of its aliases"
    return rewritten(edited, wanted, File(file), hint, generated)


def _document(text: str, file: str) -> Document | None:
    documents = read_text(text, file)
    if not documents:
        return None
    if len(documents) > 1 or not isinstance(documents[0].body, dict):
        raise InputError("must be one mapping of values", documents[-1].location)
    return documents[0]


def _mapping(text: str, file: str) -> Body:
    document = _document(text, file)
    body: Body = document.body if document else {}
    return body


def _compare(
    base: Mapping[str, Any], edited: Mapping[str, Any], generated: Mapping[str, Any]
) -> tuple[list[tuple[Path, Any]], list[_Conflict]]:
    """Return the changes of the edited values, and the conflicts. A change is a key and its merged
    value; _MISSING: the key goes."""
    changes: list[tuple[Path, Any]] = []
    conflicts: list[_Conflict] = []
    todo: list[tuple[Path, Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]]]
    todo = [((), base, edited, generated)]
    while todo:
        prefix, old, mine, new = todo.pop()
        for key in dict.fromkeys((*new, *old)):
            path = (*prefix, key)
            was, have, now = (side.get(key, _MISSING) for side in (old, mine, new))
            if same(was, now) or same(have, now):
                continue
            if _is_unset(was) and _is_unset(now) and not same(was, have):
                continue
            if isinstance(have, dict) and isinstance(now, dict):
                todo.append((path, was if isinstance(was, dict) else {}, have, now))
            elif now is _MISSING and (
                isinstance(was, dict) and isinstance(have, dict) and bool(have.keys() - was.keys())
            ):
                todo.append((path, was, have, {}))
            elif same(was, have):
                changes.append((path, now))
            else:
                conflicts.append(_Conflict(path, was, have, now))
    return changes, conflicts


def _is_unset(value: Any) -> bool:
    """Report whether a value says nothing: a key that is gone, null, or an empty default."""
    return value is _MISSING or value is None or value in ("", [], {})


def _diagnostic(conflict: _Conflict, document: Document | None, file: str) -> Diagnostic:
    location = document.locate(*conflict.path) if document else Location(file)
    name = ".".join(conflict.path)
    edited, generated = _shown(conflict.edited), _shown(conflict.generated)
    message = f"'{name}' was changed by hand ({_shown(conflict.base)} → {edited})"
    message += f", and chartkit generates {generated} now"
    hint = "--prefer edits keeps what is written, --prefer generated takes the new value"
    return Diagnostic(RULE_CONFLICT, Severity.ERROR, message, location, hint)


def _shown(value: Json) -> str:
    if value is _MISSING:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "…"


@dataclass(frozen=True, slots=True)
class _Stable:
    """Lines that both sides have as the base has them: where they begin on each, and how many."""

    base: int
    one: int
    other: int
    count: int


def merge_lines(base: str, mine: str, other: str) -> str | None:
    """The changes of both sides to the base in one text; None where they touch the same lines. What
    both sides put in at the same place comes one after the other, unless a key is in both."""
    texts = [text.splitlines(keepends=True) for text in (base, mine, other)]
    merged: list[str] = []
    at = _Stable(0, 0, 0, 0)
    for stable in _stable(*texts):
        parts = (
            texts[0][at.base : stable.base],
            texts[1][at.one : stable.one],
            texts[2][at.other : stable.other],
        )
        chosen = _chosen(*parts)
        if chosen is None:
            return None
        merged += chosen
        merged += texts[0][stable.base : stable.base + stable.count]
        count = stable.count
        at = _Stable(stable.base + count, stable.one + count, stable.other + count, 0)
    return "".join(merged)


def _chosen(base: Sequence[str], ours: Sequence[str], other: Sequence[str]) -> Sequence[str] | None:
    if ours in (base, other):
        return other
    if other == base:
        return ours
    if base or _keys(ours) & _keys(other):
        return None
    # What stands deeper belongs to what is above the place.
    return [*ours, *other] if _depth(ours) > _depth(other) else [*other, *ours]


def _keys(lines: Sequence[str]) -> set[str]:
    """The keys of a text's mappings, each with its indentation."""
    return {line.partition(":")[0].rstrip() for line in lines if not _is_comment(line)}


def _depth(lines: Sequence[str]) -> int:
    """Return the indentation of the first line that is not empty."""
    said = (line for line in lines if not _is_comment(line))
    return next((len(line) - len(line.lstrip()) for line in said), 0)


def _is_comment(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _stable(base: Sequence[str], ours: Sequence[str], other: Sequence[str]) -> Iterator[_Stable]:
    """The runs of lines that all three have, in order; the last is empty and marks the ends."""
    to_one = _matches(base, ours)
    to_other = _matches(base, other)
    start = 0
    while start < len(base):
        if start not in to_one or start not in to_other:
            start += 1
            continue
        count = 1
        while (
            to_one.get(start + count) == to_one[start] + count
            and to_other.get(start + count) == to_other[start] + count
        ):
            count += 1
        yield _Stable(start, to_one[start], to_other[start], count)
        start += count
    yield _Stable(len(base), len(ours), len(other), 0)


def _matches(base: Sequence[str], side: Sequence[str]) -> dict[int, int]:
    blocks = SequenceMatcher(None, base, side, autojunk=False).get_matching_blocks()
    return {block.a + offset: block.b + offset for block in blocks for offset in range(block.size)}
