"""Releases as objects declare them, and the repository that they are in."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from chartkit.documents.embedded import embedded_mapping, embedded_text
from chartkit.documents.reader import Document
from chartkit.errors import InputError
from chartkit.helm.chart_values import ValuesSource
from chartkit.model import (
    Diagnostic,
    FieldPath,
    Json,
    Location,
    Resource,
    Severity,
    pointer_of,
    pointer_steps,
)

_ENGINE: Final = "kyverno"
_MOST_LETTERS: Final = 4_000_000
RULE: Final = "gitops"
"""The ID of notes about releases that objects declare."""


@dataclass(slots=True)
class DeclaredRelease:
    """A release that an object declares.

    chart: a path in the repository, or the chart's name; version: of the chart as written, which
    may be a range; origin: where the chart is instead, empty for in the repository; values: the
    last wins; pointer: of the field that names the chart;
    unknown: paths of values that variables without a default give; faults: what cannot be found of
    the values.
    """

    owner: Resource
    chart: str = ""
    version: str = ""
    origin: str = ""
    values: list[ValuesSource] = field(default_factory=list)
    release: str = ""
    namespace: str = ""
    pointer: str = "/spec"
    kube_version: str | None = None
    api_versions: tuple[str, ...] = ()
    unknown: tuple[FieldPath, ...] = ()
    faults: list[Diagnostic] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The object in messages: `HelmRelease 'web'`."""
        return f"{self.owner.kind} '{self.owner.name}'"

    @property
    def is_engine(self) -> bool:
        """Return whether its chart is Kyverno's, by its name."""
        return self.chart.rstrip("/").rpartition("/")[2] == _ENGINE

    def fault(self, message: str, pointer: str, hint: str | None = None, rule: str = RULE) -> None:
        """Add a warning about a field of the object."""
        self._add(rule, Severity.WARNING, message, pointer, hint)

    def note(self, message: str, pointer: str, hint: str | None = None, rule: str = RULE) -> None:
        """Add a note about a field of the object."""
        self._add(rule, Severity.NOTE, message, pointer, hint)

    def _add(
        self, rule: str, severity: Severity, message: str, pointer: str, hint: str | None
    ) -> None:
        place = self.owner.location.within(pointer)
        self.faults.append(Diagnostic(rule, severity, f"{self.name}: {message}", place, hint))


def mapping_document(resource: Resource, value: Json, *path: str | int) -> ValuesSource | None:
    """Return a mapping in an object as values; None for anything else."""
    if not isinstance(value, dict):
        return None
    places, prefix = resource.location.places, pointer_steps(resource.location.path)
    if places is None:
        return value
    steps = (*prefix, *map(str, path))
    return embedded_mapping(value, resource.location.file, places, steps)


def text_document(resource: Resource, text: str, *path: str | int) -> Document | None:
    """Return a text in an object as values; None for an empty one. Raise InputError, at the text's
    place."""
    places, prefix = resource.location.places, pointer_steps(resource.location.path)
    place = resource.location.within(pointer_of(*path))
    if places is None:
        places = _Nowhere(place)
    try:
        found = embedded_text(text, resource.location.file, places, (*prefix, *map(str, path)))
    except InputError as error:
        raise InputError(error.message, place, error.hint) from None
    if found is not None and not isinstance(found.body, dict):
        raise InputError("must be a mapping of values", place)
    return found


@dataclass(frozen=True, slots=True)
class _Nowhere:
    """The places of an object without a text."""

    place: Location

    def locate(self, *_path: str | int) -> Location:
        return self.place

    def character(self, _offset: int, *_path: str | int) -> Location:
        return self.place

    def value_of(self, *_path: str | int) -> Location | None:
        return None

    def excerpt(self, line: int) -> tuple[int, Sequence[str]]:
        return line, ()


class Room:
    """The letters that templates and referenced texts may have together in one run, each time that
    they are used."""

    def __init__(self) -> None:
        self._left = _MOST_LETTERS

    def take(self, letters: int) -> None:
        """Count letters; raise InputError beyond the most."""
        if letters > self._left:
            raise InputError(f"come to more than {_MOST_LETTERS:,} letters with all repetitions")
        self._left -= letters


@dataclass(frozen=True, slots=True)
class Repository:
    """The folders below which charts and values files are looked for. find_root: gives the
    repository of a file, None for none; folders: the scanned ones."""

    folders: Sequence[Path]
    find_root: Callable[[Path], Path | None]
    room: Room = field(default_factory=Room)

    def find(self, owner: Resource, path: str) -> Path | None:
        """Return a file or folder of the repository of an object, or of a scanned folder; None
        where it is not there, or outside."""
        root = self.find_root(Path(owner.location.file))
        for folder in [root, *self.folders] if root is not None else self.folders:
            # A name that no system takes, or a link to itself, is not there.
            with contextlib.suppress(OSError, ValueError, RuntimeError):
                whole = (folder / path.lstrip("/")).resolve(strict=True)
                if whole.is_relative_to(folder.resolve()):
                    return folder / path.lstrip("/")
        return None
