"""Values as kustomize's YAML nodes see them: what is missing, what is null, what text a scalar is.

A strategic merge works on a copy of the object and changes it in place; `copied` makes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from operator import itemgetter
from typing import Any, Final

from chartkit.errors import EvaluationError
from chartkit.go.fmt import json_float
from chartkit.go.int64 import Int64
from chartkit.model import Json


class PatchError(EvaluationError):
    """A patch that cannot be applied to an object; the text is Kyverno's."""


class SecondKey(str):
    """A key that another key of its object has come to be equal to; the first one counts."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def __hash__(self) -> int:
        return id(self)


MISSING: Final[Any] = object()
"""Stands for a value that is not there."""

KEPT_NULL: Final[Any] = object()
"""A null of the object that the patch does not name; it stays."""


def is_absent(value: Json) -> bool:
    """Return whether a value is not there or null."""
    return value is MISSING or value is None or value is KEPT_NULL


def is_empty(value: Json) -> bool:
    """Return whether a value is not there, null, or has nothing inside."""
    return is_absent(value) or value in ({}, [])


def scalar_text(value: Json) -> str:
    """The text of a scalar in JSON, without quotes; empty for an object or a list."""
    kind = type(value)
    if kind is str:
        return str(value)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is int or kind is Int64:
        return str(value)
    return json_float(value) if kind is float else ""


def get_field(value: Json, name: str) -> Json:
    """A field's value; MISSING where there is none or the value is no object."""
    return value.get(name, MISSING) if isinstance(value, dict) else MISSING


def set_field(target: dict[str, Json], name: str, value: Json) -> None:
    """Sets a field; a null removes it.

    What takes the place of a text stays a text: kustomize keeps the quotes that were there.
    """
    if value is KEPT_NULL:
        target[name] = None
    elif value is MISSING or value is None:
        target.pop(name, None)
    elif isinstance(target.get(name), str) and not isinstance(value, str | dict | list):
        target[name] = scalar_text(value)
    else:
        target[name] = value


def copied(value: Json) -> Json:
    """A copy whose objects and lists can be changed, the keys of objects in order."""
    if isinstance(value, dict):
        return {
            key: copied(member) if isinstance(member, dict | list) else member
            for key, member in sorted(value.items(), key=_first)
        }
    if isinstance(value, list):
        return [copied(member) if isinstance(member, dict | list) else member for member in value]
    return value


_first: Final = itemgetter(0)


def second_key(value: Json) -> SecondKey | None:
    """The first key that occurs twice in an object, at any depth."""
    members: Iterable[Json] = value if isinstance(value, list) else ()
    if isinstance(value, dict):
        for key in value:
            if isinstance(key, SecondKey):
                return key
        members = value.values()
    return next(filter(None, map(second_key, members)), None)


def expect_object(value: Json) -> None:
    """Raises `PatchError` for what is neither an object nor null nor missing."""
    if not is_absent(value) and not isinstance(value, dict):
        raise wrong_kind(value, "MappingNode")


def expect_list(value: Json) -> None:
    """Raises `PatchError` for what is neither a list nor null nor missing."""
    if not is_absent(value) and not isinstance(value, list):
        raise wrong_kind(value, "SequenceNode")


def expect_scalar(value: Json) -> None:
    """Raises `PatchError` for an object or a list."""
    if isinstance(value, dict | list):
        raise wrong_kind(value, "ScalarNode")


def wrong_kind(value: Json, expected: str) -> PatchError:
    """The error of a value that is not of the kind it must be."""
    if isinstance(value, dict):
        kind = "MappingNode"
    else:
        kind = "SequenceNode" if isinstance(value, list) else "ScalarNode"
    return PatchError(
        f"wrong node kind: expected {expected} but got {kind}: node contents:\n{flow_text(value)}\n"
    )


def flow_text(value: Json) -> str:
    """The value as YAML in one line."""
    if isinstance(value, dict):
        members = (f"{_quoted(key)}: {flow_text(member)}" for key, member in value.items())
        return "{" + ", ".join(members) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow_text, value)) + "]"
    return _quoted(value) if isinstance(value, str) else scalar_text(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
