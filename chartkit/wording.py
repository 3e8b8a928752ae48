"""Counts, long lists and long texts as messages have them."""

from __future__ import annotations

from collections.abc import Sequence


def counted(count: int, singular: str, plural: str = "") -> str:
    """Return a count with its noun: `1 object`, `2 objects`; plural: if not with an s."""
    return f"{count} {singular if count == 1 else plural or f'{singular}s'}"


def abridged(names: Sequence[str], most: int = 4) -> str:
    """Return the first names of a list, and the number of the others: `a, b and 3 more`."""
    left = len(names) - most
    return ", ".join(names[:most]) + (f" and {left} more" if left > 0 else "")


def shortened(text: str, most: int) -> str:
    """Return a text of at most so many characters, with an ellipsis in place of the others."""
    return text if len(text) <= most else f"{text[:most]}…"
