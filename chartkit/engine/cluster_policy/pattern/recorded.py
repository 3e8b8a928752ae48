"""A pattern and its answer, as a recorder keeps them."""

from __future__ import annotations

from collections.abc import Sequence

from chartkit.engine.cluster_policy.pattern.build import Mismatch, MismatchKind, Part, Places
from chartkit.engine.context.recorder import Recorder, field_below
from chartkit.engine.why import MISSING, Asked, Decision, value_text
from chartkit.model import FieldPath, Json, path_text, pointer_text
from chartkit.safe_text import shown
from chartkit.wording import abridged

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
    """Record the decision of a pattern; written, above: its place in the policy; absent: its
    optional parts that the object does not have."""
    if mismatch is None:
        location = recorder.sources.location(written, *above)
        parts = tuple(_optional(recorder, written, above, *key) for key in absent[:_MOST_ABSENT])
        text = "the pattern holds"
        if parts:
            names = abridged([part.text.removesuffix(_ALLOWED) for part in parts], _NAMED)
            text = f"{text}; optional, and missing: {names}"
        recorder.add(Decision(Asked.PATTERN, True, text, location, parts=parts))
        return
    text, position = shown(mismatch.message), above
    pointer, value = None, MISSING
    if mismatch.place is not None:
        part, indices = mismatch.place
        path, position = part.path.fields(indices), (*above, *part.position)
        pointer, value = field_below(recorder.judged, path)
        if part.pattern is None and value is not MISSING:
            sides = "is there, and must not be"
        else:
            wanted = value_text(part.pattern)
            if isinstance(part.pattern, dict | list) and len(wanted) > _SHORT:
                asked = "asks for it" if value is MISSING else "asks for more in it"
                sides = f"is {value_text(value)}, and the pattern {asked}"
            else:
                sides = f"is {value_text(value)}; the pattern wants {wanted}"
        if recorder.hides(pointer):
            sides, value = "is hidden; the pattern wants something else", MISSING
        text = f"{_field(pointer, path)} {sides}"
    if mismatch.kind is MismatchKind.SKIP:
        text = f"does not apply: {text}"
    answer = None if mismatch.kind is MismatchKind.ERROR else False
    location = recorder.sources.location(written, *position)
    recorder.add(Decision(Asked.PATTERN, answer, text, location, pointer, value))


def _optional(
    recorder: Recorder, written: Json, above: FieldPath, part: Part, indices: Places
) -> Decision:
    """Return the decision of a part that an object need not have."""
    path = part.path.fields(indices)
    pointer, _ = field_below(recorder.judged, path)
    location = recorder.sources.location(written, *above, *part.position)
    text = f"{_field(pointer, path)}{_ALLOWED}"
    return Decision(Asked.PATTERN, True, text, location, pointer)


def _field(pointer: str | None, path: FieldPath) -> str:
    if pointer is None:
        return shown(path_text(path)) or "the element"
    return shown(pointer_text(pointer))
