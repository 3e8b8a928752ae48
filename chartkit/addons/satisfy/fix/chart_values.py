"""The values of one chart that decide fields of its objects, found by its templates or by trial."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final
from weakref import finalize

from chartkit.addons.satisfy.changes import DELETE
from chartkit.addons.satisfy.fix.model import Edit, NoPlaceError, Reason, Steps, Subject, changed
from chartkit.charts.plan import difference
from chartkit.documents.reader import Document
from chartkit.engine.kubernetes.kinds import in_namespace
from chartkit.errors import ChartkitError
from chartkit.helm.chart_values import merge, read_values
from chartkit.helm.render import render_chart
from chartkit.helm.staging import write_copy
from chartkit.helm.template_places import ChartPlaces, ScopedValues, TemplatePlaces
from chartkit.model import Body, Json, Resource, pointed_at, pointer_of, pointer_steps, same
from chartkit.temporary import TemporaryFolder
from chartkit.wording import abridged

_TRIALS: Final = 30
"""The renders of a chart with a value on trial, at most."""
_DEPTH: Final = 6
_EMPTY: Final[tuple[Json, ...]] = (None, "", {}, [])
_NONE: Final[Mapping[str, str]] = MappingProxyType({})
Bodies = Mapping[str, Json]
"""The values files that are edited, by their names."""
WRITTEN: Final = "the chart's template decides it, and no value of the chart"


@dataclass(frozen=True, slots=True, eq=False)
class ValueEdit:
    """A value of a file, and the edits of objects that it makes; steps: in the file."""

    document: Document
    steps: Steps
    value: Json
    users: tuple[tuple[Subject, Edit], ...]

    @property
    def file(self) -> str:
        return self.document.source.file


def places_of(resource: Resource) -> TemplatePlaces:
    """Return the places of an object that a chart renders."""
    places = resource.location.places
    assert isinstance(places, TemplatePlaces)
    return places


def has(body: Json, edit: Edit) -> bool:
    """Report whether an object is as an edit makes it."""
    value = pointed_at(body, edit.steps)
    return value is None if edit.value is DELETE else same(value, edit.value)


@dataclass(slots=True)
class Chart:
    """A chart as the scan renders it. numbers: of its objects in the scan, in their order."""

    places: ChartPlaces
    numbers: list[int] = field(default_factory=list)
    _trials: dict[tuple[str, Steps, str], Sequence[Resource]] = field(default_factory=dict)

    def is_of(self, files: Container[str]) -> bool:
        """Report whether any of the files is a template or values file of the chart."""
        values = (document.source.file for document, _ in self._layers())
        return any(file in files for file in (*values, *self._template_files().values()))

    def rendered(self, bodies: Bodies, templates: Mapping[str, str] = _NONE) -> list[Resource]:
        """Return the objects with edited values files and templates; raise ChartkitError."""
        before: Body = {}
        after: Body = {}
        for document, scope in self._layers():
            own = document.body if isinstance(document.body, dict) else {}
            before = merge(before, _nested(scope, own))
            after = merge(after, _nested(scope, bodies.get(document.source.file, own)))
        names = self._template_files()
        texts = {name: templates[file] for name, file in names.items() if file in templates}
        edited = difference(after, before)
        if not texts:
            return self._render(self.places.inputs.folder, edited)
        with ExitStack() as stack:
            copy = TemporaryFolder()
            stack.callback(copy.close)
            folder = copy.path / (self.places.inputs.folder.resolve().name or "chart")
            write_copy(self.places.inputs.folder, folder, texts)
            resources = self._render(folder, edited)
            if resources:
                # The places of objects are read from the copy as long as anything asks for them.
                finalize(places_of(resources[0]).chart, stack.pop_all().close)
            return resources

    def _render(self, folder: Path, edited: Body) -> list[Resource]:
        inputs, target = self.places.inputs, self.places.inputs.target
        chart = render_chart(
            folder,
            [*inputs.documents, inputs.values, edited],
            release=target.release,
            namespace=target.namespace,
            kube_version=target.kube_version,
            api_versions=target.api_versions,
            shown=inputs.shown,
        )
        objects = (in_namespace(own, target.namespace) for own in (*chart.resources, *chart.hooks))
        return [item for item in objects if isinstance(item.location.places, TemplatePlaces)]

    def _template_files(self) -> dict[str, str]:
        """Return the names of the templates in messages, by their paths in the chart."""
        return {name: self.places.files.name(name) for name in self.places.templates}

    def value_edits(self, subject: Subject) -> tuple[list[ValueEdit], dict[Steps, Reason]]:
        """Return the edits of values for an object's edits, and why others cannot be made."""
        made: list[ValueEdit] = []
        failed: dict[Steps, Reason] = {}
        missing: dict[Steps, list[Edit]] = {}
        for edit in subject.edits:
            depth = len(edit.steps)
            while depth and pointed_at(subject.given.body, edit.steps[:depth]) is None:
                depth -= 1
            shown = self._shown(subject, edit.steps[:depth]) if depth else None
            if shown is not None:
                document, steps = shown
                users = ((subject, edit),)
                made.append(ValueEdit(document, (*steps, *edit.steps[depth:]), edit.value, users))
            elif depth < len(edit.steps):
                is_empty = pointed_at(subject.given.body, edit.steps[:depth]) in ({}, [])
                missing.setdefault(edit.steps[: depth + (not is_empty)], []).append(edit)
            else:
                failed[edit.steps] = written(subject, edit.steps)
        for top, edits in missing.items():
            # The only value that sets a missing or empty field. Values that are empty and named
            # like the field are tried; the rendered object tells.
            value: Json = None
            try:
                for edit in edits:
                    value = changed(value, edit.steps[len(top) :], edit.value)
            except NoPlaceError:
                outcome: ValueEdit | Reason = written(subject, top)
            else:
                values = self._values_of(subject)
                works: list[ValueEdit] = []
                for key in _empty_values(values.merged, top[-1].lower()):
                    source = self._source(values, key)
                    if source is None:
                        continue
                    unit = ValueEdit(*source, value, tuple((subject, edit) for edit in edits))
                    rendered = self._trial(unit)
                    at = self.numbers.index(subject.number)
                    if at < len(rendered) and all(has(rendered[at].body, edit) for edit in edits):
                        works.append(unit)
                if len(works) > 1:
                    names = abridged([".".join(unit.steps) for unit in works])
                    place = subject.given.location.within(pointer_of(*top))
                    outcome = Reason(f"several values decide it: {names}", place, is_decision=True)
                else:
                    outcome = works[0] if works else written(subject, top)
            if isinstance(outcome, Reason):
                failed |= {edit.steps: outcome for edit in edits}
            else:
                made.append(outcome)
        return made, failed

    def _shown(self, subject: Subject, steps: Steps) -> tuple[Document, Steps] | None:
        """The value that a field of an object shows or has all of, by file and path."""
        values, location = self._values_of(subject), subject.given.location
        if (shown := location.value_of(pointer_of(*steps))) is not None:
            return self._source(values, pointer_steps(shown.path)[len(values.scope) :])
        given = pointed_at(subject.given.body, steps)
        above: set[Steps] = set()
        for key in given if isinstance(given, dict) else ():
            shown = location.value_of(pointer_of(*steps, key))
            path = pointer_steps(shown.path) if shown is not None else ()
            above.add(path[:-1] if path and path[-1] == key else ())
        whole = above.pop()[len(values.scope) :] if len(above) == 1 else ()
        is_whole = whole and same(pointed_at(values.merged, whole), given)
        return self._source(values, whole) if is_whole else None

    def _source(self, values: ScopedValues, key: Steps) -> tuple[Document, Steps] | None:
        """Return the file that gives a value, and its path there; None for one that the object of a
        release gives, which comes before all files."""
        inputs = self.places.inputs
        is_of_files = same(read_values(inputs.documents).merged, inputs.values)
        if not is_of_files and pointed_at(inputs.values, (*values.scope, *key)) is not None:
            return None
        return values.source(key, pointed_at(values.merged, key))

    def _trial(self, unit: ValueEdit) -> Sequence[Resource]:
        key = unit.file, unit.steps, repr(unit.value)
        if key not in self._trials:
            self._trials[key] = ()
            if len(self._trials) <= _TRIALS:
                try:
                    body = changed(unit.document.body, unit.steps, unit.value)
                    self._trials[key] = self.rendered({unit.file: body})
                except (ChartkitError, NoPlaceError):
                    pass
        return self._trials[key]

    def _values_of(self, subject: Subject) -> ScopedValues:
        return self.places.values_of(places_of(subject.given).name)

    def _layers(self) -> list[tuple[Document, Steps]]:
        """Return the values files, the last wins, each with the subcharts whose values it has."""
        layers: dict[str, tuple[Document, Steps]] = {}
        for template in self.places.templates:
            values = self.places.values_of(template)
            for document, above in values.layers:
                layers.setdefault(document.source.file, (document, values.scope[:above]))
        return sorted(layers.values(), key=lambda layer: -len(layer[1]))


def written(subject: Subject, steps: Steps) -> Reason:
    """Return the reason why a field that a template writes stays."""
    return Reason(WRITTEN, subject.given.location.within(pointer_of(*steps)))


def _empty_values(values: Json, name: str, above: Steps = ()) -> Iterator[Steps]:
    """Yield the keys of empty values that are named like a field, such as podSecurityContext."""
    for key, value in values.items() if isinstance(values, dict) and len(above) < _DEPTH else ():
        if value in _EMPTY and value is not False and key.lower().endswith(name):
            yield (*above, key)
        yield from _empty_values(value, name, (*above, key))


def _nested(scope: Steps, body: Json) -> Body:
    for step in reversed(scope):
        body = {step: body}
    return body if isinstance(body, dict) else {}
