"""Three-way merge of values files: what chartkit generates anew, and what people wrote into them.

The last generated text is the base. What changed on one side only is taken; what changed on both
sides in different ways is a conflict, which is shown and never decided here. Which values come
out is decided on the values themselves; the text then follows them: a merge of lines where that
gives exactly those values (it keeps everything as written), and ruamel.yaml's round trip, which
keeps comments and order, elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from chartkit.documents.reader import Document, read_text
from chartkit.errors import ChartkitError, InputError
from chartkit.model import Body, Diagnostic, Explanation, Json, Location, Severity, same
from chartkit.output import line_merge, round_trip
from chartkit.output.round_trip import MISSING
from chartkit.schemas.json_schema import require_single_keys

RULE_CONFLICT = "CK121"
_EXPLANATIONS = (
    Explanation(
        RULE_CONFLICT,
        what="A key of a values file that was edited by hand and is generated differently.",
        why="Both sides changed it since the last render, and either may be intended.",
        do="Choose with --prefer edits or --prefer generated.",
    ),
)
Path = tuple[str, ...]


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
class _Change:
    """One key as it is to be in the merged values; MISSING: not at all."""

    path: Path
    value: Any


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
        raise ConflictError([_diagnostic(each, document, file) for each in conflicts])
    if prefer is Prefer.GENERATED:
        changes.extend(_Change(each.path, each.generated) for each in conflicts)
    values = document.body if document else {}
    # The values with changes; those that came in stay as they are.
    wanted: Body = dict(values)
    for change in changes:
        copy = wanted
        for step in change.path[:-1]:
            copy[step] = dict(copy[step])
            copy = copy[step]
        if change.value is MISSING:
            copy.pop(change.path[-1], None)
        else:
            copy[change.path[-1]] = change.value
    merged = line_merge.merge(base, edited, generated) if base is not None else None
    if merged is not None and _gives(merged, wanted):
        return merged
    paths = [(change.path, change.value is not MISSING) for change in changes]
    return round_trip.edit(edited, generated, paths, file)


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
) -> tuple[list[_Change], list[_Conflict]]:
    """Return the changes of the edited values, and the conflicts."""
    changes: list[_Change] = []
    conflicts: list[_Conflict] = []
    todo: list[tuple[Path, Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]]]
    todo = [((), base, edited, generated)]
    while todo:
        prefix, old, mine, new = todo.pop()
        for key in dict.fromkeys((*new, *old)):
            path = (*prefix, key)
            was, have, now = (side.get(key, MISSING) for side in (old, mine, new))
            if same(was, now) or same(have, now):
                continue
            if _is_unset(was) and _is_unset(now) and not same(was, have):
                continue
            if isinstance(have, dict) and isinstance(now, dict):
                todo.append((path, was if isinstance(was, dict) else {}, have, now))
            elif now is MISSING and _added_to(was, have):
                todo.append((path, was, have, {}))
            elif same(was, have):
                changes.append(_Change(path, now))
            else:
                conflicts.append(_Conflict(path, was, have, now))
    return changes, conflicts


def _added_to(was: Any, have: Any) -> bool:
    """Return whether a mapping has keys added by hand, which stay when chartkit's own go."""
    return isinstance(was, dict) and isinstance(have, dict) and bool(have.keys() - was.keys())


def _is_unset(value: Any) -> bool:
    """Return whether a value says nothing: a key that is gone, null, or an empty default."""
    return value is MISSING or value is None or value in ("", [], {})


def _diagnostic(conflict: _Conflict, document: Document | None, file: str) -> Diagnostic:
    place = document.locate(*conflict.path) if document else Location(file)
    name = ".".join(conflict.path)
    edited, generated = _shown(conflict.edited), _shown(conflict.generated)
    message = f"'{name}' was changed by hand ({_shown(conflict.base)} → {edited})"
    message += f", and chartkit generates {generated} now"
    hint = "--prefer edits keeps what is written, --prefer generated takes the new value"
    return Diagnostic(RULE_CONFLICT, Severity.ERROR, message, place, hint)


def _shown(value: Json) -> str:
    if value is MISSING:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "…"


def _gives(text: str, wanted: Body) -> bool:
    try:
        return same(_mapping(text, "<merged>"), wanted)
    except InputError:
        return False
