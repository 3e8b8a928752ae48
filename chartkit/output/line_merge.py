"""Three-way merge of texts by lines, as version control does it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher


@dataclass(frozen=True, slots=True)
class _Stable:
    """Lines that both sides have as the base has them: where they begin on each, and how many."""

    base: int
    one: int
    other: int
    count: int


def merge(base: str, one: str, other: str) -> str | None:
    """The changes of both sides to the base in one text; None where they touch the same lines.

    What both sides put in at the same place comes one after the other, unless a key is in both.
    """
    texts = [text.splitlines(keepends=True) for text in (base, one, other)]
    merged: list[str] = []
    at = _Stable(0, 0, 0, 0)
    for stable in _stable(*texts):
        parts = (
            texts[0][at.base : stable.base],
            texts[1][at.one : stable.one],
            texts[2][at.other : stable.other],
        )
        chosen = _choose(*parts)
        if chosen is None:
            return None
        merged += chosen
        merged += texts[0][stable.base : stable.base + stable.count]
        count = stable.count
        at = _Stable(stable.base + count, stable.one + count, stable.other + count, 0)
    return "".join(merged)


def _choose(base: Sequence[str], one: Sequence[str], other: Sequence[str]) -> Sequence[str] | None:
    if one in (base, other):
        return other
    if other == base:
        return one
    if base or _keys(one) & _keys(other):
        return None
    # What stands deeper belongs to what is above the place.
    return [*one, *other] if _depth(one) > _depth(other) else [*other, *one]


def _keys(lines: Sequence[str]) -> set[str]:
    """The keys of a text's mappings, each with its indentation."""
    return {line.partition(":")[0].rstrip() for line in lines if not _is_comment(line)}


def _depth(lines: Sequence[str]) -> int:
    """Return the indentation of the first line that is not empty."""
    said = (line for line in lines if not _is_comment(line))
    return next((len(line) - len(line.lstrip()) for line in said), 0)


def _is_comment(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _stable(base: Sequence[str], one: Sequence[str], other: Sequence[str]) -> Iterator[_Stable]:
    """The runs of lines that all three have, in order; the last is empty and marks the ends."""
    to_one = _matches(base, one)
    to_other = _matches(base, other)
    start = 0
    while start < len(base):
        if start not in to_one or start not in to_other:
            start += 1
            continue
        count = 1
        while (
            to_one.get(start + count) == to_one[start] + count
            and to_other.get(start + count) == to_other[start] + count
        ):
            count += 1
        yield _Stable(start, to_one[start], to_other[start], count)
        start += count
    yield _Stable(len(base), len(one), len(other), 0)


def _matches(base: Sequence[str], side: Sequence[str]) -> dict[int, int]:
    blocks = SequenceMatcher(None, base, side, autojunk=False).get_matching_blocks()
    return {block.a + offset: block.b + offset for block in blocks for offset in range(block.size)}
