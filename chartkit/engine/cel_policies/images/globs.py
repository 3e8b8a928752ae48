"""The globs of `matchImageReferences`: those of gobwas/glob without separators."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from chartkit.go.regexp import RegexError, compile_regex

_WILD: Final = {"*": ".*", "?": "."}


class GlobError(ValueError):
    """A glob that does not compile."""


def compile_glob(pattern: str) -> Callable[[str], bool]:
    """Return whether a whole text fits: `*` is any text, `?` any character, `[a-z]` and `[!a-z]`
    one of some or none of them, `{a,b}` one of several, `\\` takes the next character as it is."""
    try:
        regexp = compile_regex(rf"(?s)\A(?:{_translated(pattern)})\z")
    except RegexError as error:
        raise GlobError(str(error)) from error
    return regexp.matches


def _translated(pattern: str) -> str:
    out: list[str] = []
    depth = at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            at += 1
            if at == len(pattern):
                raise GlobError("unexpected end of input")
            out.append(re.escape(pattern[at]))
        elif char == "[":
            text, at = _class(pattern, at)
            out.append(text)
        elif char == "{":
            depth += 1
            out.append("(?:")
        elif char == "}" and depth:
            depth -= 1
            out.append(")")
        elif char == "," and depth:
            out.append("|")
        else:
            out.append(_WILD.get(char) or re.escape(char))
        at += 1
    # A brace that nothing closes ends with the glob.
    return "".join(out) + ")" * depth


def _class(pattern: str, start: int) -> tuple[str, int]:
    """The class that begins at a `[`, and where it ends."""
    end = pattern.find("]", start + 2)
    if end < 0:
        raise GlobError("unexpected end of input")
    inner = pattern[start + 1 : end]
    negated = inner.startswith("!")
    members = inner[1:] if negated else inner
    body = members if re.fullmatch(r".-.", members) else re.escape(members)
    return f"[{'^' if negated else ''}{body}]", end
