"""Conditions as they stand in a policy, read as Go's JSON decoder reads them."""

from __future__ import annotations

from dataclasses import dataclass

from chartkit.errors import ChartkitError
from chartkit.model import Json


class ConditionsMalformed(ChartkitError):  # noqa: N818 - not loaded, as Kyverno says
    """Conditions that Kyverno cannot decode: it does not load the whole policy then."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One comparison as written; None stands for null and for missing."""

    key: Json
    operator: str
    value: Json
    message: str


@dataclass(frozen=True, slots=True)
class Blocks:
    """An any/all block. A list that is missing or null is None."""

    any: tuple[Condition, ...] | None
    all: tuple[Condition, ...] | None


@dataclass(frozen=True, slots=True)
class FlatList:
    """The old form: a list whose conditions must all hold."""

    conditions: tuple[Condition, ...]


def parse_conditions(body: Json) -> Blocks | FlatList:
    """Reads the value of `preconditions` or `conditions`; raises `ConditionsMalformed`.

    Keys match in any case, unknown keys are passed over, null counts as missing.
    """
    if body is None:
        return Blocks(None, None)
    if isinstance(body, list):
        return FlatList(tuple(map(_condition, body)))
    fields = _fields(body, ("any", "all"))
    return Blocks(_conditions(fields.get("any"), "any"), _conditions(fields.get("all"), "all"))


def _conditions(body: Json, name: str) -> tuple[Condition, ...] | None:
    if body is None:
        return None
    if not isinstance(body, list):
        raise ConditionsMalformed(
            f"'{name}' must be a list of conditions", hint="write each condition as a list item"
        )
    return tuple(map(_condition, body))


def _condition(body: Json) -> Condition:
    if body is None:
        body = {}
    fields = _fields(body, ("key", "operator", "value", "message"))
    return Condition(
        fields.get("key"),
        _text(fields.get("operator"), "operator"),
        fields.get("value"),
        _text(fields.get("message"), "message"),
    )


def _fields(body: Json, names: tuple[str, ...]) -> dict[str, Json]:
    if not isinstance(body, dict):
        raise ConditionsMalformed(
            f"conditions must be an object with {', '.join(names)}, not {type(body).__name__}"
        )
    # JSON's keys come sorted out of YAML, and the last of several spellings wins.
    folded = {key.lower(): body[key] for key in sorted(body)}
    return {name: folded[name] for name in names if name in folded}


def _text(value: Json, name: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ConditionsMalformed(f"'{name}' of a condition must be a string")
    return value
