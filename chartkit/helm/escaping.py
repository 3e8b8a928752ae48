"""Kyverno's `{{ }}` written so that Helm prints it as it stands.

Helm runs every `{{ }}` of a template. A Kyverno variable therefore becomes a Helm string literal:
`{{ x }}` is written ``{{ `{{ x }}` }}``, and in the quoted form where it holds a backtick. Text
that somebody escaped already is left as it is, and so are jinja2 tags (`<%= %>`, `<% %>`).
"""

from __future__ import annotations

import re

OPEN, CLOSE = "{{", "}}"
_LITERAL = r"(?:`[^`]*`|\"(?:\\.|[^\"\\\n])*\")"
_ACTION = re.compile(r"\{\{-?\s*(?P<literal>" + _LITERAL + r")\s*-?\}\}", re.DOTALL)
_TAG = re.compile(r"<%.*?%>", re.DOTALL)
_QUOTED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def escape(text: str) -> str:
    """The text as a Helm template that renders to it."""
    parts: list[str] = []
    position = 0
    while (start := text.find(OPEN, position)) >= 0:
        parts.append(text[position:start])
        action = _ACTION.match(text, start)
        if action is not None and (OPEN in action["literal"] or CLOSE in action["literal"]):
            # A string literal of Helm with Kyverno's braces: it is escaped already.
            position = action.end()
            parts.append(action[0])
            continue
        position = end_of_variable(text, start)
        parts.append(_escape_variable(text[start:position]))
    parts.append(text[position:])
    return "".join(parts)


def escape_all(text: str) -> str:
    """The text as a Helm template that renders to it, whatever stands between its braces."""
    parts: list[str] = []
    position = 0
    while (start := text.find(OPEN, position)) >= 0:
        parts.append(text[position:start])
        position = end_of_variable(text, start)
        parts.append(literal(text[start:position]))
    parts.append(text[position:])
    return "".join(parts)


def literal(text: str) -> str:
    """A Helm action that prints the text."""
    quoted = f'"{text.translate(_QUOTED)}"' if "`" in text else f"`{text}`"
    return f"{OPEN} {quoted} {CLOSE}"


def end_of_variable(text: str, start: int) -> int:
    """The end of the variable that begins here, those inside it included.

    Braces that never close are text to Kyverno: then only the opening ones are taken.
    """
    depth, position = 0, start
    while position < len(text):
        if text.startswith(OPEN, position):
            depth, position = depth + 1, position + 2
        elif text.startswith(CLOSE, position):
            depth, position = depth - 1, position + 2
            if not depth:
                return position
        else:
            position += 1
    return start + len(OPEN)


def _escape_variable(text: str) -> str:
    """Escapes a variable; a jinja2 tag in it stays a tag, between two literals."""
    parts: list[str] = []
    position = 0
    for tag in _TAG.finditer(text):
        if tag.start() > position:
            parts.append(literal(text[position : tag.start()]))
        parts.append(tag.group())
        position = tag.end()
    if position < len(text):
        parts.append(literal(text[position:]))
    return "".join(parts)
