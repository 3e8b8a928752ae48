"""The objects and the values of the releases that objects declare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chartkit.documents.input_files import checkout_top
from chartkit.documents.reader import Document, read_file, read_text
from chartkit.documents.unread import UNREAD, unread_at
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.engine.kubernetes.kinds import group_of
from chartkit.errors import InputError, MissingChartError, RenderError
from chartkit.model import Diagnostic, Resource, Severity
from chartkit.scan.gitops import ARGO, FLUX
from chartkit.scan.gitops.declared import (
    APPLICATION,
    APPLICATION_SET,
    HELM_RELEASE,
    configs_of,
    read_applications,
    read_helm_release,
)
from chartkit.scan.gitops.model import RULE, DeclaredRelease, Repository, add_faults
from chartkit.scan.inputs import STDIN, ChartOptions, Note, is_chart, matching, objects_of
from chartkit.scan.inputs.folders import render_inputs

MOST: Final = 500
"""The releases of one run that are rendered."""
_MOST_SOURCES: Final = 100


def declares_release(resource: Resource) -> bool:
    """Report whether an object declares releases of Helm."""
    group = group_of(resource)
    if group == FLUX:
        return resource.kind == HELM_RELEASE
    return group == ARGO and resource.kind in (APPLICATION, APPLICATION_SET)


def declared_releases(
    objects: Sequence[Resource], repository: Repository, note: Note
) -> Iterator[DeclaredRelease]:
    """Yield the releases that objects declare; note is called for values that cannot be read."""
    configs = configs_of(objects)
    for resource in filter(declares_release, objects):
        try:
            if resource.kind == HELM_RELEASE:
                yield read_helm_release(resource, configs, repository)
            else:
                yield from read_applications(resource, repository)
        except InputError as error:
            message = f"{resource.kind} '{resource.name}': values {error.message}"
            location = error.location or resource.location
            note(Diagnostic(RULE, Severity.WARNING, message, location, error.hint))


def release_objects(
    objects: Sequence[Resource], paths: Sequence[str], options: ChartOptions, note: Note
) -> list[Resource]:
    """Return the objects of the releases that objects declare, as Helm renders charts that are in
    the repository with their values; note is called for what is not rendered, and why."""
    if not any(map(declares_release, objects)):
        return []
    named = [Path(path) for path in matching(paths) if path != STDIN]
    folders = [path for path in named if path.is_dir() and not is_chart(path)]
    repository = Repository(folders, checkout_of)
    resources: list[Resource] = []
    for count, release in enumerate(declared_releases(objects, repository, note)):
        for fault in release.faults:
            note(fault)
        if len(release.values) > _MOST_SOURCES:
            release.faults.clear()
            message = f"has more than {_MOST_SOURCES} sources of values: it is not rendered"
            release.fault(message, release.pointer)
            note(release.faults[0])
            continue
        if count >= MOST:
            release.faults.clear()
            release.note(f"is beyond the {MOST} releases that are rendered", "/kind")
            note(release.faults[0])
            break
        resources += _rendered(release, repository, folders, options, note)
    return resources


def checkout_of(file: Path) -> Path | None:
    """Return the root of the git checkout that holds a file; None if the file is in none."""
    whole = file.absolute()
    root = checkout_top(whole.parent)
    if root is None:
        return None
    # Messages name files as the user does, where they are below the current folder.
    here = Path.cwd()
    return Path() if root == here else root


def _rendered(
    release: DeclaredRelease,
    repository: Repository,
    folders: Sequence[Path],
    options: ChartOptions,
    note: Note,
) -> list[Resource]:
    lacks_values = any(fault.severity is Severity.WARNING for fault in release.faults)
    release.faults.clear()
    if not release.chart and not release.origin:
        return []
    folder = None if release.origin else repository.find(release.owner, release.chart)
    if folder is None or not is_chart(folder):
        if folder is None or not folder.is_dir():
            if not release.chart:
                message, hint = "it names no chart, as a patch may", "scan the kustomization"
            elif not release.origin:
                # Argo CD names a folder of any kind.
                what = "folder" if release.pointer.endswith("/path") else "chart"
                message = f"its {what} '{release.chart}' is not in this repository"
                hint = "helm template or kustomize build … | chartkit scan -"
            else:
                where = f"{'of' if ' ' in release.origin else 'at'} {release.origin}"
                message = f"its chart '{release.chart}' is {where}"
                hint = "helm template … | chartkit scan -"
            release.note(f"{message}: its objects are not scanned", release.pointer, hint)
        elif not any(folder.resolve().is_relative_to(path.resolve()) for path in folders):
            message = f"its folder '{release.chart}' is not among the inputs: it is not scanned"
            release.note(message, release.pointer, f"chartkit scan {folder}")
        for diagnostic in release.faults:
            note(diagnostic)
        return []
    chart = ChartOptions(
        (*release.values,),
        release.release,
        release.namespace,
        release.kube_version or options.kube_version,
        (*options.api_versions, *release.api_versions),
    )
    try:
        return render_inputs(folder, chart, note)
    except MissingChartError as error:
        note(unread_at(release.owner.location, error))
        return []
    except (RenderError, InputError) as error:
        rule, severity = (RULE, Severity.WARNING) if lacks_values else (UNREAD, Severity.ERROR)
        location = error.location or release.owner.location
        failed = f"{release.name}: its chart '{release.chart}' does not render: {error.message}"
        note(Diagnostic(rule, severity, failed, location, error.hint))
        return []


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
    others = [resource for held in files.values() for resource in objects_of(held)]
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
        values = values_documents(release)
        if release.chart or values:
            yield ReleasedValues(release, tuple(values), folder, is_engine or folder is not None)


def values_documents(release: DeclaredRelease) -> list[Document]:
    """Return the values of a release as documents, of which the last one wins."""
    return [
        item if isinstance(item, Document) else _document(release, item) for item in release.values
    ]


def _document(release: DeclaredRelease, values: object) -> Document:
    """Return a values file, or values that are written nowhere, as a document."""
    if isinstance(values, Path):
        return (read_file(values) or read_text("{}", str(values)))[0]
    return read_text(dump_yaml(values), str(release.owner.location))[0]
