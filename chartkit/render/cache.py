"""Results of `chartkit render` that are kept for the next run, by all that they depend on."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from chartkit.cache_folder import Store, digest_of, program_digest
from chartkit.documents.reader import read_file
from chartkit.errors import InputError, RenderError
from chartkit.helm.backend import identity
from chartkit.helm.kept import may_differ
from chartkit.helm.kustomize import kustomization as kustomize
from chartkit.helm.kustomize.kustomization import dependencies
from chartkit.kyverno.releases import today
from chartkit.model import Body, Json, Location, mapping_at, texts_of
from chartkit.network.downloads.lockfile import VENDOR
from chartkit.output import atomic_folder
from chartkit.output.atomic_folder import left_behind
from chartkit.project.environment import Environment
from chartkit.project.project import Project
from chartkit.render.model import Outcome, RenderResult, Row, failed, written_folders
from chartkit.scan.parallel.judged import KnownPlaces

if TYPE_CHECKING:
    from chartkit.render.chart import CheckTarget

_MOST_FILES: Final = 20_000
_MOST_BYTES: Final = 128 << 20
"""The files and bytes beyond which reading all of them is not worth while."""
_DEEPEST: Final = 64
_TIME_ZONE: Final = "TZ"
_STORE: Final = "render"
_ENVIRONMENTS: Final = "environments"


class _UnknownError(Exception):
    """An input whose content is unknown."""


def inputs_digest(
    project: Project, workloads: Sequence[Path], options: Mapping[str, Json]
) -> str | None:
    """Return a digest of all that a result depends on: the program and its packages, Helm, the
    options, the day, and every file of the project that is read or compared.

    None where that is unknown, as for a Helm that is a script, or folders that an interrupted
    render left. workloads: those of the command line.
    """
    if any(map(left_behind, written_folders(project))):
        return None
    paths = (*written_folders(project), *_with_kustomizations(workloads))
    every = tuple(project.environments.values())
    return _digest(project, every, paths, {}, dict(options))


def _digest(
    project: Project,
    environments: Sequence[Environment],
    paths: Iterable[Path],
    charts: Mapping[str, Path],
    options: Json,
) -> str | None:
    try:
        helm = identity()
        files = _Files()
        for path in dict.fromkeys([*_paths(project, environments), *paths]):
            files.add(path)
        for name, folder in charts.items():
            files.add_below(name, folder)
    except (_UnknownError, InputError, RenderError, OSError, ValueError):
        return None
    if helm is None:
        return None
    days = [str(datetime.now(UTC).date()), str(today())]
    around = [os.getcwd(), os.environ.get(_TIME_ZONE), str(project.file)]
    return digest_of(
        program_digest(), helm, kustomize.identity(), options, days, around, files.digest()
    )


def workload_files(
    environments: Iterable[Environment], workloads: Sequence[Path]
) -> Sequence[Path] | None:
    """Return the files of the workloads, charts included; None if they are too many or
    too large, or one of them cannot be read. workloads: further ones."""
    files = _Files()
    try:
        for path in dict.fromkeys((*_workloads(environments), *_with_kustomizations(workloads))):
            files.add(path)
    except (_UnknownError, OSError, ValueError):
        return None
    return files.paths


def _paths(project: Project, environments: Sequence[Environment]) -> Iterator[Path]:
    """Yield the files and folders that a render of environments reads, but for what it writes."""
    root = project.root
    yield project.file
    yield from project.library
    yield root / VENDOR
    yield from _workloads(environments)
    for environment in environments:
        yield from (file.path for file in (*environment.engine_values, *environment.exceptions))
        yield from () if environment.baseline is None else (environment.baseline,)
    body = project.document.body
    versions = body.get("versions")
    if versions is not None and not isinstance(versions, dict):
        yield from (root / file for file in ([versions] if isinstance(versions, str) else versions))
    profiles = {profile for env in environments for profile in env.profiles}
    yield from _profiles({*profiles, *body.get("profiles", ())}, root, 0)


def _workloads(environments: Iterable[Environment]) -> Iterator[Path]:
    for environment in environments:
        for workload in environment.workloads:
            yield from _with_kustomizations([workload.path])
            yield from workload.values


def _with_kustomizations(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield paths, and the files that kustomizations below them refer to."""
    for path in paths:
        yield path
        if path.is_dir():
            yield from dependencies(path)


def _profiles(references: set[str], folder: Path, depth: int) -> Iterator[Path]:
    """Yield the files of profiles and of those that they extend; the program has built-in ones."""
    if depth > _DEEPEST:
        raise _UnknownError
    for reference in sorted(references):
        file = folder / reference
        yield file
        if not file.is_file():
            continue
        for document in read_file(file):
            extends = texts_of(mapping_at(document.body, "spec").get("extends"))
            yield from _profiles(set(extends), file.parent, depth + 1)


