"""Failures that registries report, in the words of the tools that ask registries."""

from __future__ import annotations

import http
import json
from collections.abc import Mapping
from typing import Final

from chartkit.go.fmt import go_sprint
from chartkit.model import Json
from chartkit.network.http.transport import Response

_LONGEST: Final = 400
"""Characters of a diagnosis that are shown."""


def diagnosis(answer: Response) -> str:
    """Return the diagnostics of a response, or its status and body where it has none."""
    try:
        body = json.loads(answer.body)
    except (ValueError, RecursionError):
        body = None
    errors = body.get("errors") if isinstance(body, dict) else None
    if isinstance(errors, list) and errors:
        texts = [_diagnostic(one) for one in errors[:5] if isinstance(one, dict)]
        many = "multiple errors returned: " if len(texts) > 1 else ""
        return printable(many + "; ".join(texts))
    text = _status(answer)
    raw = answer.body.decode(errors="replace")
    return printable(f"{text}: {raw}" if raw.strip() else text)


def head_diagnosis(answer: Response) -> str:
    """Return the diagnosis of the same response without its body."""
    return f"{_status(answer)} (HEAD responses have no body, use GET for details)"


def _status(answer: Response) -> str:
    try:
        phrase = http.HTTPStatus(answer.status).phrase
    except ValueError:
        phrase = ""
    return f"unexpected status code {answer.status} {phrase}"


def _diagnostic(body: Mapping[str, Json]) -> str:
    text = f"{body.get('code', '')}: {body.get('message', '')}"
    detail = body.get("detail")
    return text if detail is None else f"{text}; {go_sprint(detail)}"


def printable(text: str) -> str:
    """Return a text in one line, cut and without control characters."""
    line = " ".join(text.split())
    line = "".join(letter if letter.isprintable() else "�" for letter in line)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
