"""Depth of documents from untrusted sources."""

from __future__ import annotations

from chartkit.model import Json


def is_deeper(value: Json, levels: int) -> bool:
    """Tell whether a document has more levels of mappings and lists; the values in them count as
    one."""
    level: list[Json] = [value]
    for _ in range(levels):
        level = [
            member
            for each in level
            if isinstance(each, dict | list)
            for member in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return False
    return True
