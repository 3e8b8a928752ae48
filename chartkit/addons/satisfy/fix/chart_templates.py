"""Edits of the lines of a chart's templates that are plain YAML, without Helm code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import indent
from typing import Final

from chartkit.addons.satisfy.changes import DELETE
from chartkit.addons.satisfy.fix.chart_values import places_of
from chartkit.addons.satisfy.fix.model import Edit, NoPlaceError, Steps, Subject, changed
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.helm.syntax import OPEN
from chartkit.helm.template_places import FieldPlace
from chartkit.model import Json, pointed_at, pointer_steps

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


def template_edits(subject: Subject, edits: Iterable[Edit]) -> list[TemplateEdit]:
    """Return the edits of templates that should make edits of an object. Fields are added beside
    fields of their own mapping that a line has, in the same block of Helm code; values are replaced
    where a line has them whole."""
    writer = _Writer(subject)
    missing: dict[Steps, list[Edit]] = {}
    found: list[TemplateEdit | None] = []
    for edit in edits:
        depth = len(edit.steps)
        while depth and pointed_at(subject.given.body, edit.steps[:depth]) in (None, {}):
            depth -= 1
        if depth == len(edit.steps):
            found.append(writer.replacement(edit))
        else:
            missing.setdefault(edit.steps[: depth + 1], []).append(edit)
    found += [writer.addition(top, group) for top, group in missing.items()]
    return [each for each in found if each is not None]


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
        line = _key(edit.steps[-1], r"\s+(?P<value>\S.*?)(?P<comment>\s+#.*)?").fullmatch(
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
            return self._filling(top, value, edits)
        places = (self._place((*above, key)) for key in mapping)
        beside = [
            (place, line)
            for place in places
            if place is not None
            and (place.template, place.line.depth) == (parent.template, parent.line.depth)
            and (line := _key(place.path[-1], r"(?P<value>\s.*)?").fullmatch(place.line.text))
        ]
        # The first field of an item of a list stands behind a dash.
        for place, line in sorted(beside, key=lambda each: bool(each[1]["dash"])):
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

    def _filling(self, top: Steps, value: Json, edits: Sequence[Edit]) -> TemplateEdit | None:
        """Return the edit of the line that has a field with an empty mapping; None without one."""
        place = self._place(top)
        line = _key(top[-1], r"\s*\{\}\s*").fullmatch(place.line.text) if place else None
        if place is None or line is None or line["dash"]:
            return None
        text = indent(dump_yaml({top[-1]: value}).rstrip("\n"), line["space"])
        return self._edit(place, (place.line.number - 1, place.line.number), text, edits)

    def _place(self, steps: Sequence[str]) -> FieldPlace | None:
        """Return the place of a field in a template of the chart, or of a chart beside it."""
        places = places_of(self.subject.given)
        path = (*pointer_steps(self.subject.given.location.path), *steps)
        found = places.chart.find(places.name, places.number, path)
        if found is None or found.path != path or places.chart.is_vendored(found.template):
            return None
        return found

    def _edit(
        self, place: FieldPlace, span: tuple[int, int], text: str, edits: Sequence[Edit]
    ) -> TemplateEdit | None:
        if OPEN in text:
            return None
        file = places_of(self.subject.given).chart.file(place.template)
        lines = tuple(text.split("\n")) if text else ()
        users = tuple((self.subject, edit) for edit in edits)
        return TemplateEdit(file, place.template, *span, lines, users)


def with_lines(text: str, edits: Iterable[TemplateEdit]) -> str:
    """Return a template's text with edits. Raise NoPlaceError for two of the same lines."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    before = len(lines) + 1
    for edit in sorted(edits, key=lambda each: (each.start, each.end), reverse=True):
        if edit.end > before or edit.start > len(lines):
            raise NoPlaceError
        if edit.lines and edit.start == len(lines) and not lines[-1].endswith("\n"):
            lines[-1] += end
        lines[edit.start : edit.end] = [line + end for line in edit.lines]
        before = edit.start
    return "".join(lines)


def _key(name: str, rest: str) -> re.Pattern[str]:
    """Return the pattern of a line that begins with a key."""
    key = rf"(?P<space> *)(?P<dash>- +)?(?P<quote>[\"']?){re.escape(name)}(?P=quote)"
    return re.compile(rf"(?P<before>{key}\s*:){rest}")
