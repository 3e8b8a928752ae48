"""The objects of folders, charts and kustomizations, and notes about files that are not read."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice, product
from pathlib import Path
from typing import TYPE_CHECKING, Final

from chartkit.documents.input_files import (
    decompressed,
    is_folder,
    is_there,
    read_bytes,
    refuse_special,
)
from chartkit.documents.reader import Document, read_file
from chartkit.documents.unread import (
    UNREADABLE,
    Exclusion,
    exclusion,
    holds_no_object,
    unread,
    unread_at,
)
from chartkit.engine.kubernetes.kinds import in_namespace
from chartkit.errors import HelmMissingError, InputError, RenderError, system_errors
from chartkit.model import Diagnostic, Location, Resource, Severity, mapping_at, mappings_at
from chartkit.scan.ineffective import RULE, incomplete_lists, scan_note
from chartkit.scan.inputs import (
    CHART_FILE,
    EVERYTHING,
    STDIN,
    ChartOptions,
    Note,
    is_chart,
    is_manifest,
    objects_of,
    without_answers,
)

if TYPE_CHECKING:
    from chartkit.helm.kustomize.kustomization import Tree


_TEMPLATE: Final = "a template"
_PROGRAMS: Final[Mapping[str, tuple[str, str]]] = {
    ".jsonnet": ("Jsonnet", "jsonnet FILE"),
    ".libsonnet": ("Jsonnet", "jsonnet FILE"),
    ".cue": ("CUE", "cue export --out yaml FILE"),
    ".k": ("KCL", "kcl run FILE"),
    ".pkl": ("Pkl", "pkl eval -f yaml FILE"),
    ".dhall": ("Dhall", "dhall-to-yaml --file FILE"),
    ".tpl": (_TEMPLATE, "helm template CHART"),
    ".gotmpl": (_TEMPLATE, "helmfile template"),
    **dict.fromkeys(
        (".erb", ".j2", ".jinja", ".jinja2", ".template", ".tftpl", ".tmpl"),
        (_TEMPLATE, "PROGRAM FILE"),
    ),
}
"""Files of which programs make manifests: what they are called, and the command that does so."""
_TEST_FILES = frozenset({"kyverno-test.yaml", "kyverno-test.yml"})
_CHAINSAW_FILES = ("chainsaw-test.yaml", "chainsaw-test.yml")
_TEST_FOLDERS = frozenset({".chainsaw-test", ".kyverno-test", ".chainsaw"})
_MOST_HIDDEN: Final = 500
"""The files of a hidden folder that are looked at."""
_LARGEST: Final = 1 << 20
"""The bytes of a hidden file or a template that is looked at."""
_KUTTL_ASSERTION: Final = re.compile(r"\d+-(assert|errors)(-[^.]*)?\.ya?ml")
"""A file of a step of a kuttl test that states what a cluster has to hold, or must not hold."""
HELMFILES: Final = frozenset({"helmfile.yaml", "helmfile.yml", "helmfile.yaml.gotmpl"})
_API_VERSION: Final = re.compile(rb'^apiVersion:|"apiVersion"', re.MULTILINE)
"""A field of an object: workflows and tasks of hidden folders have objects in scripts."""
_LEFT_OUT: Final = "correct it, or leave it out by --exclude"
_OLD_AGGREGATION: Final = "apiregistration.k8s.io/v1beta1"
_AGGREGATION: Final = ("apiregistration.k8s.io/v1", "apiregistration.k8s.io/v1/APIService")
"""The group version and kind that every cluster serves and Helm's own list lacks, so that charts
fall back to the removed version. Only these charts get it: others take it for a live cluster."""
_WAYS_OUT: Final = "--exclude leaves the chart out; scan and preview take values for it by -f"


def walk(folder: Path, note: Note, excludes: Exclusion = EVERYTHING) -> Iterator[Path]:
    """Yield the YAML and JSON files below a folder, sorted, with chart folders in place of their
    contents.

    Hidden files and folders, Helmfile's files, assertions of kuttl tests and what is excluded are
    skipped. note: called with a
    row for a folder that cannot be read, and for a pipe, a socket, a device or a broken link among
    the files.
    """
    try:
        with system_errors("cannot be read", folder):
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except InputError as error:
        note(unread(error))
        return
    for entry in entries:
        path = Path(entry.path)
        if entry.name.startswith("."):
            continue
        if excludes(path, is_folder(path)):
            continue
        if is_folder(path):
            if is_chart(path):
                yield path
            elif not entry.is_symlink():
                yield from walk(path, note, excludes)
            continue
        is_skipped = entry.name in HELMFILES or _KUTTL_ASSERTION.fullmatch(entry.name)
        if is_manifest(path) and not is_skipped and _is_readable(path, note):
            yield path


def _is_readable(path: Path, note: Note) -> bool:
    """Report whether a path is a file; note: called with a row if it is not."""
    try:
        refuse_special(path)
        if not is_there(path):
            hint = (
                "the link is broken" if path.is_symlink() else "it was removed meanwhile: run again"
            )
            raise InputError("no such file", Location(str(path)), hint)
    except InputError as error:
        note(unread(error))
        return False
    return True


def has_chart(path: str) -> bool:
    """Report whether a path is a chart or a folder with one."""
    where = Path(path)
    if path == STDIN or not where.is_dir():
        return False
    return is_chart(where) or any(file.is_dir() for file in walk(where, lambda _: None))


def objects_below(
    folder: Path,
    note: Note,
    chart: ChartOptions,
    reads: Callable[[Path], bool] | None,
    excludes: Exclusion = EVERYTHING,
) -> list[Resource]:
    """Return the objects below a folder."""
    for row in unread_files(folder, excludes):
        note(row)
    files = list(walk(folder, note, excludes))
    from chartkit.helm.kustomize.kustomization import Tree

    return kustomized(Tree.of(folder, files), files, chart, note, reads)


def kustomized(
    tree: Tree,
    files: Sequence[Path],
    chart: ChartOptions,
    note: Note,
    reads: Callable[[Path], bool] | None,
) -> list[Resource]:
    """Return the objects of files and of the kustomizations among them, which are built."""
    objects: list[Resource] = []
    for file in (*files, *tree.others()):
        if tree.takes(file) or (reads is not None and not reads(file)):
            continue
        try:
            if file.is_dir():
                objects.extend(render_inputs(file, chart, note))
            else:
                objects.extend(folder_objects(read_file(file), note))
        except UNREADABLE as error:
            note(unread_file(file, error))
    if tree.taken:
        from chartkit.helm.kustomize.build import build

        built, rows = build(tree, None if reads is None else _wanted(reads))
        for row in rows:
            note(row)
        objects += built
    return objects


def _wanted(reads: Callable[[Path], bool]) -> Callable[[Path], bool]:
    """Report whether a file of a build is wanted: which others changed is unknown."""
    return lambda file: not is_manifest(file) or reads(file)


def unread_file(file: Path, error: Exception, content: bytes | None = None) -> Diagnostic:
    """Return the row about a file or chart of a folder that cannot be read; a note about a file
    that plainly holds no object. content: of the file, None where it is still to be read."""
    row = unread_at(Location(str(file)), error)
    row = replace(row, hint=row.hint or _LEFT_OUT)
    if content is None:
        try:
            content = decompressed(read_bytes(file), Location(str(file)))
        except UNREADABLE:
            return row
    if not holds_no_object(content):
        return row
    message = f"holds no Kubernetes object, and is not read: {row.message}"
    return Diagnostic(RULE, Severity.NOTE, message, row.location)


def folder_objects(documents: Sequence[Document], note: Note) -> list[Resource]:
    """Return the objects of documents in a folder; note is called for answers of API servers."""
    for gap in incomplete_lists(documents):
        note(gap)
    return without_answers(objects_of(documents), is_named=False, note=note)


def render_inputs(folder: Path, options: ChartOptions, note: Note) -> list[Resource]:
    """Return the objects that Helm renders of a chart, each in the release's namespace; raise
    RenderError, also where Helm is missing."""
    from chartkit.helm.render import render_chart

    render = partial(
        render_chart,
        folder,
        options.values,
        release=options.release,
        namespace=options.namespace,
        kube_version=options.kube_version,
    )
    try:
        rendered = render(api_versions=options.api_versions)
        if any(resource.api_version == _OLD_AGGREGATION for resource in rendered.resources):
            rendered = render(api_versions=(*_AGGREGATION, *options.api_versions))
    except HelmMissingError as error:
        raise RenderError(error.message, Location(str(folder)), error.hint) from None
    except RenderError as error:
        place = error.location
        is_in_template = place is not None and place.line > 0 and "/templates/" in place.file
        hint = error.hint or (_WAYS_OUT if is_in_template else None)
        raise type(error)(error.message, error.location, hint) from None
    for warning in rendered.warnings:
        note(warning)
    objects = (*rendered.crds, *rendered.resources, *rendered.hooks)
    metadata = read_file(folder / CHART_FILE) if not objects and folder.is_dir() else ()
    if not objects and not any(mapping_at(item.body).get("type") == "library" for item in metadata):
        note(scan_note("the chart renders no object", Location(str(folder))))
    return [in_namespace(resource, options.namespace) for resource in objects]


def unread_files(folder: Path, excludes: Exclusion) -> Iterator[Diagnostic]:
    """Yield a note for each kind of file below a folder of which another program makes manifests,
    for each link to a folder elsewhere, which is not followed, and for hidden folders with
    manifests; charts have templates of their own."""
    by_program: dict[tuple[str, str], list[str]] = {}
    hidden: list[str] = []
    asserted: list[str] = []
    for here, folders, names in os.walk(folder):
        if "Chart.yaml" in names:
            folders.clear()
            continue
        there = [name for name in sorted(folders) if not excludes(Path(here, name), True)]
        hidden += [os.path.join(here, name) for name in there if name[0] == "." and name != ".git"]
        folders[:] = [name for name in there if name[0] != "."]
        for name in folders:
            path = os.path.normpath(os.path.join(here, name))
            if os.path.islink(path) and not _is_read(path, folder):
                yield scan_note(
                    "links to folders are not followed", Location(path), "name it as PATH"
                )
        for name in sorted(names):
            path = os.path.normpath(os.path.join(here, name))
            if excludes(Path(path)):
                continue
            is_part = os.path.basename(here) == "helmfile.d" and is_manifest(Path(path))
            if is_part or name in HELMFILES:
                hint = "helmfile template | chartkit scan -"
                yield scan_note("the releases of Helmfile are not rendered", Location(path), hint)
            elif _KUTTL_ASSERTION.fullmatch(name):
                asserted.append(path)
            elif name[0] != "." and _makes_manifests(path):
                by_program.setdefault(_PROGRAMS[os.path.splitext(name)[1]], []).append(path)
    for (language, command), paths in by_program.items():
        suffixes = sorted({Path(path).suffix for path in paths})
        more = _and_more(len(paths) - 1, " and ".join(suffixes))
        message = f"is {language} and is not read{more}"
        yield scan_note(message, Location(paths[0]), f"{command} | chartkit scan -")
    if asserted:
        more = _and_more(len(asserted) - 1, "them")
        message = f"is an assertion of a kuttl test, not an object to deploy, and is not read{more}"
        yield scan_note(message, Location(asserted[0]), "name it as PATH")
    folders = list(filter(_holds_manifest, hidden))
    if folders:
        more = _and_more(len(folders) - 1, "them")
        message = f"is a hidden folder with manifests and is not read{more}"
        yield scan_note(message, Location(os.path.normpath(folders[0])), "name it as PATH")


def _is_read(link: str, folder: Path) -> bool:
    """Report whether a scan of a folder reads what a link to a folder leads to: a chart, or another
    folder below."""
    if os.path.exists(os.path.join(link, CHART_FILE)):
        return True
    target, whole = Path(os.path.realpath(link)), Path(os.path.realpath(folder))
    inner = target.relative_to(whole).parts if target.is_relative_to(whole) else (".",)
    return not any(part.startswith(".") for part in inner)


def unread_below(folder: Path) -> Iterator[Diagnostic]:
    """Yield rows about what `scan` does not read below a folder either: the notes of
    `unread_files`, and what kustomizations refer to elsewhere."""
    from chartkit.helm.kustomize.kustomization import Tree

    excludes = exclusion(folder)
    yield from unread_files(folder, excludes)
    yield from Tree.of(folder, list(walk(folder, lambda _: None, excludes))).rows


def _and_more(count: int, of: str) -> str:
    return f", nor {'is' if count == 1 else 'are'} {count} more of {of}" if count else ""


def _holds_manifest(folder: str) -> bool:
    """Report whether one of the first files below a hidden folder is a manifest."""
    walked = ((here, name) for here, _, names in os.walk(folder) for name in sorted(names))
    for here, name in islice(walked, _MOST_HIDDEN):
        if name.endswith((".yaml", ".yml", ".json")):
            with suppress(InputError):
                if _API_VERSION.search(read_bytes(os.path.join(here, name), _LARGEST)):
                    return True
    return False


def _makes_manifests(file: str) -> bool:
    """Report whether another program makes manifests of a file; a template may be of any text, and
    Python's pickles have the suffix of Pkl."""
    language, _ = _PROGRAMS.get(os.path.splitext(file)[1], ("", ""))
    content = b""
    with suppress(InputError):
        content = read_bytes(file, _LARGEST) if language in (_TEMPLATE, "Pkl") else b""
    if language == _TEMPLATE:
        return not holds_no_object(content)
    return language != "" and b"\0" not in content


def is_test_file(file: Path) -> bool:
    """Report whether a file is of a test of policies: its policies are not meant themselves."""
    if file.name in _TEST_FILES or _TEST_FOLDERS.intersection(file.parts):
        return True
    # The files of a folder that its Chainsaw test compares objects with: they have parts of
    # objects.
    names: set[str] = set()
    for test in filter(Path.is_file, (file.parent / name for name in _CHAINSAW_FILES)):
        with suppress(*UNREADABLE):
            for document in read_file(test):
                steps = mappings_at(document.body, "spec", "steps")
                operations = (mapping for step in steps for mapping in mappings_at(step, "try"))
                for operation, key in product(operations, ("assert", "error")):
                    if isinstance(test_file := mapping_at(operation, key).get("file"), str):
                        names.add(test_file)
    return file.name in names
