"""The answers of both forms as text."""

from __future__ import annotations

import json
from collections.abc import Iterator

from chartkit.migration.proof.model import Answer, Result


def answer_text(answer: Answer) -> str:
    """Return an answer in one line."""
    return "; ".join(_parts(answer)) or "no result"


def _parts(answer: Answer) -> Iterator[str]:
    if answer.result is not Result.NONE:
        yield str(answer.result)
    yield from (text for text in answer.messages if text)
    yield from answer.errors
    yield from (f"error: {text}" for text in answer.failed)
    if answer.denied:
        yield "denied"
    if answer.warned:
        yield "warned"
    if answer.patched is not None:
        yield f"mutated to {_compact(answer.patched)}"
    yield from (f"mutates {_compact(body)}" for body in answer.targets)
    yield from (f"generates {_compact(body)}" for body in answer.generated)
    if answer.deletes:
        yield f"deletes at {answer.deletes}"


def _compact(body: object) -> str:
    return json.dumps(body, ensure_ascii=False)
