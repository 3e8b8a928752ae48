"""JSON for people to read: an object or a list that fits on one line is written on one."""

from __future__ import annotations

import json
from typing import Final

from chartkit.model import Json

_WIDTH: Final = 120


def dump_json(value: Json) -> str:
    """Return a value as JSON, keys in their order, ending with a newline."""
    return _text(value, "", 0) + "\n"


def _text(value: Json, indent: str, used: int) -> str:
    """Return a value; used: the columns in front of it on its line, and a comma behind it."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value or len(line) + used <= _WIDTH:
        return line
    inner = indent + " "
    if isinstance(value, list):
        items = [inner + _text(item, inner, len(inner) + 1) for item in value]
        return "[\n" + ",\n".join(items) + f"\n{indent}]"
    lines = []
    for key, item in value.items():
        start = f"{inner}{json.dumps(key, ensure_ascii=False)}: "
        lines.append(start + _text(item, inner, len(start) + 1))
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
