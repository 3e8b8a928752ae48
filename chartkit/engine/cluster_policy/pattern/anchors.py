"""Anchors: what the brackets around a pattern's key mean (`pkg/engine/anchor` in Kyverno)."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final, NamedTuple

from chartkit.model import Body, Json

GO_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
    "\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""The characters that Go's `strings.TrimSpace` removes."""

_ANCHOR: Final = re.compile(r"([+<=X^])?\((.+)\)")


class AnchorKind(StrEnum):
    """The modifier before the bracket."""

    CONDITION = ""
    GLOBAL = "<"
    NEGATION = "X"
    ADDITION = "+"
    EQUALITY = "="
    EXISTENCE = "^"


class Anchor(NamedTuple):
    """An anchor and the key that stands in its brackets."""

    kind: AnchorKind
    key: str

    def __str__(self) -> str:
        return f"{self.kind}({self.key})"


FIRST_PHASE: Final = frozenset(
    {AnchorKind.CONDITION, AnchorKind.EXISTENCE, AnchorKind.EQUALITY, AnchorKind.NEGATION}
)
"""Anchors that are looked at before the other keys of their object."""

NESTING: Final = FIRST_PHASE | {AnchorKind.GLOBAL}
"""Anchors that bring the key above them to the front."""


def parse_anchor(key: str) -> Anchor | None:
    """The anchor that a key is written as; None for a plain key."""
    if ")" not in key:
        return None
    match = _ANCHOR.fullmatch(key.strip(GO_SPACE))
    return Anchor(AnchorKind(match[1] or ""), match[2]) if match else None


def has_nested_anchors(pattern: Json) -> bool:
    """Report whether a pattern holds an anchor at any depth."""
    if isinstance(pattern, dict):
        for key in pattern:
            anchor = parse_anchor(key)
            if anchor is not None and anchor.kind in NESTING:
                return True
        return any(map(has_nested_anchors, pattern.values()))
    return isinstance(pattern, list) and any(map(has_nested_anchors, pattern))


def in_phases(pattern: Body) -> tuple[list[str], list[str]]:
    """Return the keys of both phases; those with anchors in or below them are first, last first."""
    first: list[str] = []
    front: list[str] = []
    back: list[str] = []
    for key in sorted(pattern):
        anchor = parse_anchor(key)
        if anchor is not None and anchor.kind in FIRST_PHASE:
            first.append(key)
        elif (anchor is not None and anchor.kind is AnchorKind.GLOBAL) or has_nested_anchors(
            pattern[key]
        ):
            front.append(key)
        else:
            back.append(key)
    return first, front[::-1] + back
