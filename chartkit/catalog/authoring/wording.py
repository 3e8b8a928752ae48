"""Descriptions of policies: each must say why the policy exists, not only repeat its title."""

from __future__ import annotations

import re
from typing import Final

_WORD: Final = re.compile(r"[^\W_]{3,}")
_FEWEST: Final = 8
_PLACEHOLDERS: Final = ("todo", "fixme", "tbd", "lorem ipsum")


def says_why(title: str, description: str) -> str:
    """Return what a description lacks; empty where it lacks nothing.

    A reason cannot be told from a rule by its words, but one that has hardly a word that is not in
    the title gives none.
    """
    lower = description.lower()
    for placeholder in _PLACEHOLDERS:
        if re.search(rf"\b{placeholder}\b", lower):
            return f"the description is not written yet ('{placeholder}')"
    new = set(_WORD.findall(lower)) - set(_WORD.findall(title.lower()))
    if len(new) < _FEWEST:
        return "the description says little more than the title, and not why"
    return ""
