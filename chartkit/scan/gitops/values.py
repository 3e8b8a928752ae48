"""The values of releases that objects declare, for checks of values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from chartkit.documents.reader import Document, read_file, read_text
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.model import Diagnostic, Severity
from chartkit.scan.gitops.model import RULE, DeclaredRelease, Repository, add_faults
from chartkit.scan.gitops.releases import checkout_of, declared_releases, declares_release
from chartkit.scan.inputs import Note, is_chart, objects_of


@dataclass(frozen=True, slots=True)
class ReleasedValues:
    """The values of a release. chart: the folder of its chart, None for Kyverno's engine; is_known:
    whether its values can be checked, else `unknown` says why not."""

    release: DeclaredRelease
    documents: tuple[Document, ...]
    chart: Path | None
    is_known: bool

    @property
    def unknown(self) -> Diagnostic:
        """The note about values of a chart that is not here."""
        message = (
            f"{self.release.name}: the chart '{self.release.chart}' is not here: its values are "
            "not checked"
        )
        location = self.release.owner.location.within(self.release.pointer)
        return Diagnostic(RULE, Severity.NOTE, message, location, "--chart FOLDER names it")


def declares_releases(documents: Sequence[Document]) -> bool:
    """Report whether any document is an object that declares releases."""
    return any(map(declares_release, objects_of(documents)))


def released_values(
    documents: Sequence[Document], files: Mapping[Path, Sequence[Document]], note: Note
) -> Iterator[ReleasedValues]:
    """Yield the values of the releases that documents declare; files: in which ConfigMaps and
    Secrets are looked for, too; note is called for what cannot be found."""
    own = objects_of(documents)
    others = [resource for each in files.values() for resource in objects_of(each)]
    configs = [resource for resource in others if not declares_release(resource)]
    repository = Repository(sorted({file.parent for file in files}), checkout_of)
    for release in declared_releases([*own, *configs], repository, note):
        if release.is_engine:
            add_faults(release)
        folder = None if release.origin else repository.find(release.owner, release.chart)
        folder = folder if folder is not None and is_chart(folder) else None
        is_engine = release.is_engine and folder is None
        for fault in release.faults if is_engine or folder is not None else ():
            note(fault)
        found = values_documents(release)
        if release.chart or found:
            yield ReleasedValues(release, tuple(found), folder, is_engine or folder is not None)


def values_documents(release: DeclaredRelease) -> list[Document]:
    """Return the values of a release as documents, of which the last one wins."""
    return [
        each if isinstance(each, Document) else _document(release, each) for each in release.values
    ]


def _document(release: DeclaredRelease, values: object) -> Document:
    """Return a values file, or values that are written nowhere, as a document."""
    if isinstance(values, Path):
        return (read_file(values) or read_text("{}", str(values)))[0]
    return read_text(dump_yaml(values), str(release.owner.location))[0]
