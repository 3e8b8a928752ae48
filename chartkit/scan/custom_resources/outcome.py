"""The outcome of judging a value by a schema: errors at their places."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from chartkit.model import FieldPath, Json
from chartkit.scan.custom_resources.problems import OMITTED, Omitted, Problem, Reason, Work, problem


@dataclass(slots=True)
class Outcome:
    """The errors of a value by their messages, and the number of checks."""

    problems: dict[str, Problem] = field(default_factory=dict)
    checks: int = 0

    def merge(self, other: Outcome) -> None:
        """Add those of another."""
        for message, each in other.problems.items():
            self.problems.setdefault(message, each)
        self.checks += other.checks


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a value; name: as messages have it, which join all steps with dots."""

    path: FieldPath = ()
    name: str = ""
    work: Work = field(default_factory=Work)

    def field(self, key: str) -> Place:
        """Return the place of a member; at the top its name is the key alone."""
        return self._below(key, f"{self.name}.{key}" if self.name else key)

    def entry(self, key: str) -> Place:
        """Return the place of an entry of a map, or of a missing member."""
        return self._below(key, f"{self.name}.{key}")

    def item(self, at: int) -> Place:
        """Return the place of an item of a list."""
        return self._below(at, f"{self.name}[{at}]")

    def _below(self, step: str | int, name: str) -> Place:
        return Place((*self.path, step), name, self.work)


def fail(
    outcome: Outcome, place: Place, reason: Reason, message: str, value: Json | Omitted = OMITTED
) -> None:
    """Add an error; message: upstream's own, which identifies it."""
    detail = "" if reason is Reason.REQUIRED else message
    add(outcome, place, message, reason, detail, value)


def add(
    outcome: Outcome,
    place: Place,
    message: str,
    reason: Reason,
    detail: str,
    value: Json | Omitted = OMITTED,
) -> None:
    """Add an error whose words, in detail, are not the message that identifies it."""
    found = problem(place.path, place.name.removeprefix("."), reason, detail, value)
    place.work.spend(_ERROR + len(found.text) // _CHARACTERS)
    outcome.problems.setdefault(message, found)


_ERROR: Final = 20
_CHARACTERS: Final = 20
"""The work of an error in values: as it is, and by how many characters of its text."""


def fail_unnamed(outcome: Outcome, place: Place, message: str) -> None:
    """Add an error that upstream gives without a field."""
    place.work.spend(_ERROR)
    outcome.problems.setdefault(message, problem(place.path, "", Reason.INVALID, message, ""))
