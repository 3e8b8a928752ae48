"""JSON as reports write it: no text in it is a command where the logs of a pipeline are read."""

from __future__ import annotations

import json
from typing import Final

from chartkit.documents.json_text import without_surrogates
from chartkit.model import Json

_encode: Final = json.JSONEncoder(ensure_ascii=False).encode
_MARK: Final = "##"


def quoted(text: str) -> str:
    """Return a text between quotes."""
    return _without_marks(_encode(text))


def json_text(value: Json, indent: int | None = 2) -> str:
    """Return a value as JSON, in lines or on one line (indent: None); half a surrogate pair, which
    UTF-8 does not have, becomes U+FFFD."""
    written = _encode(value) if indent is None else _in_lines(value, " " * indent, "\n")
    text: str = without_surrogates(_without_marks(written))
    return text


def _in_lines(value: Json, step: str, newline: str) -> str:
    """Return a value as `json.dumps(value, indent=len(step))` does: that is in Python, and slow."""
    if isinstance(value, str) or not value or not isinstance(value, (dict, list, tuple)):
        return _encode(value)
    inner = newline + step
    parts: list[str] = []
    if isinstance(value, dict):
        for key, each in value.items():
            name = _encode(key) if isinstance(key, str) else _encode({key: 0})[1:-4]
            parts.append(f"{name}: {_in_lines(each, step, inner)}")
        return f"{{{inner}{f',{inner}'.join(parts)}{newline}}}"
    for each in value:
        parts.append(_in_lines(each, step, inner))
    return f"[{inner}{f',{inner}'.join(parts)}{newline}]"


def _without_marks(text: str) -> str:
    """Return JSON with the same values without `##`, with which commands begin in Azure's logs."""
    return text.replace(_MARK, "#\\u0023") if _MARK in text else text
