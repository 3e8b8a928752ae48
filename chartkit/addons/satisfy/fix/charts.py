"""Edits of the values of charts: each field is set by the one value that decides it, and the chart
is rendered again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from chartkit.addons.satisfy.fix.chart_values import Chart, ValueEdit, has
from chartkit.addons.satisfy.fix.files import SourceFiles, with_documents
from chartkit.addons.satisfy.fix.judging import Judging
from chartkit.addons.satisfy.fix.model import (
    Batch,
    FileText,
    NoPlaceError,
    Reason,
    Subject,
    changed,
    most_of,
)
from chartkit.addons.satisfy.wants.rules import RuleKey
from chartkit.documents.reader import Document
from chartkit.errors import ChartkitError, InputError
from chartkit.helm.template_places import TemplatePlaces
from chartkit.model import Json, Resource, same
from chartkit.report.model import resource_id


@dataclass(slots=True)
class ChartEdits:
    """The edits of the values of all charts of a scan. objects: all of the scan; bad: what is wrong
    with each."""

    objects: Sequence[Resource]
    bad: Sequence[frozenset[RuleKey]]
    judging: Judging
    files: SourceFiles
    _charts: dict[int, Chart] = field(default_factory=dict)
    _texts: list[FileText] = field(default_factory=list)
    _made: dict[int, Resource] = field(default_factory=dict)

    def batch(self, subjects: Sequence[Subject]) -> Batch:
        """Return the edits for objects of charts; those that cannot be made are left out, and
        open."""
        for number, resource in enumerate(self.objects):
            places = resource.location.places
            if isinstance(places, TemplatePlaces):
                chart = self._charts.setdefault(id(places.chart), Chart(places.chart))
                chart.numbers.append(number)
        units: dict[tuple[str, tuple[str, ...], str], ValueEdit] = {}
        for subject in subjects:
            places = subject.given.location.places
            assert isinstance(places, TemplatePlaces)
            found, failed = self._charts[id(places.chart)].value_edits(subject)
            subject.settle(failed)
            for unit in found:
                key = unit.file, unit.steps, repr(unit.value)
                users = (*units[key].users, *unit.users) if key in units else unit.users
                units[key] = replace(unit, users=users)
        self._take([*units.values()])
        return Batch(subjects, self._texts, self._made)

    def _take(self, units: Sequence[ValueEdit]) -> None:
        """Find the edits of values that can be made together; leave the others open."""
        units = _in_use(units)
        while units:
            kept = most_of(units, self._works)
            for unit in units:
                if unit not in kept:
                    for subject, edit in unit.users:
                        subject.settle({edit.steps: self._reason(unit)})
            left = _in_use(kept)
            if len(left) == len(units):
                break
            units = left
        if not units or not self._works(units):
            self._texts, self._made = [], {}

    def _works(self, units: Sequence[ValueEdit]) -> bool:
        """Report whether edits can be made together: the files can be edited, every field gets its
        value, and no object of a chart is worse than before."""
        try:
            self._texts, bodies = self._edited(units)
            self._made = {}
            for chart in self._charts.values():
                if chart.reads(bodies):
                    rendered = chart.rendered(bodies)
                    old = [resource_id(self.objects[number]) for number in chart.numbers]
                    if old != [resource_id(resource) for resource in rendered]:
                        return False
                    self._made |= zip(chart.numbers, rendered, strict=True)
        except (ChartkitError, NoPlaceError):
            return False
        users = (user for unit in units for user in unit.users)
        if not all(has(self._made[subject.number].body, edit) for subject, edit in users):
            return False
        self._made = {
            number: resource
            for number, resource in self._made.items()
            if not same(resource.body, self.objects[number].body)
        }
        verdicts = self.judging.all([*self._made.values()])
        return not any(
            verdict.bad - self.bad[number]
            for number, verdict in zip(self._made, verdicts, strict=True)
        )

    def _edited(self, units: Sequence[ValueEdit]) -> tuple[list[FileText], dict[str, Json]]:
        """Return the values files with edits, and their values; raise InputError and
        NoPlaceError."""
        bodies: dict[str, Json] = {}
        documents = {unit.file: unit.document for unit in units}
        for unit in units:
            before = bodies.get(unit.file, unit.document.body)
            bodies[unit.file] = changed(before, unit.steps, unit.value)
        texts: list[FileText] = []
        for name, document in documents.items():
            if type(document) is not Document:
                raise InputError("has the values in the object of a release")
            path, text = self.files.text(document)
            after = with_documents(text, name, {0: bodies[name]})
            texts.append(FileText(name, path, text, after))
        return texts, bodies

    def _reason(self, unit: ValueEdit) -> Reason:
        place = unit.document.locate(*unit.steps)
        try:
            self._edited([unit])
        except InputError as error:
            return Reason(f"the file {error.message}", error.location or place)
        except NoPlaceError:
            return Reason("the values have another shape", place)
        name = ".".join(unit.steps)
        text = f"the value '{name}' is wanted to be several things, or breaks another object"
        return Reason(text, place)


def _in_use(units: Sequence[ValueEdit]) -> list[ValueEdit]:
    """Return the edits of values that make edits which objects still have."""
    return [
        unit
        for unit in units
        if any(edit.steps in {each.steps for each in subject.edits} for subject, edit in unit.users)
    ]
