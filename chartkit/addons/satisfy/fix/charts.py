"""Edits of charts: each field is set by the one value that decides it, else in the template's own
lines, and the chart is rendered again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from chartkit.addons.satisfy.fix.chart_templates import (
    TemplateEdit,
    template_edits,
    with_lines,
)
from chartkit.addons.satisfy.fix.chart_values import (
    WRITTEN,
    Chart,
    ValueEdit,
    has,
    places_of,
    written,
)
from chartkit.addons.satisfy.fix.files import SourceFiles, with_documents
from chartkit.addons.satisfy.fix.judging import Judging
from chartkit.addons.satisfy.fix.model import (
    Batch,
    Edit,
    FileText,
    NoPlaceError,
    Reason,
    Subject,
    changed,
    most_of,
)
from chartkit.addons.satisfy.wants.rules import RuleKey
from chartkit.documents.reader import Document, Source
from chartkit.errors import ChartkitError, InputError
from chartkit.helm.template_places import TemplatePlaces
from chartkit.model import Json, Location, Resource, same
from chartkit.report.model import resource_id

_Unit = ValueEdit | TemplateEdit


@dataclass(slots=True)
class ChartEdits:
    """The edits of all charts of a scan. objects: all of the scan; bad: what is wrong
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
        units: dict[tuple[object, ...], _Unit] = {}
        for subject in subjects:
            chart = self._charts[id(places_of(subject.given).chart)]
            found, failed = chart.value_edits(subject)
            asked = [edit for edit in subject.edits if edit.steps in failed]
            plain = [edit for edit in asked if failed[edit.steps].text == WRITTEN]
            in_templates = template_edits(subject, plain)
            done = {edit.steps for unit in in_templates for _, edit in unit.users}
            subject.settle({steps: each for steps, each in failed.items() if steps not in done})
            made: list[_Unit] = [*found, *in_templates]
            for unit in made:
                first = units.setdefault(_key(unit), unit)
                if first is not unit:
                    units[_key(unit)] = replace(first, users=(*first.users, *unit.users))
        self._take([*units.values()])
        return Batch(subjects, self._texts, self._made)

    def _take(self, units: Sequence[_Unit]) -> None:
        """Find the edits of values that can be made together; leave the others open."""
        units = _in_use(units)
        while units:
            kept = most_of(units, self._works)
            for unit in units:
                if unit not in kept:
                    for subject, edit in unit.users:
                        subject.settle({edit.steps: self._reason(unit, subject, edit)})
            left = _in_use(kept)
            if len(left) == len(units):
                break
            units = left
        if not units or not self._works(units):
            self._texts, self._made = [], {}

    def _works(self, units: Sequence[_Unit]) -> bool:
        """Report whether edits can be made together: the files can be edited, every field gets its
        value, and no object of a chart is worse than before."""
        try:
            self._texts, bodies = self._edited(units)
            self._made = {}
            templates = {text.name: text.after for text in self._texts if text.name not in bodies}
            for chart in self._charts.values():
                if chart.is_of({text.name for text in self._texts}):
                    rendered = chart.rendered(bodies, templates)
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

    def _edited(self, units: Sequence[_Unit]) -> tuple[list[FileText], dict[str, Json]]:
        """Return the files with edits, and the values of those with values; raise InputError and
        NoPlaceError."""
        bodies: dict[str, Json] = {}
        values = [unit for unit in units if isinstance(unit, ValueEdit)]
        documents = {unit.file: unit.document for unit in values}
        for unit in values:
            before = bodies.get(unit.file, unit.document.body)
            bodies[unit.file] = changed(before, unit.steps, unit.value)
        texts: list[FileText] = []
        for name, document in documents.items():
            if type(document) is not Document:
                raise InputError("has the values in the object of a release")
            path, text = self.files.text(document.source)
            after = with_documents(text, name, {0: bodies[name]})
            texts.append(FileText(name, path, text, after))
        lines: dict[str, list[TemplateEdit]] = {}
        for each in units:
            if isinstance(each, TemplateEdit):
                lines.setdefault(each.file, []).append(each)
        for name, edits in lines.items():
            chart = places_of(edits[0].users[0][0].given).chart
            source = Source(name, chart.text(edits[0].template))
            path, text = self.files.text(source)
            texts.append(FileText(name, path, text, with_lines(text, edits)))
        return texts, bodies

    def _reason(self, unit: _Unit, subject: Subject, edit: Edit) -> Reason:
        if isinstance(unit, TemplateEdit):
            place = Location(unit.file, unit.start + 1)
        else:
            place = unit.document.locate(*unit.steps)
        try:
            self._edited([unit])
        except InputError as error:
            return Reason(f"the file {error.message}", error.location or place)
        except NoPlaceError:
            return Reason("the values have another shape", place)
        if isinstance(unit, TemplateEdit):
            return written(subject, edit.steps)
        name = ".".join(unit.steps)
        text = f"the value '{name}' is wanted to be several things, or breaks another object"
        return Reason(text, place)


def _key(unit: _Unit) -> tuple[object, ...]:
    """Return what two edits of one kind and place have in common."""
    if isinstance(unit, TemplateEdit):
        return unit.file, unit.start, unit.end, unit.lines
    return unit.file, unit.steps, repr(unit.value)


def _in_use(units: Sequence[_Unit]) -> list[_Unit]:
    """Return the edits of values that make edits which objects still have."""
    return [
        unit
        for unit in units
        if any(edit.steps in {each.steps for each in subject.edits} for subject, edit in unit.users)
    ]
