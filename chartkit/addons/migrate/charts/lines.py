"""Lines of templates, and what their parts have in common."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Collection, Sequence
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


def branched(code: str, inside: Sequence[str], outside: Sequence[str], pad: str) -> list[str]:
    """Return the lines of an `if`; inside: where the condition holds, outside: where not."""
    if not inside:
        inside, outside, code = outside, [], negated(code)
    block = _block(inside, pad)
    if block is not None and block[2] == outside:
        parts = " ".join(
            part.removeprefix("and ") if part.startswith("and ") else argument(part)
            for part in (code, block[0])
        )
        return branched(f"and {parts}", block[1], outside, pad)
    printed = [line for line in inside if "{{" in line]
    if not outside and len(printed) == 1 and printed[0].endswith(f" {{{{ {code} }}}}"):
        inside = [line.replace(f"{{{{ {code} }}}}", "{{ . }}") for line in inside]
        return [f"{pad}{{{{- with {code} }}}}", *inside, f"{pad}{{{{- end }}}}"]
    lines = [f"{pad}{{{{- if {code} }}}}", *inside]
    if outside and outside[0].startswith(f"{pad}{{{{- if ") and _is_one_block(outside, pad):
        return [*lines, outside[0].replace("{{- if ", "{{- else if ", 1), *outside[1:]]
    lines += [f"{pad}{{{{- else }}}}", *outside] if outside else []
    return [*lines, f"{pad}{{{{- end }}}}"]


def _is_one_block(lines: Sequence[str], pad: str) -> bool:
    """Report whether lines are one `if` from the first to the last."""
    ends = [at for at, line in enumerate(lines) if line == f"{pad}{{{{- end }}}}"]
    return ends == [len(lines) - 1]


def _block(lines: Sequence[str], pad: str) -> tuple[str, list[str], list[str]] | None:
    """Return the condition of lines that are one `if`, what is inside, and in its `else`; None for
    other lines."""
    opening = f"{pad}{{{{- if "
    if not lines[0].startswith(opening) or not _is_one_block(lines, pad):
        return None
    turns = [at for at, line in enumerate(lines) if line.startswith(f"{pad}{{{{- else")]
    if len(turns) > 1 or any(lines[at] != f"{pad}{{{{- else }}}}" for at in turns):
        return None
    turn = turns[0] if turns else len(lines) - 1
    code = lines[0].removeprefix(opening).removesuffix(" }}")
    return code, list(lines[1:turn]), list(lines[turn + 1 : -1])


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


def by_key(items: Sequence[Json], shared: Collection[str] = ()) -> dict[Any, Json] | None:
    """Return the items of a list by their name or message, None for items without one; shared:
    messages of several, which the expression tells apart."""
    named: dict[Any, Json] = {}
    for item in items:
        name = _name(item)
        if name is None or not isinstance(item, dict):
            return None
        text = item.get("expression") if name in shared else ""
        number = 0
        while (name, text, number) in named:
            number += 1
        named[name, text, number] = item
    return named


def shared_names(lists: Sequence[Sequence[Json]]) -> set[str]:
    """Return the names and messages that several items of one list have."""
    counts = [Counter(name for item in items if (name := _name(item))) for items in lists]
    return {name for count in counts for name in count if count[name] > 1}


def _name(item: Json) -> str | None:
    name = (item.get("name") or item.get("message")) if isinstance(item, dict) else None
    return name if isinstance(name, str) else None
