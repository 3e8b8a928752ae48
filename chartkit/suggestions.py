"""The names that a mistyped one probably means."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def nearest(name: str, names: Iterable[str], most: int = 3, similarity: float = 0.6) -> list[str]:
    """Return the known names that are similar to another, the most similar first; case does not
    count. similarity: from 0 to 1, the least."""
    import difflib  # Only errors need it.

    by_lower = {word.lower(): word for word in names}
    matches = difflib.get_close_matches(name.lower(), by_lower, most, similarity)
    return [by_lower[word] for word in matches]


def suggestion(name: str, names: Iterable[str]) -> str | None:
    """Return a hint with the known name most similar to another; None without a similar one."""
    return did_you_mean(nearest(name, names, 1))


def did_you_mean(names: Sequence[str]) -> str | None:
    """Return a hint with names: `did you mean 'a', 'b' or 'c'?`; None if there are none."""
    quoted = [f"'{name}'" for name in names]
    return f"did you mean {alternatives(quoted)}?" if quoted else None


def alternatives(names: Iterable[str]) -> str:
    """Return names of which one is meant: `a, b or c`."""
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last
