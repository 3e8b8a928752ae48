"""The place of a value in a document as a JMESPath, for the variable `{{ @ }}`."""

from __future__ import annotations

import json
import re

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
