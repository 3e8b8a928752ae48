"""Templates and policies that depend on their inputs alone, not on the time or on chance."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from chartkit.model import Json

_OTHERWISE: Final = re.compile(
    rb"\b(?:rand[A-Z]\w*|gen[A-Z]\w*|shuffle|uuidv4|htpasswd|bcrypt|encryptAES|getHostByName"
    rb"|time_now\w*|time_since|random)\b"
    rb"|\btime\s*\.\s*now\b|[(|]\s*(?:now|ago)\b"
)
"""Functions of Helm's templates, of JMESPath and of CEL whose value comes from the clock, from
chance or from elsewhere."""
_CLOCK: Final = re.compile(rb"\b(?:now|ago)\b")
"""Functions that are words of any text, and count at the end of a template's action alone."""
_COMMENT: Final = re.compile(rb"\{\{-?\s*/\*")
_COMMENT_END: Final = re.compile(rb"\*/\s*-?\}\}")


def may_differ(texts: Iterable[str | bytes]) -> bool:
    """Return whether templates or policies may give another result the next time. The time that
    this takes grows with their length alone."""
    return any(_read(each) if isinstance(each, str) else _may_differ(each) for each in texts)


@lru_cache(maxsize=512)
def _read(text: str) -> bool:
    """Environments share most of their texts: each is looked through once."""
    return _may_differ(text.encode("utf-8", "replace"))


def _may_differ(given: bytes) -> bool:
    text = _without_comments(given)
    if _OTHERWISE.search(text):
        return True
    if not _CLOCK.search(text):
        return False
    actions = text.split(b"}}")[:-1]
    return any(_CLOCK.search(each, max(each.rfind(b"{"), each.rfind(b"}")) + 1) for each in actions)


def _without_comments(text: bytes) -> bytes:
    parts: list[bytes] = []
    at = 0
    while begin := _COMMENT.search(text, at):
        end = _COMMENT_END.search(text, begin.end())
        if end is None:
            break
        parts.append(text[at : begin.start()])
        at = end.end()
    return b"".join([*parts, text[at:]])


def templates_of(values: Json) -> Iterator[str]:
    """Yield the texts of values that a template may evaluate, those of keys among them."""
    if isinstance(values, str):
        yield from (values,) if "{{" in values else ()
    elif isinstance(values, (dict, list)):
        for each in (*values, *values.values()) if isinstance(values, dict) else values:
            yield from templates_of(each)
