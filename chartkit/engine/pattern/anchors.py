"""Anchors: keys of a pattern that say how the value below them counts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from chartkit.model import Json

_ANCHOR = re.compile(r"([+<=X^])?\((.+)\)", re.DOTALL)


class Modifier(StrEnum):
    """What stands before the parenthesis."""

    CONDITION = ""
    GLOBAL = "<"
    NEGATION = "X"
    ADD = "+"
    EQUALITY = "="
    EXISTENCE = "^"


@dataclass(frozen=True, slots=True)
class Anchor:
    """`modifier(key)`."""

    modifier: Modifier
    key: str

    def __str__(self) -> str:
        return f"{self.modifier}({self.key})"


EARLY = frozenset({Modifier.CONDITION, Modifier.EXISTENCE, Modifier.EQUALITY, Modifier.NEGATION})
"""Anchors that are looked at before every other key of their object."""

_NESTED = EARLY | {Modifier.GLOBAL}


def parse_anchor(key: str) -> Anchor | None:
    """The anchor that a key is; None for an ordinary key. White space around it is ignored."""
    match = _ANCHOR.fullmatch(key.strip())
    return Anchor(Modifier(match[1] or ""), match[2]) if match and "\n" not in match[2] else None


def has_anchors(pattern: Json) -> bool:
    """Whether an anchor that validation knows stands anywhere in a pattern."""
    if isinstance(pattern, dict):
        for key in pattern:
            anchor = parse_anchor(key)
            if anchor is not None and anchor.modifier in _NESTED:
                return True
        return any(map(has_anchors, pattern.values()))
    return isinstance(pattern, list) and any(map(has_anchors, pattern))
