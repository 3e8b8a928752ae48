"""JSON as Go's own library reads it into a type."""

from __future__ import annotations

import json
from typing import Final, NoReturn

from chartkit.engine.signatures import SignatureError
from chartkit.model import Body, Json
from chartkit.registry.depth import is_deeper

_DEEPEST: Final = 200


def read_object(content: bytes | str, what: str = "") -> Body:
    """A JSON object that is not nested too deeply; what: the words before the reason.

    What is no UTF-8 is replaced; raises SignatureError.
    """
    text = content.decode(errors="replace") if isinstance(content, bytes) else content
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise SignatureError(f"{what}invalid JSON") from None
    if not isinstance(value, dict):
        raise SignatureError(f"{what}json: it is no object")
    _check_depth(value, what)
    return value


def field(body: Body, name: str) -> Json:
    """A member by its name in any case, the last that is not null."""
    folded = name.casefold()
    found = [value for key, value in body.items() if key.casefold() == folded]
    return next((value for value in reversed(found) if value is not None), None)


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def _check_depth(value: Body, what: str) -> None:
    if is_deeper(value, _DEEPEST):
        raise SignatureError(f"{what}JSON is nested more than {_DEEPEST} deep")
