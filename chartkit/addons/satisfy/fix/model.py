"""The parts of a fix: edits of objects, open violations, and the files that change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeVar

from chartkit.addons.satisfy.changes import DELETE
from chartkit.addons.satisfy.wants import RuleKey
from chartkit.model import Json, Location, Resource, item_number, pointed_at

T = TypeVar("T")
Steps = tuple[str, ...]
_TRIALS: Final = 40


class NoPlaceError(Exception):
    """A value at a path that does not lead through an object: into a text, or beyond a list."""


def changed(value: Json, steps: Sequence[str], new: Json) -> Json:
    """Return a value in which the field at a path has a new value, or is missing for DELETE.
    Missing mappings and lists on the way are made; what is beside the path is shared. Raise
    NoPlaceError where the path leads nowhere."""
    if not steps:
        return new
    step, rest = steps[0], steps[1:]
    if value is None:
        value = [] if step in ("0", "-") else {}
    if isinstance(value, dict):
        members = {**value, step: changed(value.get(step), rest, new)}
        if members[step] is DELETE:
            del members[step]
        return members
    number = len(value) if step == "-" and isinstance(value, list) else item_number(step)
    if not isinstance(value, list) or number is None or number > len(value):
        raise NoPlaceError
    before = value[number] if number < len(value) else None
    item = changed(before, rest, new)
    return [*value[:number], *([] if item is DELETE else [item]), *value[number + 1 :]]


def steps_in(judged: Json, own: Json, steps: Sequence[str]) -> Steps:
    """Return the path in an object as its file has it of a field of the object as it was judged,
    after mutations: items of lists correspond by name, or by number in lists of the same length.
    Raise NoPlaceError for an item that the file does not have."""
    path: list[str] = []
    for step in steps:
        before = judged
        judged = pointed_at(judged, [step])
        if isinstance(own, list) and judged is not None:
            name = judged.get("name") if isinstance(judged, dict) else None
            names = [item.get("name") if isinstance(item, dict) else None for item in own]
            if name is not None and name in names:
                step = str(names.index(name))
            elif not isinstance(before, list) or len(before) != len(own):
                raise NoPlaceError
        elif isinstance(own, list):
            number = item_number(step)
            if number is None or not isinstance(before, list):
                raise NoPlaceError
            step = str(len(own) + number - len(before))
        elif own is None and isinstance(before, list) and before:
            raise NoPlaceError
        own = pointed_at(own, [step])
        path.append(step)
    return tuple(path)


@dataclass(frozen=True, slots=True)
class Edit:
    """A field of an object as its file has it, and its new value. rules: what fails without the
    edit."""

    steps: Steps
    value: Json
    rules: frozenset[RuleKey] = frozenset()


def edited(resource: Resource, edits: Iterable[Edit]) -> Resource:
    """Return an object with edits; raise NoPlaceError."""
    body = resource.body
    for edit in edits:
        body = changed(body, edit.steps, edit.value)
    return Resource(body, resource.location)


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a violation stays; location: of the field or the line that keeps it; is_decision:
    whether a person has to decide."""

    text: str
    location: Location
    is_decision: bool = False


@dataclass(slots=True, eq=False)
class Subject:
    """An object with violations. number: its index among the objects of the scan; violations:
    the rules that it violates and that nothing accepts; open: what stays."""

    number: int
    given: Resource
    violations: frozenset[RuleKey]
    edits: tuple[Edit, ...] = ()
    open: dict[RuleKey, Reason] = field(default_factory=dict)

    @property
    def fixed(self) -> int:
        """The number of violations that the edits end."""
        return len(self.violations) - len(self.open)

    def settle(self, failed: Mapping[Steps, Reason]) -> None:
        """Leave out edits that cannot be made, by path, and those that then end no violation."""
        kept = [edit for edit in self.edits if edit.steps not in failed]
        for edit in self.edits:
            for rule in edit.rules if edit.steps in failed else ():
                self.open.setdefault(rule, failed[edit.steps])
        left = [replace(edit, rules=edit.rules - self.open.keys()) for edit in kept]
        self.edits = tuple(edit for edit in left if edit.rules)

    def give_up(self, reason: Reason) -> None:
        """Leave out all edits."""
        self.settle({edit.steps: reason for edit in self.edits})


@dataclass(frozen=True, slots=True)
class FileText:
    """A file before and after. name: as messages have it; path: None for standard input."""

    name: str
    path: Path | None
    before: str
    after: str


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Edits that are written together: the files, and the resulting objects by number."""

    subjects: Sequence[Subject]
    files: Sequence[FileText]
    objects: Mapping[int, Resource]


def most_of(units: Sequence[T], works: Callable[[Sequence[T]], bool]) -> list[T]:
    """Return the units that work together: all of them, or the halves, their halves and so on that
    work with those before them. The number of trials is bounded."""
    trials = 0

    def taken(part: Sequence[T], before: list[T]) -> list[T]:
        nonlocal trials
        trials += 1
        if not part or trials > _TRIALS:
            return before
        if works([*before, *part]):
            return [*before, *part]
        half = len(part) // 2
        return taken(part[half:], taken(part[:half], before)) if half else before

    return taken(units, [])
