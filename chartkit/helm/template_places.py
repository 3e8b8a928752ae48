"""The places of a manifest's fields in the templates of a chart, and of the values they show.

A chart is rendered once more with a comment at the end of each line of its templates, when a place
is first requested. What comes out has to be the same objects, and then the comments tell the lines.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from json import dumps
from pathlib import Path
from typing import Any, Final

from chartkit.documents.input_files import is_file
from chartkit.documents.reader import Document, Source, read_file, read_source, read_text
from chartkit.errors import ChartkitError
from chartkit.helm.backend import helm
from chartkit.helm.chart_values import merge
from chartkit.helm.model import Target
from chartkit.helm.staging import chart_entries, write_copy
from chartkit.helm.template_lines import TemplateLine, marked, marks, template_lines
from chartkit.model import Body, Json, Location, Places, item_number, pointer_of
from chartkit.temporary import temporary_folder

_ROUNDS: Final = 4
"""Renders, each without the comments that became part of a value in the one before."""
_SUBCHART: Final = re.compile(r"charts/([^/]+)/")
_IN_CHARTS: Final = re.compile(r"((?:charts/[^/]+/)*)(charts/[^/]+/.+)")
_MISSING: Final = object()
Rendered = Mapping[str, Sequence[Document]]
"""The documents of each rendered text, by the template's path in the chart."""


@dataclass(frozen=True, slots=True)
class RenderInputs:
    """The inputs of a chart's render: its folder, the folder that messages name, the user's values
    with the files that they come from, and the release."""

    folder: Path
    shown: Path
    values: Body
    documents: Sequence[Document]
    target: Target


@dataclass(frozen=True, slots=True)
class TemplatePlaces(Places):
    """The places of the fields of one rendered document. name: its template's path in the chart;
    number: the document's in the text; begin: the place of the object, for fields without one."""

    chart: ChartPlaces
    name: str
    number: int
    begin: Location

    def locate(self, *path: str | int) -> Location:
        """Return the line of a template that gave the field at a path, or its nearest parent."""
        field = self.chart.find(self.name, self.number, [str(step) for step in path])
        if field is None:
            return replace(self.begin, places=self)
        return Location(
            self.chart.files.name(field.template),
            field.line.number,
            field.column,
            pointer_of(*field.path),
            self,
        )

    def value_of(self, *path: str | int) -> Location | None:
        """Return the place of the chart's value that the field at a path shows, or its nearest
        existing parent; None where that is unknown."""
        body = self.chart.document(self.name, self.number)
        steps = [str(step) for step in path]
        while steps and _at(body, steps) is _MISSING:
            steps.pop()
        field_place = self.chart.find(self.name, self.number, steps)
        if field_place is None or len(field_place.path) < len(steps):
            return None
        return self.chart.value_of(field_place, _at(body, steps))


class ChartFiles:
    """The files of a chart and of the charts beside it on which it depends, by their paths in it.
    folder: of the chart; shown: the folder that messages name."""

    def __init__(self, folder: Path, shown: Path) -> None:
        self._folder = folder
        self.shown = shown

    def name(self, name: str) -> str:
        """Return the name of a file in messages."""
        path = self.path(name)
        if path == self._folder / name:
            return str(self.shown / name)
        return os.path.normpath(self.shown / os.path.relpath(path, os.path.realpath(self._folder)))

    def path(self, name: str) -> Path:
        """Return the file of a path in the chart, which a chart beside it may have."""
        own = self._folder / name
        return own if is_file(own) else Path(self._beside.get(name, own))

    @cached_property
    def _beside(self) -> Mapping[str, str]:
        try:
            listed = chart_entries(self._folder)
        except (ChartkitError, OSError):
            return {}
        return {entry.name: entry.path for entry in listed if not entry.folder}


