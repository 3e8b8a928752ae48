"""A pattern and its answer, as a recorder keeps them."""

from __future__ import annotations

from collections.abc import Sequence

from chartkit.engine.cluster_policy.pattern.build import Mismatch, MismatchKind, Part, Places
from chartkit.engine.context.recorder import Recorder, field_below
from chartkit.engine.why import MISSING, Asked, Decision, value_text
from chartkit.model import FieldPath, Json, path_text
from chartkit.safe_text import shown
from chartkit.wording import abridged

_ANSWERS = {MismatchKind.FAIL: False, MismatchKind.SKIP: False, MismatchKind.ERROR: None}
_SHORT = 40
_ALLOWED = " is missing, which =( ) allows"
_MOST_ABSENT = 64
_NAMED = 3


def record_pattern(
    recorder: Recorder,
    written: Json,
    above: FieldPath,
    mismatch: Mismatch | None,
    absent: Sequence[tuple[Part, Places]],
) -> None:
    """Record the answer of a pattern; written, above: where it is in the policy; absent: its
    optional parts that the object does not have."""
    place = None if mismatch is None else mismatch.place
    if mismatch is None:
        location = recorder.sources.location(written, *above)
        parts = tuple(_optional(recorder, written, above, *one) for one in absent[:_MOST_ABSENT])
        text = "the pattern holds"
        if parts:
            names = abridged([part.text.removesuffix(_ALLOWED) for part in parts], _NAMED)
            text = f"{text}; optional, and missing: {names}"
        recorder.add(Decision(Asked.PATTERN, True, text, location, parts=parts))
        return
    answer = _ANSWERS[mismatch.kind]
    skips = "does not apply: " if mismatch.kind is MismatchKind.SKIP else ""
    if place is None:
        location = recorder.sources.location(written, *above)
        text = f"{skips}{shown(mismatch.message)}"
        recorder.add(Decision(Asked.PATTERN, answer, text, location))
        return
    part, indices = place
    path = _path(part, indices)
    pointer, value = field_below(recorder.judged, path)
    location = recorder.sources.location(written, *above, *part.position)
    if recorder.hides(pointer):
        text = f"{skips}{_field(pointer, path)} is hidden; the pattern wants something else"
        recorder.add(Decision(Asked.PATTERN, answer, text, location, pointer))
        return
    text = f"{skips}{_field(pointer, path)} {_sides(part.pattern, value)}"
    recorder.add(Decision(Asked.PATTERN, answer, text, location, pointer, value))


def _optional(
    recorder: Recorder, written: Json, above: FieldPath, part: Part, indices: Places
) -> Decision:
    """Return the decision of a part that an object need not have."""
    path = _path(part, indices)
    pointer, _ = field_below(recorder.judged, path)
    location = recorder.sources.location(written, *above, *part.position)
    text = f"{_field(pointer, path)}{_ALLOWED}"
    return Decision(Asked.PATTERN, True, text, location, pointer)


def _path(part: Part, indices: Places) -> FieldPath:
    steps = iter(indices)
    return tuple(next(steps) if step is None else step for step in part.path.steps)


def _field(pointer: str | None, path: FieldPath) -> str:
    if pointer is None:
        return shown(path_text(path)) or "the element"
    steps = pointer.split("/")[1:]
    numbered = (int(step) if step.isdecimal() else step for step in steps)
    return shown(path_text(each if isinstance(each, int) else _plain(each) for each in numbered))


def _plain(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")


def _sides(pattern: Json, value: Json) -> str:
    """Return both sides of a part of a pattern that does not hold."""
    if pattern is None and value is not MISSING:
        return "is there, and must not be"
    wanted = value_text(pattern)
    if isinstance(pattern, dict | list) and len(wanted) > _SHORT:
        asked = "asks for it" if value is MISSING else "asks for more in it"
        return f"is {value_text(value)}, and the pattern {asked}"
    return f"is {value_text(value)}; the pattern wants {wanted}"
