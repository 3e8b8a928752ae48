"""Violations as reports have them: the fields that they are about, and those that are accepted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

from chartkit.model import (
    Json,
    Location,
    Resource,
    RuleResult,
    item_number,
    path_step,
    path_text,
    pointer_steps,
    pointer_text,
)

_DIGITS: Final = 20
"""More digits than a position in a list has."""


class AcceptedAs(StrEnum):
    """The reason that a violation fails no run: it is known, or its object suppresses it."""

    KNOWN = "known"
    SUPPRESSED = "suppressed"


class Acceptance(NamedTuple):
    """A violation that fails no run: it stands in a baseline, or an annotation of its object
    suppresses it.

    reason: as its author wrote it; until: the date (ISO 8601) on which the acceptance ends; both
    may be empty.
    """

    state: AcceptedAs
    reason: str = ""
    until: str = ""

    def __str__(self) -> str:
        text = f"{self.state}: {self.reason}" if self.reason else str(self.state)
        return f"{text}, until {self.until}" if self.until else text


Accepted = Mapping[int, Acceptance]
"""The accepted results of an object, by their position among its results."""
NONE_ACCEPTED: Final[Accepted] = MappingProxyType({})


class FieldPlace(NamedTuple):
    """A field that a violation is about.

    field: `spec.containers[0].image`; location: of the field in the user's file, of its nearest
    existing parent, or of the object; value: the place of the chart's value that the field shows,
    None where there is none.
    """

    field: str
    location: Location
    value: Location | None = None

    def __str__(self) -> str:
        text = f"{self.location}  {self.field}"
        if self.value is None:
            return text
        return f"{text} (value {self.value_key} of {self.value})"

    @property
    def value_key(self) -> str:
        """The key of the chart's value, `image.tag`; empty without one."""
        if self.value is None:
            return ""
        return pointer_text(self.value.path)

    @property
    def members(self) -> dict[str, str]:
        """The members of a row for programs."""
        members = {"field": self.field, "location": str(self.location)}
        if self.value is not None:
            members |= {"value": self.value_key, "valueLocation": str(self.value)}
        return members


def field_places(
    resource: Resource, result: RuleResult, most: int | None = None
) -> Sequence[FieldPlace]:
    """Return the fields of a failure with their places, the most telling one first; none for a
    result that names no field. most: how many of them, all if None."""
    if not result.fields:
        return ()
    location, body = resource.location, resource.body
    return [
        FieldPlace(field_text(pointer, body), location.within(pointer), location.value_of(pointer))
        for pointer in result.fields[:most]
    ]


def field_text(pointer: str, body: Json) -> str:
    """Return a JSON pointer as people write paths: `/spec/containers/0` is `spec.containers[0]`.

    body: the object, which tells a position in a list from a key that is a number.
    """
    keys: list[int] = []
    for index, (step, is_number) in enumerate(_steps_to_numbers(pointer)):
        if isinstance(body, dict):
            if is_number:
                keys.append(index)
            body = body.get(step)
        else:
            body = _item(body, step) if is_number else None
    return _text_of(pointer, tuple(keys))


@lru_cache(maxsize=4096)
def _steps_to_numbers(pointer: str) -> tuple[tuple[str, bool], ...]:
    """Return the steps of a pointer up to the last that is a number, with whether each is one."""
    steps = [(step, item_number(step) is not None) for step in pointer_steps(pointer)]
    while steps and not steps[-1][1]:
        steps.pop()
    return tuple(steps)


@lru_cache(maxsize=4096)
def _text_of(pointer: str, keys: tuple[int, ...]) -> str:
    """Return the text of a path; keys: the numbers in it that are not positions."""
    return path_text(
        step if index in keys else path_step(step)
        for index, step in enumerate(pointer_steps(pointer))
    )


def _item(body: Json, step: str) -> Json:
    is_there = isinstance(body, list) and len(step) < _DIGITS and int(step) < len(body)
    return body[int(step)] if is_there else None
