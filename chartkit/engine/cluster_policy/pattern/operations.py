"""Texts of patterns read: alternatives of operators, operands and ranges (`pkg/engine/pattern`)."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from chartkit.engine.cluster_policy.pattern.anchors import GO_SPACE

_NUMBER: Final = r"([-|+]?\d+(?:\.\d+)?[A-Za-z]*)"
_RANGE: Final = re.compile(f"{_NUMBER}(!?)-{_NUMBER}", re.ASCII)
_PREFIXES: Final = (">=", "<=", ">", "<", "!")
ORDERS: Final = frozenset(_PREFIXES[:4])
"""The prefixes that put values in order; the others are `!` and none."""


class Operation(NamedTuple):
    """A prefix, empty for equality, and its operand without spaces around it."""

    prefix: str
    operand: str


class Range(NamedTuple):
    """The two ends of `low-high` or, if it excludes, `low!-high`."""

    low: str
    high: str
    excludes: bool

    @property
    def operations(self) -> tuple[Operation, Operation]:
        """Return the comparisons of both ends: one holds if it excludes, otherwise both."""
        below, above = ("<", ">") if self.excludes else (">=", "<=")
        return Operation(below, self.low), Operation(above, self.high)


def read_alternatives(pattern: str) -> list[list[str]]:
    """Return the texts between `|`, and of each those between `&`, without spaces."""
    return [
        [part.strip(" ") for part in either.strip(" ").split("&")] for either in pattern.split("|")
    ]


def read_operation(text: str) -> Operation | Range:
    """Return what one of the texts compares with; a lone operator is a text like any other."""
    prefix = next((each for each in _PREFIXES if text.startswith(each)), "")
    if len(text) > 1 and prefix:
        return Operation(prefix, text[len(prefix) :].strip(GO_SPACE))
    if match := _RANGE.fullmatch(text):
        return Range(match[1], match[3], bool(match[2]))
    return Operation("", text.strip(GO_SPACE))
