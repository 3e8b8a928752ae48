"""Lines of templates, and what their parts have in common."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import Any, Final

from chartkit.addons.migrate.charts.template import argument
from chartkit.addons.migrate.files.printed import WIDTH
from chartkit.model import Json

_OPENS: Final = re.compile(r"\{\{-? (?:if|with|range) ")
_ENDS: Final = re.compile(r"\{\{-? end ")


def folded(text: str, indent: int) -> list[str]:
    """Return the lines of a text that YAML joins with spaces."""
    wrapped = textwrap.wrap(text, WIDTH - indent, break_long_words=False, break_on_hyphens=False)
    return [f"{' ' * indent}{line}" for line in wrapped]


def negated(code: str) -> str:
    """Return the code of the opposite of a condition."""
    if code.startswith("not ") and " " not in code[4:].strip("()"):
        return code[4:].removeprefix("(").removesuffix(")")
    return f"not {argument(code)}"


def is_one_block(lines: Sequence[str], pad: str) -> bool:
    """Report whether lines are one `if` from the first to the last."""
    ends = [at for at, line in enumerate(lines) if line == f"{pad}{{{{- end }}}}"]
    return ends == [len(lines) - 1]


def merged(lines: Sequence[str]) -> list[str]:
    """Return lines with one block for blocks of one condition that follow each other."""
    made: list[str] = []
    opened: list[str] = []
    closed = ""
    for line in lines:
        if closed and (line in (closed, _opposite(closed)) or _opposite(line) == closed):
            made.pop()
            made += [f"{line.partition('{')[0]}{{{{- else }}}}"] * (line != closed)
            opened.append(line if line == closed else "")
            closed = ""
            continue
        closed = ""
        depth = len(_OPENS.findall(line)) - len(_ENDS.findall(line))
        opened += [line] * depth
        if depth < 0:
            closed = opened[depth]
            del opened[depth:]
            is_if = closed.lstrip().startswith("{{- if ") and closed.endswith("}}")
            closed = closed if is_if and line.strip() == "{{- end }}" else ""
        elif opened and line.lstrip().startswith("{{- else"):
            opened[-1] = ""
        made.append(line)
    return made


def _opposite(line: str) -> str:
    """Return the line that opens a block for where another one is not carried out."""
    pad, _, code = line.partition("{{- if ")
    return f"{pad}{{{{- if {negated(code.removesuffix(' }}'))} }}}}" if code else ""


def union(lists: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the items of all lists, each behind what it follows."""
    joined: list[Any] = []
    for items in lists:
        at = 0
        for item in items:
            if item in joined:
                at = joined.index(item) + 1
            else:
                joined.insert(at, item)
                at += 1
    return joined


def by_key(items: Sequence[Json]) -> dict[Any, Json] | None:
    """Return the items of a list by their name or message, None for items without one."""
    named: dict[Any, Json] = {}
    for item in items:
        if not isinstance(item, dict):
            return None
        name = item.get("name") or item.get("message")
        if not isinstance(name, str):
            return None
        number = 0
        while (name, number) in named:
            number += 1
        named[name, number] = item
    return named
