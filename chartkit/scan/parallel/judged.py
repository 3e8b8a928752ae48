"""Objects with their results, as they go from one process to another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from chartkit.documents.reader import Document
from chartkit.model import Location, Places, Resource, RuleResult, pointer_of, pointer_steps
from chartkit.scan.gate import ANNOTATION, has_suppressions
from chartkit.scan.parallel.partition import ItemPlaces

if TYPE_CHECKING:
    from chartkit.scan.parallel.reported import Shown

_ANNOTATION: Final = pointer_of("metadata", "annotations", ANNOTATION)


@dataclass(frozen=True, slots=True)
class KnownPlaces(Places):
    """The places of the fields that findings are about, which were looked for where the text is.

    places: line, column and pointer of each path; excerpts: the lines around a line, empty where
    they are not shown; others: those of the whole document, where this process has its text.
    """

    file: str
    places: Mapping[tuple[str, ...], tuple[int, int, str]]
    excerpts: Mapping[int, tuple[int, Sequence[str]]]
    others: Places | None = None

    def locate(self, *path: str | int) -> Location:
        steps = tuple(map(str, path))
        if steps not in self.places and self.others is not None:
            return self.others.locate(*path)
        while steps and steps not in self.places:
            steps = steps[:-1]
        line, column, pointer = self.places.get(steps, (0, 0, ""))
        return Location(self.file, line, column, pointer, self)

    def character(self, offset: int, *path: str | int) -> Location:
        return self.others.character(offset, *path) if self.others else self.locate(*path)

    def value_of(self, *path: str | int) -> Location | None:
        return self.others.value_of(*path) if self.others else None

    def excerpt(self, line: int) -> tuple[int, Sequence[str]]:
        if line in self.excerpts or self.others is None:
            return self.excerpts.get(line, (line, ()))
        return self.others.excerpt(line)


class Judged(NamedTuple):
    """An object with its results. resource: None where the other process has it as it is."""

    resource: Resource | None
    results: Sequence[RuleResult]
    places: KnownPlaces | None

    def restored(self, given: Resource | None = None) -> Resource:
        """Return the object with the places of its findings; given: the object that was judged,
        where this process has it."""
        resource = self.resource or given
        assert resource is not None
        if self.places is None:
            return resource if given is None else Resource(resource.body, given.location)
        places = self.places
        if given is not None:
            places = replace(places, others=given.location.places)
        at = resource.location
        return Resource(resource.body, Location(at.file, at.line, at.column, at.path, places))


def judged(
    resource: Resource, results: Sequence[RuleResult], shown: Shown, given: Resource | None = None
) -> Judged:
    """Return an object with its results for another process, which has the given object."""
    sent = None if resource is given else resource
    if not isinstance(resource.location.places, Document | ItemPlaces):
        return Judged(sent, results, None)
    fields = (result.fields[: shown.most] for result in results if result.fields)
    pointers = dict.fromkeys(chain.from_iterable(fields))
    if has_suppressions(resource):
        pointers[_ANNOTATION] = None
    base_ = resource.location
    base = pointer_steps(base_.path)
    places: dict[tuple[str, ...], tuple[int, int, str]] = {}
    for pointer in pointers:
        location = base_.within(pointer)
        places[base + pointer_steps(pointer)] = location.line, location.column, location.path
    excerpts: dict[int, tuple[int, Sequence[str]]] = {}
    if shown.excerpts and base_.places is not None:
        lines = {base_.line, *(line for line, _, _ in places.values())}
        excerpts = {line: base_.places.excerpt(line) for line in lines}
    return Judged(sent, results, KnownPlaces(base_.file, places, excerpts))
