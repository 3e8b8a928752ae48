"""Variables and `$(path)` references in a text: Kyverno's regular expressions and what they do.

A reference is a value elsewhere in the same document, taken before any variable; it depends on the
document alone, so it is resolved when the document is compiled."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from chartkit.engine.context.variables import (
    OPEN,
    VARIABLE,
    UnresolvedReferenceError,
    has_reference,
    has_references,
)
from chartkit.errors import Reraise
from chartkit.go.fmt import go_sprint
from chartkit.go.strconv import Int64
from chartkit.model import Json

ESCAPED = "\\{{"

_SPACE = " \t\n\v\f\r\x85\xa0"


class Variable(NamedTuple):
    """One `{{ }}`: its place in the text (without the character before it) and what it asks.

    query: the text between the braces, every doubled brace and outer space removed; shallow:
    written `{{- query }}`, so its value is not searched for variables again.
    """

    start: int
    end: int
    query: str
    shallow: bool


@lru_cache(maxsize=16)
def find_variables(text: str) -> Sequence[Variable]:
    """The variables of one pass, from left to right.

    A variable right behind another one is not found, because the brace between them was used up;
    it is found in the pass after.
    """
    variables = []
    for match in VARIABLE.finditer(text):
        inner_query = match[2].replace("{{", "").replace("}}", "").strip(_SPACE)
        if inner_query.startswith("-"):
            query, shallow = inner_query[1:].strip(_SPACE), True
        else:
            query, shallow = inner_query, False
        if match[1] > "\x7f":
            # Kyverno leaves out one byte before the braces: the rest of the character spoils it.
            query = f"\ufffd{query}"
        variables.append(Variable(match.start(2), match.end(2), query, shallow))
    return variables


def unescape(text: str) -> str:
    """The text with `\\{{` as `{{`."""
    return text.replace(ESCAPED, OPEN)


def is_whole(variables: Sequence[Variable], text: str) -> bool:
    """Report whether the text is one variable and nothing else, so that it keeps the value's
    type."""
    return len(variables) == 1 and variables[0].start == 0 and variables[0].end == len(text)


def split_text(text: str, variables: Sequence[Variable]) -> list[str]:
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
    parts = [part for part in parts if part]
    if "foreach" in parts:
        parts = parts[parts.index("foreach") + 1 :]
    parts = [] if len(parts) < 3 else parts[2:]
    jmespath_parts = root.split(".") + parts
    text = ""
    for part in jmespath_parts:
        if _INDEX.fullmatch(part) and int(part) <= _LARGEST_INDEX:
            text += f"[{part}]"
            continue
        if text:
            text += "."
        text += part if _PLAIN.fullmatch(part) else json.dumps(part, ensure_ascii=False)
    return text


_REFERENCE = re.compile(r"^\$\(.[^ ]*\)|[^\\]\$\(.[^ ]*\)")
_ESCAPED = re.compile(r"\\\$\(.[^ )]*\)")
_ANCHOR = re.compile(r"[+<=X^]?\((.+)\)")
_RANGE = re.compile(r"([-|+]?\d+(?:\.\d+)?[A-Za-z]*)(!?-)([-|+]?\d+(?:\.\d+)?[A-Za-z]*)", re.ASCII)
_MISSING = object()


def resolve_references(document: Json) -> Json:
    """Return the document with its references replaced; the same document without any.

    Raises `UnresolvedReferenceError` at the first reference that cannot be resolved.
    """
    if not has_references(document):
        return document
    return _resolve(document, "", document)


def _resolve(value: Json, path: str, document: Json) -> Json:
    if isinstance(value, str):
        return _resolve_text(value, path, document)
    if isinstance(value, dict):
        return {
            _resolve_text(key, path, document): _resolve(member, join_path(path, key), document)
            for key, member in value.items()
        }
    if isinstance(value, list):
        return [_resolve(member, f"{path}/{index}", document) for index, member in enumerate(value)]
    return value


def _resolve_text(text: str, path: str, document: Json) -> str:
    if not has_reference(text):
        return text
    for matched in _REFERENCE.findall(text):
        prefix, reference = ("", matched) if matched.startswith("$(") else (matched[0], matched[1:])
        fault = f"failed to resolve {reference} at path {path}: "
        with Reraise(fault, UnresolvedReferenceError, UnresolvedReferenceError):
            target = reference.strip("$()")
            operator = _operator(target)
            target = target[len(operator) :]
            if not target:
                raise UnresolvedReferenceError("expected path, found empty reference")
            if not target.startswith("/"):
                target = posixpath.normpath(posixpath.join(path, target))
            variable_value = _find(document, "", target)
            variable_value = None if variable_value is _MISSING else variable_value
            if not operator:
                value: Json = variable_value
            else:
                value = operator + _as_text(variable_value, operator)
        if value is None:
            raise UnresolvedReferenceError(
                f"got nil resolved variable {reference} at path {path}: <nil>"
            )
        if not isinstance(value, str):
            raise UnresolvedReferenceError(
                f"NotResolvedReferenceErr,reference {reference} not resolved at path {path}"
            )
        text = text.replace(matched, prefix + value, 1)
    for escaped in _ESCAPED.findall(text):
        text = text.replace(escaped, escaped[1:])
    return text


def _operator(text: str) -> str:
    if len(text) < 2:
        return ""
    for operator in (">=", "<=", ">", "<", "!"):
        if text.startswith(operator):
            return operator
    match = _RANGE.fullmatch(text)
    return match[2] if match else ""


def _as_text(value: Json, operator: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Int64) or type(value) is int:
        return str(int(value))
    if isinstance(value, float):
        return f"{value:f}"
    shown = go_sprint(value)
    raise UnresolvedReferenceError(
        f"incorrect expression: operator {operator} does not match with value {shown}"
    )


def _find(value: Json, path: str, target: str) -> Json:
    result: Json = _MISSING
    if isinstance(value, dict):
        for key, member in value.items():
            if _without_anchors(path) == target:
                result = key
            inner = _find(member, join_path(path, key), target)
            result = result if inner is _MISSING else inner
    elif isinstance(value, list):
        for index, member in enumerate(value):
            inner = _find(member, f"{path}/{index}", target)
            result = result if inner is _MISSING else inner
    elif _without_anchors(path) == target:
        result = value
    return result


def _without_anchors(path: str) -> str:
    if "(" not in path:
        return path
    return "/".join(_bare(part) for part in path.split("/"))


def _bare(part: str) -> str:
    match = _ANCHOR.fullmatch(part)
    return match[1] if match else part
