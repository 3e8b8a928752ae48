"""The facts of the steps of an upgrade, and the objects and values that each concerns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from chartkit.documents.reader import Document, read_file
from chartkit.kyverno.known_faults import Change, ChangeKind, announced, changes, known_faults
from chartkit.kyverno.matrix import matrix
from chartkit.kyverno.releases import ReleaseData
from chartkit.kyverno.versions import Release, Version, parse_release
from chartkit.model import FieldPath, Location, Resource, value_at
from chartkit.project.environment import Environment
from chartkit.project.project import Project
from chartkit.scan.gitops.model import DeclaredRelease, Repository
from chartkit.scan.inputs import Note

_ENGINE: Final = "kyverno"
Values = Sequence[Document]
"""The values of one release of Kyverno's chart; the last document wins."""


@dataclass(slots=True, eq=False)
class Fact:
    """A change of a step, or a fault that it brings, and what it concerns: objects, and settings of
    the chart's values by their keys; is_asked: false for what no object and no value decides."""

    change: Change
    objects: list[Resource] = field(default_factory=list)
    settings: list[tuple[str, Location]] = field(default_factory=list)
    is_asked: bool = True

    @property
    def hits(self) -> bool:
        """Report whether the fact concerns an object or a setting."""
        return bool(self.objects or self.settings)

    def ask(self, releases: Sequence[Values]) -> None:
        """Ask it of the values of the releases of Kyverno's chart, once all objects were asked."""
        change = self.change
        if not change.keys:
            self.is_asked = change.concerned is not None
            return
        for documents in releases:
            settings = [*filter(None, (_setting(documents, key) for key in change.keys))]
            if change.is_default and not settings:
                name = ".".join(map(str, change.keys[0]))
                self.settings.append((f"{name} is not set", documents[-1].location))
            elif not change.is_default:
                self.settings += settings
        if change.concerned is None:
            self.is_asked = bool(releases)
        elif not self.objects or (releases and not self.settings):
            self.objects, self.settings = [], []


def _setting(documents: Values, key: FieldPath) -> tuple[str, Location] | None:
    """Return a key of values with its location in the last document that has it."""
    for document in reversed(documents):
        if value_at(document.body, key) is not None:
            return ".".join(map(str, key)), document.locate(*key)
    return None


@dataclass(frozen=True, slots=True)
class Step:
    """An upgrade of Kyverno to the next minor version, or, where both are one version, what is
    known of the release that runs; announcement: that there is no release yet, else empty."""

    before: Version
    after: Version
    facts: Sequence[Fact]
    announcement: str = ""

    @property
    def title(self) -> str:
        """The step in words."""
        runs = self.before == self.after
        return f"Kyverno {self.before}" + (", as it runs" if runs else f" → {self.after}")


def steps_between(
    start: Version, release: Release | None, target: Version, data: ReleaseData
) -> Sequence[Step]:
    """Return what is known of the release that runs, None for the newest of its version, and the
    steps from there to another version."""
    upcoming = announced(data)
    runs = release or _newest(start, data)
    facts = [*changes(data).get(start, ()), *_faults(runs, None, data)]
    # Of the faults that it has anyway those count that an object shows.
    known = [
        change
        for change in facts
        if (change.kind is ChangeKind.FAULT and change.concerned) or _is_later(change, release)
    ]
    steps = [Step(start, start, [*map(Fact, known)])]
    for version in (*matrix(data), *upcoming):
        if start < version <= target:
            newest, announcement = _newest(version, data), upcoming.get(version)
            changed = announcement.changes if announcement else changes(data).get(version, ())
            facts = [each for each in changed if each.kind is not ChangeKind.ADDED]
            facts += _faults(newest, runs, data)
            before = steps[-1].after
            steps.append(Step(before, version, [*map(Fact, facts)], str(announcement or "")))
            runs = newest or runs
    return steps


def _newest(version: Version, data: ReleaseData) -> Release | None:
    row = matrix(data).get(version)
    newest = None if row is None else row.newest_release
    return None if newest is None else newest[0]


def _is_later(change: Change, release: Release | None) -> bool:
    """Report whether a later release of a minor version than the one that runs brings a change."""
    since = parse_release(change.release)
    return release is not None and since is not None and release < since


def _faults(release: Release | None, before: Release | None, data: ReleaseData) -> Iterator[Change]:
    """Yield the faults of a release that another one does not have."""
    for fault in known_faults(data):
        if release is not None and fault.is_in(release) and not fault.is_in(before):
            yield fault.as_change(release)


def environment_values(project: Project, environment: Environment) -> Values:
    """Return the values that an environment has for the engine's chart; none where the project does
    not install it."""
    folder = project.charts / _ENGINE
    files = [each.path for each in environment.engine_values]
    files += [folder / name for name in environment.values_files]
    installed = [file for file in files if environment.engine and file.is_file()]
    return [document for file in installed for document in read_file(file)]


def declared_values(objects: Sequence[Resource], note: Note) -> Iterator[Values]:
    """Yield the values of each release of Kyverno's chart that objects of Argo CD or Flux declare;
    note: called for those that cannot be read."""
    folders = sorted({Path(each.location.file).parent for each in objects})
    for _, documents in engine_releases(objects, folders, note):
        if documents:
            yield documents


def engine_releases(
    objects: Sequence[Resource], folders: Sequence[Path], note: Note
) -> Iterator[tuple[DeclaredRelease, Values]]:
    """Yield the releases of Kyverno's chart that objects of Argo CD or Flux declare, each with its
    values; folders: in which files of values are looked for, besides the repository; note: called
    for what cannot be read."""
    from chartkit.scan.gitops.releases import checkout_of, declared_releases, values_documents

    for release in declared_releases(objects, Repository(folders, checkout_of), note):
        if release.is_engine:
            for fault in release.faults:
                note(fault)
            yield release, values_documents(release)
