"""The files of a folder that have values of Kyverno's charts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from chartkit.documents.embedded import embedded_mapping
from chartkit.documents.input_files import read_bytes
from chartkit.documents.reader import Document, read_file
from chartkit.documents.unread import UNREADABLE, exclusion
from chartkit.errors import InputError
from chartkit.kyverno.matrix import CLUSTERS_ANNOTATION
from chartkit.model import Body, Diagnostic, Location, Severity, mapping_at, mappings_at, text_of
from chartkit.values.moved import ENGINE, POLICIES, REPORTER, REPORTERS_OWN, is_engine_values
from chartkit.wording import abridged, counted

_CHART_FILE: Final = "Chart.yaml"
_DEFAULTS: Final = "values.yaml"
_OF_CHARTS: Final = frozenset({"templates", "crds", "charts"})
"""The folders of a chart without values of its user."""

_RELEASES: Final = (b"kind: HelmRelease", b"kind: Application")


def chart_of(file: Path, chart: Path | None) -> Body:
    """Return the Chart.yaml of a chart, or the one next to a values file; empty for none."""
    path = (chart or file.parent) / "Chart.yaml"
    documents = read_file(path) if path.is_file() else []
    body = documents[0].body if documents else None
    return body if isinstance(body, dict) else {}


def engine_keys(chart: Body) -> list[str]:
    """Return the keys below which a chart takes values for Kyverno's chart, on which it depends."""
    return [
        text_of(dependency.get("alias")) or ENGINE
        for dependency in mappings_at(chart, "dependencies")
        if dependency.get("name") == ENGINE
    ]


def part_of(document: Document, key: str) -> Document:
    """Return the values below a key of a document, with their places."""
    body = document.body if isinstance(document.body, dict) else {}
    part = body.get(key)
    values = part if isinstance(part, dict) else {}
    return embedded_mapping(values, document.source.file, document, (key,))


def of_another_chart(chart: Body, overlays: Sequence[Document]) -> Diagnostic | None:
    """Return the note about values of a chart that is not Kyverno's and does not depend on it; None
    where they may be Kyverno's."""
    name = text_of(chart.get("name"))
    keys = {key for overlay in overlays if isinstance(overlay.body, dict) for key in overlay.body}
    if not name and not keys.isdisjoint(REPORTERS_OWN):
        name = REPORTER
    if not name or name == ENGINE:
        return None
    message = f"these are values of the chart '{name}', not of Kyverno's: they are not checked"
    hint = "--chart FOLDER names the chart"
    return Diagnostic("helm", Severity.NOTE, message, overlays[-1].location, hint)


@dataclass(slots=True)
class FolderValues:
    """The files of folders that have values of Kyverno's charts.

    declares: whether documents declare releases with values; files: with values, also those that
    cannot be read; objects: the documents of the files with other objects; defaults: the files with
    the defaults of Kyverno's own chart; others: the files with none of these.
    """

    declares: Callable[[Sequence[Document]], bool]
    files: list[Path] = field(default_factory=list)
    objects: dict[Path, Sequence[Document]] = field(default_factory=dict)
    defaults: list[Path] = field(default_factory=list)
    others: list[Path] = field(default_factory=list)

    def add(self, folder: Path) -> None:
        """Sort in the files below a folder; raise InputError where none has values."""
        before = len(self.files) + len(self.defaults)
        excludes = exclusion(folder)
        for here, folders, names in os.walk(folder):
            passed = _OF_CHARTS if _CHART_FILE in names else frozenset()
            folders[:] = sorted(
                name
                for name in folders
                if name[0] != "." and name not in passed and not excludes(Path(here, name), True)
            )
            for name in sorted(names):
                file = Path(here, name)
                is_wanted = file.suffix in (".yaml", ".yml") and name != _CHART_FILE
                if is_wanted and name[0] != "." and file.is_file() and not excludes(file):
                    self._add_file(file)
        if len(self.files) + len(self.defaults) == before:
            hint = "name the values files"
            raise InputError("holds no values of Kyverno's charts", Location(str(folder)), hint)

    def _add_file(self, file: Path) -> None:
        try:
            documents = read_file(file)
            declares = self.declares(documents)
        except UNREADABLE:
            # The row comes where the file is checked.
            (self.files if _may_be_kyvernos(file) else self.others).append(file)
            return
        if declares or _has_values(file, documents):
            (self.defaults if _has_defaults(file) else self.files).append(file)
        elif any(isinstance(item.body, dict) and "apiVersion" in item.body for item in documents):
            self.objects[file] = documents
        else:
            self.others.append(file)

    def left_out(self) -> Iterator[Diagnostic]:
        """Yield the notes about the files that are left out, if there are any."""
        for file in self.defaults:
            message = "has the defaults of Kyverno's own chart, and is not checked"
            yield Diagnostic("helm", Severity.NOTE, message, Location(str(file)), "name it as PATH")
        if self.others:
            files = abridged([str(path) for path in self.others])
            message = f"{counted(len(self.others), 'file')} without values of Kyverno's charts"
            yield Diagnostic("helm", Severity.NOTE, f"{message}: {files}")


def _may_be_kyvernos(file: Path) -> bool:
    """Report whether a file that is not YAML may have values of Kyverno's charts: those of its
    name, and those of a release that an object declares."""
    is_named = file.name.startswith("values")
    try:
        content = read_bytes(file).replace(b"\0", b"")
    except InputError:
        return is_named
    is_named = is_named or any(kind in content for kind in _RELEASES)
    return is_named and (b"Controller" in content or b"kyverno" in content)


def _has_defaults(file: Path) -> bool:
    """Report whether a values file is that of Kyverno's own chart, as Kyverno publishes it."""
    try:
        chart = chart_of(file, None) if file.name == _DEFAULTS else {}
    except InputError:
        return False
    is_generated = CLUSTERS_ANNOTATION in mapping_at(chart, "annotations")
    return chart.get("name") == ENGINE and not (is_generated or engine_keys(chart))


def _has_values(file: Path, documents: Sequence[Document]) -> bool:
    """Report whether a file has values of Kyverno's charts, by the chart beside it or keys."""
    body = documents[0].body if len(documents) == 1 else None
    if not isinstance(body, dict) or "apiVersion" in body:
        return False
    try:
        chart = chart_of(file, None)
    except InputError:
        chart = {}
    if chart.get("name") in (ENGINE, POLICIES):
        return file.name.startswith("values")
    keys = engine_keys(chart)
    if keys:
        return any(isinstance(body.get(key), dict) for key in keys)
    return not chart and is_engine_values(body, named=False)
