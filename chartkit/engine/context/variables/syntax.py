"""Variables in a text: Kyverno's regular expressions, and their consequences."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

# A variable at the start of a text, or after any character but a backslash; one level of plain
# braces may be inside, so a nested variable is found before the one around it.
_VARIABLE = re.compile(r"(^|[^\\])(\{\{(?:\{[^{}]*\}|[^{}])*\}\})")

OPEN = "{{"
ESCAPED = "\\{{"

_SPACE = " \t\n\v\f\r\x85\xa0"


@dataclass(frozen=True, slots=True)
class Variable:
    """One `{{ }}`: its place in the text (without the character before it) and what it asks.

    query: the text between the braces, every doubled brace and outer space removed;
    shallow: written `{{- query }}`, so what it gives is not searched for variables again.
    """

    start: int
    end: int
    query: str
    shallow: bool


def find_variables(text: str) -> list[Variable]:
    """The variables of one pass, from left to right.

    A variable right behind another one is not found, because the brace between them was used up;
    it is found in the pass after.
    """
    found = []
    for match in _VARIABLE.finditer(text):
        query, shallow = _query(match[2])
        if match[1] > "\x7f":
            # Kyverno leaves out one byte before the braces: the rest of the character spoils it.
            query = f"\ufffd{query}"
        found.append(Variable(match.start(2), match.end(2), query, shallow))
    return found


def has_variable(text: str) -> bool:
    """Return whether a text holds a variable that is not escaped."""
    return OPEN in text and _VARIABLE.search(text) is not None


def unescape(text: str) -> str:
    """The text with `\\{{` as `{{`."""
    return text.replace(ESCAPED, OPEN)


def _query(braced: str) -> tuple[str, bool]:
    query = braced.replace("{{", "").replace("}}", "").strip(_SPACE)
    if query.startswith("-"):
        return query[1:].strip(_SPACE), True
    return query, False


def is_whole(variables: list[Variable], text: str) -> bool:
    """Return whether the text is one variable and nothing else, so that it keeps the value's
    type."""
    return len(variables) == 1 and variables[0].start == 0 and variables[0].end == len(text)


def split_text(text: str, variables: list[Variable]) -> list[str]:
    """The literal texts around the variables, one more than there are variables."""
    ends = [0, *(variable.end for variable in variables)]
    starts = [*(variable.start for variable in variables), len(text)]
    return [text[end:start] for end, start in zip(ends, starts, strict=True)]


# The closing parenthesis is Kyverno's own addition; one that opens an anchor has its key quoted.
_PLAIN = re.compile(r"[A-Za-z_][)0-9A-Za-z_]*")
_INDEX = re.compile(r"[0-9]+")
_LARGEST_INDEX = 2**64 - 1


def join_path(parent: str, key: str) -> str:
    """The path of a member: keys are joined by `/`, a slash in a key is written `\\/`."""
    return f"{parent}/" + key.replace("/", "\\/")


def own_query(path: str, root: str) -> str:
    """The JMESPath of the value at `path`, seen from `root`.

    The first two components (or the two behind `foreach`) name the part of the rule and are left
    out, as Kyverno's substitution does.
    """
    parts = _split(path)
    if "foreach" in parts:
        parts = parts[parts.index("foreach") + 1 :]
    parts = [] if len(parts) < 3 else parts[2:]
    return _jmespath(root.split(".") + parts)


def _split(path: str) -> list[str]:
    parts: list[str] = []
    part = ""
    escaped = False
    for character in path:
        if escaped:
            part += character
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == "/":
            parts.append(part)
            part = ""
        elif character != '"':
            part += character
    parts.append(part)
    return [part for part in parts if part]


def _jmespath(parts: list[str]) -> str:
    text = ""
    for part in parts:
        if _INDEX.fullmatch(part) and int(part) <= _LARGEST_INDEX:
            text += f"[{part}]"
            continue
        if text:
            text += "."
        text += part if _PLAIN.fullmatch(part) else json.dumps(part, ensure_ascii=False)
    return text
