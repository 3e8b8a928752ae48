"""Edits of charts: each field is set by the one value that decides it, else in lines of a template
that are plain YAML, without Helm code; the chart is rendered again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from textwrap import indent
from typing import Final

from chartkit.addons.satisfy.changes import DELETE
from chartkit.addons.satisfy.fix.chart_values import (
    WRITTEN,
    Chart,
    ValueEdit,
    has,
    places_of,
    written,
)
from chartkit.addons.satisfy.fix.files import SourceFiles, with_documents
from chartkit.addons.satisfy.fix.model import (
    Batch,
    Edit,
    FileText,
    NoPlaceError,
    Reason,
    Steps,
    Subject,
    changed,
    most_of,
)
from chartkit.addons.satisfy.fix.solving import Judging
from chartkit.addons.satisfy.wants import RuleKey
from chartkit.documents.reader import Document, Source
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.errors import ChartkitError, InputError
from chartkit.helm.syntax import OPEN
from chartkit.helm.template_places import FieldPlace, TemplatePlaces
from chartkit.model import Json, Location, Resource, gathered, pointed_at, pointer_steps, same
from chartkit.report.model import resource_id

_ITEM: Final = 2
_COMMENT: Final = re.compile(r"\s*#")
_BLOCK: Final = ("|", ">", "&", "*", "!")


@dataclass(frozen=True, slots=True, eq=False)
class TemplateEdit:
    """Lines of a template that are replaced, and the edits of objects that they make.

    file: as messages have it; template: its path in the chart; start, end: the lines that go, from
    0, none where the two are equal; lines: what comes in their place, without line ends.
    """

    file: str
    template: str
    start: int
    end: int
    lines: tuple[str, ...]
    users: tuple[tuple[Subject, Edit], ...]


_Unit = ValueEdit | TemplateEdit


@dataclass(slots=True)
class ChartEdits:
    """The edits of all charts of a scan. objects: all of the scan; bad: the faults of each."""

    objects: Sequence[Resource]
    bad: Sequence[frozenset[RuleKey]]
    judging: Judging
    files: SourceFiles
    _charts: dict[int, Chart] = field(default_factory=dict)
    _texts: list[FileText] = field(default_factory=list)
    _made: dict[int, Resource] = field(default_factory=dict)

    def batch(self, subjects: Sequence[Subject]) -> Batch:
        """Return the edits for objects of charts; what cannot be edited stays open."""
        for number, resource in enumerate(self.objects):
            places = resource.location.places
            if isinstance(places, TemplatePlaces):
                chart = self._charts.setdefault(id(places.chart), Chart(places.chart))
                chart.numbers.append(number)
        units: dict[tuple[object, ...], _Unit] = {}
        for subject in subjects:
            chart = self._charts[id(places_of(subject.given).chart)]
            value_edits, failed = chart.value_edits(subject)
            asked = [edit for edit in subject.edits if edit.steps in failed]
            by_template = [edit for edit in asked if failed[edit.steps].text == WRITTEN]
            in_templates = template_edits(subject, by_template)
            done = {edit.steps for unit in in_templates for _, edit in unit.users}
            subject.settle({steps: reason for steps, reason in failed.items() if steps not in done})
            made: list[_Unit] = [*value_edits, *in_templates]
            for unit in made:
                first = units.setdefault(_key(unit), unit)
                if first is not unit:
                    units[_key(unit)] = replace(first, users=(*first.users, *unit.users))
        # Those that cannot be made together with others stay open.
        left = _in_use([*units.values()])
        while left:
            kept = most_of(left, self._works)
            for unit in left:
                if unit not in kept:
                    for subject, edit in unit.users:
                        subject.settle({edit.steps: self._reason(unit, subject, edit)})
            before, left = left, _in_use(kept)
            if len(left) == len(before):
                break
        if not left or not self._works(left):
            self._texts, self._made = [], {}
        return Batch(subjects, self._texts, self._made)

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
        """The edited files, and the values of those with values; InputError, NoPlaceError."""
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
        lines = gathered((edit.file, edit) for edit in units if isinstance(edit, TemplateEdit))
        for name, edits in lines.items():
            chart = places_of(edits[0].users[0][0].given).chart
            path, text = self.files.text(Source(name, chart.text(edits[0].template)))
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
    """Return the key that edits of one kind and place share."""
    if isinstance(unit, TemplateEdit):
        return unit.file, unit.start, unit.end, unit.lines
    return unit.file, unit.steps, repr(unit.value)


def _in_use(units: Sequence[_Unit]) -> list[_Unit]:
    """Return the edits of values that make edits which objects still have."""
    return [
        unit
        for unit in units
        if any(edit.steps in {kept.steps for kept in subject.edits} for subject, edit in unit.users)
    ]


def template_edits(subject: Subject, edits: Iterable[Edit]) -> list[TemplateEdit]:
    """Return the edits of templates that should make edits of an object. Fields are added beside
    fields of their own mapping that a line has, in the same block of Helm code; values are replaced
    where a line has them whole."""
    writer = _Writer(subject)
    missing: dict[Steps, list[Edit]] = {}
    edits_made: list[TemplateEdit | None] = []
    for edit in edits:
        depth = len(edit.steps)
        while depth and pointed_at(subject.given.body, edit.steps[:depth]) in (None, {}):
            depth -= 1
        if depth == len(edit.steps):
            edits_made.append(writer.replacement(edit))
        else:
            missing.setdefault(edit.steps[: depth + 1], []).append(edit)
    edits_made += [writer.addition(top, group) for top, group in missing.items()]
    return [made for made in edits_made if made is not None]


@dataclass(frozen=True, slots=True)
class _Writer:
    """The edits of templates for one object."""

    subject: Subject

    def replacement(self, edit: Edit) -> TemplateEdit | None:
        """Return the edit of the line that has a field with its value; None without one."""
        place = self._place(edit.steps)
        old = pointed_at(self.subject.given.body, edit.steps)
        if place is None or isinstance(old, dict | list) or isinstance(edit.value, dict | list):
            return None
        line = _line_pattern(edit.steps[-1], r"\s+(?P<value>\S.*?)(?P<comment>\s+#.*)?").fullmatch(
            place.line.text.rstrip()
        )
        if line is None or line["value"].startswith(_BLOCK) or OPEN in line["value"]:
            return None
        at = place.line.number
        if edit.value is DELETE:
            return None if line["dash"] else self._edit(place, (at - 1, at), "", [edit])
        value = dump_yaml({"": edit.value}).removeprefix("'':").strip()
        text = f"{line['before']} {value}{line['comment'] or ''}"
        return self._edit(place, (at - 1, at), text, [edit])

    def addition(self, top: Steps, edits: Sequence[Edit]) -> TemplateEdit | None:
        """Return the edit that adds a field beside others; None where no line has one of them."""
        *above, name = top
        mapping = pointed_at(self.subject.given.body, above)
        parent = self._place(above)
        value: Json = None
        try:
            for edit in edits:
                value = changed(value, edit.steps[len(top) :], edit.value)
        except NoPlaceError:
            return None
        if not isinstance(mapping, dict) or parent is None:
            return None
        if name in mapping:
            # The edit of the line that has a field with an empty mapping; None without one.
            place = self._place(top)
            line = (
                _line_pattern(top[-1], r"\s*\{\}\s*").fullmatch(place.line.text) if place else None
            )
            if place is None or line is None or line["dash"]:
                return None
            text = indent(dump_yaml({top[-1]: value}).rstrip("\n"), line["space"])
            return self._edit(place, (place.line.number - 1, place.line.number), text, edits)
        places = (self._place((*above, key)) for key in mapping)
        beside = [
            (place, line)
            for place in places
            if place is not None
            and (place.template, place.line.depth) == (parent.template, parent.line.depth)
            and (
                line := _line_pattern(place.path[-1], r"(?P<value>\s.*)?").fullmatch(
                    place.line.text
                )
            )
        ]
        # The first field of an item of a list stands behind a dash.
        for place, line in sorted(beside, key=lambda pair: bool(pair[1]["dash"])):
            width = len(line["space"]) + (_ITEM if line["dash"] else 0)
            text = indent(dump_yaml({name: value}).rstrip("\n"), " " * width)
            shown = (line["value"] or "").strip()
            if not line["dash"]:
                # The line, from 0, at which what is about a field begins: its comments.
                at = place.line.number - 1
                lines = places_of(self.subject.given).chart.text(place.template).split("\n")
                while at and _COMMENT.match(lines[at - 1]):
                    at -= 1
                return self._edit(place, (at, at), text, edits)
            if shown and not shown.startswith(_BLOCK) and not place.line.is_open:
                at = place.line.number
                return self._edit(place, (at, at), text, edits)
        return None

    def _place(self, steps: Sequence[str]) -> FieldPlace | None:
        """Return the place of a field in a template of the chart, or of a chart beside it."""
        places = places_of(self.subject.given)
        path = (*pointer_steps(self.subject.given.location.path), *steps)
        place = places.chart.find(places.name, places.number, path)
        if place is None or place.path != path or places.chart.is_vendored(place.template):
            return None
        return place

    def _edit(
        self, place: FieldPlace, span: tuple[int, int], text: str, edits: Sequence[Edit]
    ) -> TemplateEdit | None:
        if OPEN in text:
            return None
        file = places_of(self.subject.given).chart.files.name(place.template)
        lines = tuple(text.split("\n")) if text else ()
        users = tuple((self.subject, edit) for edit in edits)
        return TemplateEdit(file, place.template, *span, lines, users)


def with_lines(text: str, edits: Iterable[TemplateEdit]) -> str:
    """Return a template's text with edits. Raise NoPlaceError for two of the same lines."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    before = len(lines) + 1
    for edit in sorted(edits, key=lambda change: (change.start, change.end), reverse=True):
        if edit.end > before or edit.start > len(lines):
            raise NoPlaceError
        if edit.lines and edit.start == len(lines) and not lines[-1].endswith("\n"):
            lines[-1] += end
        lines[edit.start : edit.end] = [line + end for line in edit.lines]
        before = edit.start
    return "".join(lines)


def _line_pattern(name: str, rest: str) -> re.Pattern[str]:
    """Return the pattern of a line that begins with a key."""
    key = rf"(?P<space> *)(?P<dash>- +)?(?P<quote>[\"']?){re.escape(name)}(?P=quote)"
    return re.compile(rf"(?P<before>{key}\s*:){rest}")
