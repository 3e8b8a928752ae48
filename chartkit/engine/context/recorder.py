"""The checks of one rule, recorded while it runs, for `engine.why`.

A context has a recorder for `why` alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from chartkit.engine.budget import Budget
from chartkit.engine.jmespath.traced import ANY_KEY, Traced
from chartkit.engine.why import MISSING, Asked, Decision, is_shown_of_secret
from chartkit.errors import ChartkitError
from chartkit.model import FieldPath, Json, Location, Resource, pointer_of

if TYPE_CHECKING:
    from chartkit.engine.context.context import Context

_MOST_PARTS = 256
"""The most checks that are kept at one level: a foreach may have any number of elements."""
_MOST_STEPS = 20_000
_ALL_STEPS = 500_000
"""The most steps of looking for the field that one value comes from, and for those of a rule."""


class Sources:
    """The locations of the mappings and lists of a document, by their identity."""

    def __init__(self, body: Json, location: Location, above: FieldPath, added: FieldPath) -> None:
        """above: the path of the body in the document; added: the keys that a form for pod
        controllers has around a pattern, which the file has not."""
        self._body = body
        self._location = location
        self._above = above
        self._added = added
        self._found: dict[int, FieldPath] = {}

    def location(self, source: Json, *path: str | int) -> Location:
        """Return the location of a part, or of a path below it; the location of the body for a part
        of another document."""
        if not self._found:
            self._find(self._body, ())
        steps = self._found.get(id(source))
        written = self._as_written((*steps, *path)) if steps is not None else ()
        return self._location.within(pointer_of(*self._above, *written))

    def at(self, *path: str | int) -> Location:
        """Return the location of a path below the body."""
        return self._location.within(pointer_of(*self._above, *path))

    def character(self, offset: int, *path: str | int) -> Location:
        """Return the location of a character of the text at a path below the body; the location of
        the text in a form for pod controllers, whose texts differ."""
        if self._added:
            return self.at(*path)
        return self._location.character(pointer_of(*self._above, *path), offset)

    def _find(self, value: Json, path: FieldPath) -> None:
        if isinstance(value, dict | list):
            self._found.setdefault(id(value), path)
            members = value.items() if isinstance(value, dict) else enumerate(value)
            for key, member in members:
                self._find(member, (*path, key))

    def _as_written(self, path: FieldPath) -> FieldPath:
        added = self._added
        for index in range(len(path) - len(added) + 1 if added else 0):
            if path[index : index + len(added)] == added:
                return (*path[:index], *path[index + len(added) :])
        return path


@dataclass(slots=True)
class Recorder:
    """Records the checks of a rule.

    judged: the value that patterns look at, the object or the element of a loop; elements: the
    names of loops; is_secret: whether the object is a Secret; steps: the steps left for finding
    fields; parts: the decisions recorded at the open level.
    """

    sources: Sources
    judged: Traced
    elements: Mapping[str, Traced] = field(default_factory=dict)
    is_secret: bool = False
    steps: int = _ALL_STEPS
    parts: list[Decision] = field(default_factory=list)

    def add(self, decision: Decision) -> None:
        """Record a check; of too many at one level the last ones replace each other."""
        if len(self.parts) >= _MOST_PARTS:
            self.parts.pop()
        self.parts.append(decision)

    @contextmanager
    def inside(self) -> Iterator[list[Decision]]:
        """Open a level, and yield the list of decisions recorded in it."""
        outer, self.parts = self.parts, []
        try:
            yield self.parts
        finally:
            self.parts = outer

    @contextmanager
    def inside_element(self, judged: Traced, elements: Mapping[str, Traced]) -> Iterator[None]:
        """Judge an element of a loop; judged: what its patterns look at; elements: its names."""
        before = self.judged, self.elements
        self.judged, self.elements = judged, {**self.elements, **elements}
        try:
            yield
        finally:
            self.judged, self.elements = before

    def hides(self, pointer: str | None) -> bool:
        """Report whether the value of a field is not shown, or of no single field (None)."""
        return self.is_secret and not is_shown_of_secret(pointer)

    def failed_entry(self, name: str, message: str) -> None:
        """Record that a context entry could not be loaded, or is left out."""
        prefix = f"context entry {name}: "
        text = f"{prefix}{message.removeprefix(prefix)}"
        self.add(Decision(Asked.CONTEXT, None, text, self.sources.at("context")))

    def traced(self, context: Context, value: Json) -> Traced | None:
        """Return a value of the policy with the fields of the object that it comes from; None where
        that cannot be had."""
        from chartkit.engine.context.origins import Origins

        if self.steps <= 0:
            return None
        budget = Budget()
        budget.steps = budget.whole = _MOST_STEPS
        try:
            origins = Origins(context, self.judged, budget, self.elements, {})
            return origins.resolve(value)
        except (ChartkitError, ValueError, RecursionError):
            return None
        finally:
            self.steps -= budget.whole - budget.steps


def recorder_of(sources: Sources, resource: Resource) -> Recorder:
    is_secret = resource.kind == "Secret" and resource.api_version == "v1"
    return Recorder(sources, Traced(resource.body, ()), is_secret=is_secret)


def field_of(traced: Traced | None) -> str | None:
    """Return the first field of the object that a value comes from, as a JSON pointer, if any."""
    for path in () if traced is None else traced.fields():
        return pointer_of(*(path[:-1] if path[-1:] == (ANY_KEY,) else path))
    return None


def field_below(judged: Traced, steps: FieldPath) -> tuple[str | None, Json]:
    """Return the pointer and the value of a field below the judged value; MISSING without it."""
    traced = judged.inside(steps)
    above = judged.inside(steps[:-1]).value
    is_there = traced.value is not None or (
        isinstance(above, dict) and bool(steps) and steps[-1] in above
    )
    pointer = None if traced.path is None else pointer_of(*traced.path)
    return pointer, traced.value if is_there else MISSING