class _Files:
    """Files and folders with all that is in them, links followed, as one digest."""

    def __init__(self) -> None:
        self.paths: list[Path] = []
        self._digest = hashlib.sha256()
        self._left = _MOST_BYTES

    def digest(self) -> str:
        """Return the digest of what was added, in its order."""
        return self._digest.hexdigest()

    def add(self, path: Path, depth: int = 0) -> None:
        """Add the state of a file or folder, perhaps missing; raise _UnknownError for others."""
        real = os.path.realpath(path)
        self._write(str(path), real)
        try:
            mode = os.stat(real).st_mode
        except (FileNotFoundError, NotADirectoryError):
            self._write("missing")
            return
        if stat.S_ISDIR(mode) and depth < _DEEPEST:
            names = sorted(os.listdir(real))
            self._write("folder", *names)
            for name in names:
                self.add(path / name, depth + 1)
        elif stat.S_ISREG(mode):
            self._add_file(path, real)
        else:
            raise _UnknownError

    def add_below(self, name: str, folder: Path) -> None:
        """Add the files in a folder under a name for it."""
        self._write(name)
        for path in sorted(folder.rglob("*")):
            if path.is_symlink() or path.is_file():
                self._write(path.relative_to(folder).as_posix())
                self._add_file(path, os.path.realpath(path))

    def _add_file(self, path: Path, real: str) -> None:
        self.paths.append(path)
        with open(real, "rb") as file:
            content = file.read(self._left + 1)
        self._left -= len(content)
        if self._left < 0 or len(self.paths) > _MOST_FILES:
            raise _UnknownError
        self._write("file", hashlib.sha256(content).hexdigest())

    def _write(self, *texts: str) -> None:
        for text in texts:
            content = os.fsencode(text)
            self._digest.update(b"%d:%s" % (len(content), content))


def cached_result(
    project: Project,
    workloads: Sequence[Path],
    options: Mapping[str, Json],
    render: Callable[[], RenderResult],
) -> RenderResult:
    """Return the result of an earlier run with the same inputs, or render and keep the result.

    A result is kept only if the same inputs give it again: nothing was written, no check failed,
    and nothing depends on the clock or on chance. workloads: from the command line; options: all
    others that the result depends on.
    """
    key = inputs_digest(project, workloads, options)
    if key is None:
        return render()
    store = Store(_STORE)
    body = store.load(key)
    if body is not None:
        rows = tuple(map(_row, body["rows"]))
        kept = RenderResult(rows, body["drift"], is_repeatable=True)
        if not options.get("check"):
            # As one that renders would: another render may be writing.
            with atomic_folder.lock(project.root):
                return kept
        return kept
    result = render()
    if result.is_repeatable and not result.written and not failed(result.rows):
        files = workload_files(project.environments.values(), workloads)
        if files is not None and not may_differ(file.read_bytes() for file in files):
            now = inputs_digest(project, workloads, options)
            # A result is kept unless its inputs have changed meanwhile.
            if now == key:
                store.save(key, {"drift": result.drift, "rows": list(map(_row_body, result.rows))})
    return result


def cached_rows(subject: CheckTarget, check: Callable[[], Sequence[Row]]) -> Sequence[Row]:
    """Return the rows of an environment of an earlier run that checked the same, or check it and
    keep the rows, as `cached_result` keeps results."""
    key = _environment_key(subject)
    if key is None:
        return check()
    store = Store(_ENVIRONMENTS)
    kept = store.load(key)
    if kept is not None:
        return list(map(_row, kept))
    rows = check()
    from chartkit.render.manifests import is_repeatable  # loads the charts

    if not failed(rows) and is_repeatable([subject]):
        files = workload_files((subject.environment,), _further(subject))
        is_lasting = files is not None and not may_differ(file.read_bytes() for file in files)
        if is_lasting and _environment_key(subject) == key:
            store.save(key, list(map(_row_body, rows)))
    return rows


def _environment_key(subject: CheckTarget) -> str | None:
    charts = {chart.name: chart.files.folder for chart in subject.charts}
    layers = [[document.source.text for document in chart.layers] for chart in subject.charts]
    env = subject.environment
    workloads = _further(subject)
    manifests = subject.project.manifests
    paths = [
        *_with_kustomizations(workloads),
        *([] if manifests is None else [manifests / env.file_name]),
    ]
    own = [env.name, str(subject.project.charts), layers]
    return _digest(subject.project, (env,), paths, charts, own)


def _further(subject: CheckTarget) -> list[Path]:
    return [workload.path for workload in subject.workloads]


def checked(project: Project, environments: Sequence[Environment]) -> RenderResult:
    """Return the result of `render --check` of environments, from an earlier run where possible."""
    options = key_options(environments, check=True)

    def render() -> RenderResult:
        from chartkit.render.pipeline import RenderOptions, render_project

        return render_project(project, RenderOptions(tuple(environments), check=True))

    return cached_result(project, (), options, render)


def key_options(
    environments: Sequence[Environment],
    prefer: str | None = None,
    check: bool = False,
    kustomize: bool = False,
) -> Body:
    """Return the options that a result depends on, as `cached_result` takes them."""
    return {
        "environments": [environment.name for environment in environments],
        "prefer": prefer,
        "check": check,
        "kustomize": kustomize,
    }


def _row_body(row: Row) -> Json:
    """Return the fields of a row, in their order."""
    place = None if row.location is None else _place(row.location)
    head = [row.environment, row.check, str(row.outcome), row.message, place]
    return [*head, row.hint, row.policy, row.subject]


def _place(location: Location) -> Json:
    first, lines = (0, ()) if location.places is None else location.places.excerpt(location.line)
    return [location.file, location.line, location.column, location.path, first, list(lines)]


def _row(fields: Sequence[Json]) -> Row:
    environment, check, outcome, message, place, *others = fields
    location: Location | None = None
    if place:
        file, line, column, path, first, lines = place
        places = KnownPlaces(file, {}, {line: (first, lines)}) if lines else None
        location = Location(file, line, column, path, places)
    return Row(environment, check, Outcome(outcome), message, location, *others)
