"""The objects to scan: from manifests, folders, charts with values, and standard input."""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TextIO

from chartkit.documents.input_files import SUFFIXES as COMPRESSED
from chartkit.documents.input_files import is_file, is_there
from chartkit.documents.reader import Document, read_file, read_stdin, resources
from chartkit.documents.unread import UNREADABLE, Exclusion, any_unread, exclusion, unread_at
from chartkit.engine.kubernetes.kinds import CRD_GROUP, group_of
from chartkit.errors import InputError
from chartkit.helm.kustomize import is_kustomization
from chartkit.model import Diagnostic, Location, Resource, Severity
from chartkit.scan.ineffective import RULE, answer_fault, incomplete_lists

if TYPE_CHECKING:
    from chartkit.helm.chart_values import ValuesSource

Note = Callable[[Diagnostic], None]
"""A function that takes notes about inputs, and rows about those that cannot be read."""

EVERYTHING: Final = Exclusion()
"""The exclusion of nothing."""
SUFFIXES = frozenset({".yaml", ".yml", ".json", ".ndjson", ".jsonl"})
CHART_FILE = "Chart.yaml"
STDIN = "-"
_ELSEWHERE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.:-]*://|[\w.-]+@[\w.-]+:")
_STORES: Final = ("s3://", "gs://", "gcs://", "az://", "abfs://", "adl://", "oss://")
_AS_OBJECTS: Final = "kubectl get -o json or -o yaml gives objects"


def is_chart(path: Path) -> bool:
    """Report whether a path is the folder of a Helm chart."""
    return is_file(path / CHART_FILE)


def is_manifest(path: Path) -> bool:
    """Report whether a file is of YAML or JSON by its name, compressed or not."""
    name = Path(path.stem) if path.suffix in COMPRESSED else path
    return name.suffix in SUFFIXES or is_kustomization(path)


def matching(paths: Iterable[str]) -> list[str]:
    """Return paths with what patterns among them match, sorted; `**` matches any folders. A path
    that exists is not a pattern, whatever its name. Raise InputError for a pattern without a
    match."""
    named: list[str] = []
    for path in paths:
        if path == STDIN or not glob.has_magic(path) or is_there(path):
            named.append(path)
            continue
        matches = sorted(glob.iglob(path, recursive=True))
        if not matches:
            hint = "hidden files are left out; ** stands for any folders"
            raise InputError("no file or folder matches the pattern", Location(path), hint)
        named += matches
    return named


def included(paths: Sequence[str], excluded: Sequence[str]) -> Sequence[str]:
    """Return named paths without those that patterns of the command line leave out."""
    if not excluded:
        return paths
    excludes = exclusion(Path(), excluded)
    return [
        path for path in paths if path == STDIN or not excludes(Path(path), Path(path).is_dir())
    ]


def is_remote(path: str) -> bool:
    """Report whether a path is not a file or folder but a URL."""
    return _ELSEWHERE.match(path) is not None and not is_there(path)


def is_stored(path: str) -> bool:
    """Report whether a path names a file or folder of an object store."""
    return path.startswith(_STORES)


def existing(path: Path) -> Path:
    """Return the path; raise InputError if it does not exist."""
    if not is_there(path):
        raise InputError("no such file or folder", Location(str(path)))
    return path


class ChartOptions(NamedTuple):
    """The options for rendering charts among the inputs; the last values file wins."""

    values: tuple[ValuesSource, ...] = ()
    release: str = "release"
    namespace: str = "default"
    kube_version: str | None = None
    api_versions: tuple[str, ...] = ()


def read_inputs(
    paths: Sequence[str],
    stdin: TextIO,
    note: Note,
    chart: ChartOptions | None = None,
    reads: Callable[[Path], bool] | None = None,
    excluded: Sequence[str] = (),
) -> list[Resource]:
    """Return the objects at paths, in order.

    A named file must hold only Kubernetes objects; below a folder, other documents (such as values
    files) are skipped. Objects of a chart without a namespace get the release's, as in an
    installation. reads: whether a manifest or a chart is wanted, None for all; excluded: patterns
    of paths that are left out, as those of the project are; note: called with a
    row for each file, folder and chart that cannot be read, without which the others are. Raise
    InputError for a sole path that cannot be read or has no object, unless some are not wanted, and
    for values of charts if there is no chart.
    """
    paths = included(matching(paths), excluded)
    options = chart or ChartOptions()
    inputs = read_each(
        paths,
        lambda path, rows: _read_input(path, stdin, rows, options, reads, excluded),
        no_object if reads is None else None,
        note,
    )
    if chart is None or not chart.values:
        return inputs
    from chartkit.scan.inputs.folders import has_chart

    if not any(map(has_chart, paths)):
        hint = (
            "values of charts need one; Kyverno's own are of apiVersion cli.kyverno.io, kind Values"
        )
        first = chart.values[0]
        location = first.location if isinstance(first, Document) else Location(str(first))
        raise InputError("no chart is scanned that takes it", location, hint)
    return inputs


