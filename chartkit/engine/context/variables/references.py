"""`$(path)` references: a value elsewhere in the same document, taken before any variable.

References depend on the document alone, so they are resolved when it is compiled.
"""

from __future__ import annotations

import posixpath
import re

from chartkit.engine.context.variables.syntax import join_path
from chartkit.errors import EvaluationError, Reraise
from chartkit.go.fmt import go_sprint
from chartkit.go.int64 import Int64
from chartkit.model import Json

_REFERENCE = re.compile(r"^\$\(.[^ ]*\)|[^\\]\$\(.[^ ]*\)")
_ESCAPED = re.compile(r"\\\$\(.[^ )]*\)")
_ANCHOR = re.compile(r"[+<=X^]?\((.+)\)")
_RANGE = re.compile(r"([-|+]?\d+(?:\.\d+)?[A-Za-z]*)(!?-)([-|+]?\d+(?:\.\d+)?[A-Za-z]*)", re.ASCII)
_MISSING = object()


class UnresolvedReferenceError(EvaluationError):
    """A reference that names nothing, or not a text; the text is Kyverno's."""


def has_reference(text: str) -> bool:
    """Return whether a text may hold a reference, escaped or not."""
    return "$(" in text


def resolve_references(document: Json) -> Json:
    """The document with its references replaced; itself where it has none.

    Raises `UnresolvedReferenceError` at the first reference that cannot be resolved.
    """
    if not _mentions(document):
        return document
    return _resolve(document, "", document)


def _mentions(value: Json) -> bool:
    if isinstance(value, str):
        return has_reference(value)
    if isinstance(value, dict):
        return any(has_reference(key) or _mentions(member) for key, member in value.items())
    return isinstance(value, list) and any(map(_mentions, value))


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
    for found in _REFERENCE.findall(text):
        prefix, reference = ("", found) if found.startswith("$(") else (found[0], found[1:])
        place = f"failed to resolve {reference} at path {path}: "
        with Reraise(place, UnresolvedReferenceError, UnresolvedReferenceError):
            value = _value_of(reference, path, document)
        if value is None:
            raise UnresolvedReferenceError(
                f"got nil resolved variable {reference} at path {path}: <nil>"
            )
        if not isinstance(value, str):
            raise UnresolvedReferenceError(
                f"NotResolvedReferenceErr,reference {reference} not resolved at path {path}"
            )
        text = text.replace(found, prefix + value, 1)
    for escaped in _ESCAPED.findall(text):
        text = text.replace(escaped, escaped[1:])
    return text


def _value_of(reference: str, path: str, document: Json) -> Json:
    target = reference.strip("$()")
    operator = _operator(target)
    target = target[len(operator) :]
    if not target:
        raise UnresolvedReferenceError("expected path, found empty reference")
    if not target.startswith("/"):
        target = posixpath.normpath(posixpath.join(path, target))
    value = _find(document, "", target)
    value = None if value is _MISSING else value
    if not operator:
        return value
    return operator + _as_text(value, operator)


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
    found: Json = _MISSING
    if isinstance(value, dict):
        for key, member in value.items():
            if _without_anchors(path) == target:
                found = key
            inner = _find(member, join_path(path, key), target)
            found = found if inner is _MISSING else inner
    elif isinstance(value, list):
        for index, member in enumerate(value):
            inner = _find(member, f"{path}/{index}", target)
            found = found if inner is _MISSING else inner
    elif _without_anchors(path) == target:
        found = value
    return found


def _without_anchors(path: str) -> str:
    if "(" not in path:
        return path
    return "/".join(_bare(part) for part in path.split("/"))


def _bare(part: str) -> str:
    match = _ANCHOR.fullmatch(part)
    return match[1] if match else part