class ChartPlaces:
    """The places in one chart."""

    def __init__(self, inputs: RenderInputs, originals: Rendered, files: ChartFiles) -> None:
        """inputs: of the render; originals: what it gave, by template."""
        self.inputs = inputs
        self.files = files
        self._originals = originals
        self.templates = list(originals)
        self._values: dict[tuple[str, ...], ScopedValues] = {}

    def only(self, names: Iterable[str]) -> ChartPlaces:
        """Return the places in some templates alone."""
        return ChartPlaces(self.inputs, {name: self._originals[name] for name in names}, self.files)

    def document(self, name: str, number: int) -> Json:
        """Return the value of a template's document."""
        return self._originals[name][number].body

    def find(self, name: str, number: int, path: Sequence[str]) -> FieldPlace | None:
        """Return the place of a field of a template's document, or of its nearest parent that has
        one; None where none has."""
        rendered = self._rendered.get(name)
        steps = list(path) if rendered else []
        while rendered and steps:
            location = rendered.documents[number].locate(*steps)
            steps = steps[: location.path.count("/")]
            origin = rendered.origins[location.line - 1] if steps else None
            if origin is not None:
                file, line = self.templates[origin[0]], self._templates[origin[0]][origin[1] - 1]
                return FieldPlace(file, line, tuple(steps))
            steps = steps[:-1]
        return None

    def value_of(self, field: FieldPlace, value: Json) -> Location | None:
        """Return the place of the one value of the chart that a field shows, by its template's line
        and by being equal; path: its key; None where that is unknown."""
        key = field.line.value_key
        if key is None:
            return None
        values = self.values_of(field.template)
        for count in range(len(field.path) + 1):
            whole = (*key, *field.path[len(field.path) - count :])
            current = _at(values.merged, whole)
            if _shows(value, current):
                return values.locate(whole, current)
        return None

    def values_of(self, template: str) -> ScopedValues:
        """Return the values of the chart or subchart that a template is in."""
        scope = tuple(_SUBCHART.findall(template))
        if scope not in self._values:
            inputs = self.inputs
            layers = [(document, 0) for document in inputs.documents]
            merged: Json = dict(inputs.values)
            inside = ""
            for above, name in enumerate(("", *scope)):
                inside += f"charts/{name}/" if name else ""
                merged = merged.get(name) if name else merged
                values = f"{inside}values.yaml"
                file = self.files.path(values)
                for document in read_file(file)[:1] if is_file(file) else ():
                    shown = Source(self.files.name(values), document.source.text)
                    layers.insert(0, (replace(document, source=shown), above))
                    if isinstance(document.body, dict):
                        merged = merge(document.body, merged if isinstance(merged, dict) else {})
                if not isinstance(merged, dict):
                    break
            self._values[scope] = ScopedValues(scope, merged, layers)
        return self._values[scope]

    @cached_property
    def _templates(self) -> list[list[TemplateLine]]:
        return [template_lines(self.text(name)) for name in self.templates]

    def text(self, name: str) -> str:
        """Return the text of a template, by its path in the chart."""
        return read_source(self.files.path(name))

    def is_vendored(self, name: str) -> bool:
        """Report whether a template is part of a chart in the `charts/` of another, not beside."""
        match = _IN_CHARTS.fullmatch(name)
        if match is None:
            return False
        return self.files.path(name) == self.files.path(f"{match[1]}Chart.yaml").parent / match[2]

    @cached_property
    def _rendered(self) -> Mapping[str, _Rendered]:
        """The texts whose marks are known to be comments."""
        passed_over: dict[int, set[int]] = {}
        try:
            for _ in range(_ROUNDS):
                # Render the chart with marks; passed_over: the lines without one.
                inputs = self.inputs
                with temporary_folder() as parent:
                    folder = parent / (inputs.folder.resolve().name or "chart")
                    write_copy(
                        inputs.folder,
                        folder,
                        {
                            name: marked(self.text(name), number, passed_over.get(number, ()))
                            for number, name in enumerate(self.templates)
                        },
                    )
                    files = helm().render(folder, inputs.values, inputs.target).files
                texts = {name.partition("/")[2]: text for name, text in files.items()}
                swallowed = set[tuple[int, int]]()
                rendered: dict[str, _Rendered] = {}
                for name, originals in self._originals.items():
                    # The documents of a marked text; none where a mark broke it.
                    try:
                        documents: Sequence[Document] = read_text(texts.get(name, ""))
                    except ChartkitError:
                        documents = ()
                    swallowed.update(_swallowed(document.body for document in documents))
                    if _same_shapes(originals, documents):
                        rendered[name] = _Rendered(documents, self._origins(texts[name]))
                if not swallowed:
                    return rendered
                for file, line in swallowed:
                    passed_over.setdefault(file, set()).add(line)
        except (ChartkitError, OSError):
            pass
        return {}

    def _origins(self, text: str) -> list[tuple[int, int] | None]:
        """Return the file and line of a template that each line of a marked text comes from."""
        origins: list[tuple[int, int] | None] = []
        before, pending = (-1, 0), 0
        for line in text.split("\n"):
            numbers = marks(line)
            pending += 1
            if numbers:
                mark = numbers[0]
                whole = pending == 1 or self._gave_several(before, mark)
                origins += [mark if whole else None] * (pending - 1) + [mark]
                before, pending = numbers[-1], 0
        return origins + [None] * pending

    def _gave_several(self, before: tuple[int, int], mark: tuple[int, int]) -> bool:
        """Report whether one line gave all lines since another mark."""
        file, line = mark
        first = before[1] if before[0] == file else 0
        between = self._templates[file][first : line - 1]
        return first < line and not any(template_line.content for template_line in between)