def read_each(
    paths: Sequence[str],
    read: Callable[[str, Note], list[Resource]],
    empty: Callable[[str], InputError] | None,
    note: Note,
) -> list[Resource]:
    """Return what is read at each path; note: called with a row for one of several that cannot be
    read; empty: the error of a path that holds nothing, None where that is none."""
    objects: list[Resource] = []
    for path in paths:
        rows: list[Diagnostic] = []
        try:
            here = read(path, rows.append)
            if not here and empty is not None and not any_unread(rows):
                raise empty(path)
            objects += here
        except UNREADABLE as error:
            if len(paths) == 1:
                raise
            rows.append(unread_at(Location(path), error))
        finally:
            for row in rows:
                note(row)
    return objects


def no_object(path: str) -> InputError:
    """Return the error of a path without objects."""
    hint = "name a manifest, a folder with manifests or a chart"
    return InputError("holds no Kubernetes object", Location(path), hint)


def _read_input(
    path: str,
    stdin: TextIO,
    note: Note,
    chart: ChartOptions,
    reads: Callable[[Path], bool] | None,
    excluded: Sequence[str],
) -> list[Resource]:
    if path == STDIN:
        return named_objects(read_stdin(stdin), note)
    where = existing(Path(path))
    is_one = not where.is_dir() or is_chart(where)
    if is_one and reads is not None and not reads(where):
        return []
    if is_kustomization(where):
        from chartkit.helm.kustomize.kustomization import Tree

        if (tree := Tree.of(where.parent, [where], False)).taken:
            from chartkit.scan.inputs.folders import kustomized

            return kustomized(tree, [], chart, note, reads)
    if not where.is_dir():
        return named_objects(read_file(where), note)
    from chartkit.scan.inputs.folders import objects_below, render_inputs

    if is_one:
        return render_inputs(where, chart, note)
    return objects_below(where, note, chart, reads, exclusion(where, excluded))


def named_objects(documents: Sequence[Document], note: Note) -> list[Resource]:
    """Return the objects of documents that the user names; raise InputError for anything else."""
    for document in documents:
        file, body = Path(document.source.file), document.body
        if file.name == CHART_FILE and isinstance(body, dict) and "kind" not in body:
            hint = f"scan its folder, {file.parent}"
            raise InputError("is a chart's metadata", document.location, hint)
    for gap in incomplete_lists(documents):
        note(gap)
    return without_answers(resources(documents), is_named=True, note=note)


def without_answers(resources: Sequence[Resource], is_named: bool, note: Note) -> list[Resource]:
    """Return objects without answers of API servers, for which note is called; raise InputError for
    one in a file that the user names."""
    objects: list[Resource] = []
    for resource in resources:
        fault = answer_fault(resource)
        if not fault:
            objects.append(resource)
        elif is_named:
            raise InputError(fault, resource.location, _AS_OBJECTS)
        else:
            note(Diagnostic(RULE, Severity.WARNING, fault, resource.location, _AS_OBJECTS))
    return objects


def read_crds(paths: Sequence[str], note: Note) -> list[Resource]:
    """The CustomResourceDefinitions of files, folders and charts; note: called with a row for each
    that cannot be read. Raises InputError for a sole path that cannot be read or has none."""

    def definitions(path: str, rows: Note) -> list[Resource]:
        from chartkit.scan.inputs.folders import objects_below, render_inputs

        where, options = existing(Path(path)), ChartOptions()
        if where.is_dir() and not is_chart(where):
            objects = objects_below(where, rows, options, None)
        elif where.is_dir():
            objects = render_inputs(where, options, rows)
        else:
            objects = objects_of(read_file(where))
        return list(filter(is_definition, objects))

    return read_each(
        matching(paths),
        definitions,
        lambda path: InputError("holds no CustomResourceDefinition", Location(path)),
        note,
    )


def is_definition(resource: Resource) -> bool:
    """Report whether an object is a CustomResourceDefinition, of any version."""
    return resource.kind == "CustomResourceDefinition" and group_of(resource) == CRD_GROUP


def objects_of(documents: Iterable[Document]) -> list[Resource]:
    """Return the Kubernetes objects among documents."""
    return resources(document for document in documents if is_object(document))


def is_object(document: Document) -> bool:
    """Report whether a document names the apiVersion and kind of a Kubernetes object."""
    body = document.body
    return isinstance(body, dict) and all(
        isinstance(body.get(key), str) and body[key] for key in ("apiVersion", "kind")
    )
