"""Findings as text and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from chartkit.model import Body, Diagnostic, Severity


def as_text(found: Sequence[Diagnostic]) -> str:
    """A line a finding, and how many there are of each severity."""
    counts = Counter(each.severity for each in found)
    totals = ", ".join(f"{each}s: {counts[each]}" for each in Severity)
    return "".join(f"{line}\n" for line in [*map(str, found), totals])


def as_json(found: Sequence[Diagnostic]) -> str:
    """One object with `findings`."""
    body = {"findings": [finding(each) for each in found]}
    return json.dumps(body, indent=2, ensure_ascii=False) + "\n"


def finding(each: Diagnostic) -> Body:
    """One finding for programs; location and hint are empty where there is none."""
    return {
        "rule": each.rule_id,
        "severity": str(each.severity),
        "message": each.message,
        "location": str(each.location) if each.location else "",
        "hint": each.hint or "",
    }


FORMATS: Final[Mapping[str, Callable[[Sequence[Diagnostic]], str]]] = {
    "text": as_text,
    "json": as_json,
}
"""The writers by what `--output` calls them."""