@dataclass(frozen=True, slots=True)
class FieldPlace:
    """The place of a field: its template, the line, and the steps of its path that exist there."""

    template: str
    line: TemplateLine
    path: tuple[str, ...]

    @property
    def column(self) -> int:
        """The column (from 1) of the field's key; 0 where the line has the key twice or never."""
        key = re.compile(rf"(?<![\w.-])[\"']?{re.escape(self.path[-1])}[\"']?:(?=\s|$)")
        columns = [match.start() + 1 for match in key.finditer(self.line.text)]
        return columns[0] if len(columns) == 1 else 0


@dataclass(frozen=True, slots=True)
class _Rendered:
    """A marked text: its documents, and the template's file and line of each of its lines."""

    documents: Sequence[Document]
    origins: Sequence[tuple[int, int] | None]


@dataclass(frozen=True, slots=True)
class ScopedValues:
    """The values of a chart or subchart; scope: the subcharts' names; layers: the files, the last
    wins, each with the number of the scope's names that it leaves out."""

    scope: tuple[str, ...]
    merged: Json
    layers: Sequence[tuple[Document, int]]

    def source(self, key: Sequence[str], value: Json) -> tuple[Document, tuple[str, ...]] | None:
        """Return the last file that has a key, and its path there; None where no file gives it."""
        whole = (*self.scope, *key)
        for document, above in reversed(self.layers):
            current = _at(document.body, whole[above:])
            if current is not _MISSING:
                return (document, whole[above:]) if current == value else None
        return None

    def locate(self, key: Sequence[str], value: Json) -> Location:
        """Return the place of a key in the last file that has it; its path is the key below the
        values of the whole chart."""
        pointer = pointer_of(*self.scope, *key)
        source = self.source(key, value)
        if source is None:
            return Location("<values>", path=pointer)
        document, steps = source
        return replace(document.locate(*steps), path=pointer)


def _at(value: Json, path: Sequence[str]) -> Json:
    """Return the value at a path, _MISSING without one."""
    for step in path:
        index = item_number(step)
        if isinstance(value, list) and index is not None and index < len(value):
            value = value[index]
        elif isinstance(value, dict) and step in value:
            value = value[step]
        else:
            return _MISSING
    return value


def _shows(field: Json, value: Json) -> bool:
    """Report whether a field is a chart's value, as it is or in quotes."""
    if value is _MISSING or value is None:
        return False
    if type(field) is type(value):
        return bool(field == value)
    return isinstance(field, str) and not isinstance(value, dict | list) and field == dumps(value)


def _swallowed(values: Iterable[Json]) -> Iterator[tuple[int, int]]:
    """Yield the marks that are part of texts or keys."""
    todo = list(values)
    while todo:
        value = todo.pop()
        if isinstance(value, str):
            yield from marks(value)
        elif isinstance(value, dict):
            todo += [*value, *value.values()]
        elif isinstance(value, list):
            todo += value


def _same_shapes(before: Sequence[Document], after: Sequence[Document]) -> bool:
    """Report whether documents have the same fields of the same types. Values may differ: random
    ones, and digests of other templates."""
    pairs: list[tuple[Any, Any]] = [
        ([document.body for document in before], [document.body for document in after])
    ]
    while pairs:
        old, new = pairs.pop()
        if type(old) is not type(new) or (isinstance(old, dict | list) and len(old) != len(new)):
            return False
        if isinstance(old, dict):
            if old.keys() != new.keys():
                return False
            pairs += [(value, new[key]) for key, value in old.items()]
        elif isinstance(old, list):
            pairs += zip(old, new, strict=True)
    return True
