"""A small structural schema: what the API server's check of a custom resource finds in a document.

Only what Kyverno's definitions use: types, required and unknown fields, enumerations and lengths.
Null counts as missing, as it does for the API server, but a field that is not known is one all the
same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from chartkit.model import Json

Problem = tuple[tuple[str | int, ...], str]
"""The place (keys and indexes from the top) and the message, in the API server's words."""


class UnknownField(str):
    """The message about a field that is not known; known: the names of those that are."""

    __slots__ = ("known",)
    known: Iterable[str]


class Unsupported(str):
    """The message about a value that is not one of a few; known: those; value: the text."""

    __slots__ = ("known", "value")
    known: Iterable[str]
    value: str


REQUIRED: Final = "Required value"
ONE_OF: Final = "must have exactly one of "

Check = Callable[[Json, tuple[str | int, ...]], list[Problem]]


def anything(_value: Json, _path: tuple[str | int, ...]) -> list[Problem]:
    """Takes every value."""
    return []


def text(*, among: tuple[str, ...] = (), longest: int = 0) -> Check:
    """A string, perhaps one of a few, perhaps no longer than so many characters."""

    def check(value: Json, path: tuple[str | int, ...]) -> list[Problem]:
        if not isinstance(value, str):
            return [_wrong_type(value, path, "string")]
        if among and value not in among:
            shown = ", ".join(f'"{one}"' for one in among)
            message = Unsupported(f'Unsupported value: "{value}": supported values: {shown}')
            message.known, message.value = among, value
            return [(path, message)]
        if longest and len(value) > longest:
            return [(path, f"Too long: may not be more than {longest} bytes")]
        return []

    return check


def boolean(value: Json, path: tuple[str | int, ...]) -> list[Problem]:
    """True or false."""
    return [] if isinstance(value, bool) else [_wrong_type(value, path, "boolean")]


def integer(*, least: int | None = None) -> Check:
    """A whole number, perhaps not under another."""

    def check(value: Json, path: tuple[str | int, ...]) -> list[Problem]:
        if not isinstance(value, int) or isinstance(value, bool):
            return [_wrong_type(value, path, "integer")]
        if least is not None and value < least:
            return [(path, f"should be greater than or equal to {least}")]
        return []

    return check


def list_of(item: Check) -> Check:
    """A list whose items have one schema."""

    def check(value: Json, path: tuple[str | int, ...]) -> list[Problem]:
        if not isinstance(value, list):
            return [_wrong_type(value, path, "array")]
        return [one for at, entry in enumerate(value) for one in item(entry, (*path, at))]

    return check


def map_of(item: Check) -> Check:
    """An object with any keys, whose values have one schema."""

    def check(value: Json, path: tuple[str | int, ...]) -> list[Problem]:
        if not isinstance(value, dict):
            return [_wrong_type(value, path, "object")]
        return [one for key, entry in value.items() for one in item(entry, (*path, key))]

    return check


def struct(
    fields: Mapping[str, Check],
    *,
    required: tuple[str, ...] = (),
    exclusive: tuple[str, ...] = (),
    one_of: tuple[str, ...] = (),
    open_ended: bool = False,
) -> Check:
    """An object with these fields. exclusive: two that exclude each other; one_of: those of
    which exactly one is required; open_ended: fields that are not named are taken too."""

    def check(value: Json, path: tuple[str | int, ...]) -> list[Problem]:
        if not isinstance(value, dict):
            return [_wrong_type(value, path, "object")]
        there = {key: entry for key, entry in value.items() if entry is not None}
        problems: list[Problem] = [
            ((*path, name), REQUIRED) for name in required if name not in there
        ]
        if exclusive and all(name in there for name in exclusive):
            problems.append((path, f"{' and '.join(exclusive)} may not stand together"))
        if one_of and sum(name in there for name in one_of) != 1:
            problems.append((path, f"{ONE_OF}{', '.join(one_of)}"))
        for key, entry in value.items():
            field = fields.get(key)
            if field is not None:
                problems += [] if entry is None else field(entry, (*path, key))
            elif not open_ended:
                message = UnknownField("value provided for unknown field")
                message.known = fields
                problems.append(((*path, key), message))
        return problems

    return check


def _wrong_type(value: Json, path: tuple[str | int, ...], wanted: str) -> Problem:
    return path, f'must be of type {wanted}: "{_TYPE_NAMES.get(value.__class__, "null")}"'


_TYPE_NAMES: Final[dict[type, str]] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


def show_path(path: tuple[str | int, ...]) -> str:
    """`spec.rules[0].match`."""
    shown = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return shown.removeprefix(".")
