"""The digest of all that the result of `chartkit render` depends on, files by their content."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

from chartkit.cache_folder import digest_of, program_digest
from chartkit.documents.reader import read_file
from chartkit.errors import InputError, RenderError
from chartkit.helm.backend import identity
from chartkit.helm.kustomize import tree as kustomize
from chartkit.helm.kustomize.tree import dependencies
from chartkit.model import Json, mapping_at, texts_of
from chartkit.network.downloads.lockfile import VENDOR
from chartkit.output.atomic_folder import left_behind
from chartkit.project.environment import Environment
from chartkit.project.project import Project
from chartkit.render.model import written_folders

_MOST_FILES: Final = 20_000
_MOST_BYTES: Final = 128 << 20
"""The files and bytes beyond which reading all of them is not worth while."""
_DEEPEST: Final = 64
_TIME_ZONE: Final = "TZ"


class _UnknownError(Exception):
    """An input of which it cannot be told what it holds."""


def inputs_digest(
    project: Project, workloads: Sequence[Path], options: Mapping[str, Json]
) -> str | None:
    """Return a digest of all that a result depends on: the program and its packages, Helm, the
    options, the day, and every file of the project that is read or compared.

    None where it cannot be told, as for a Helm that is a script, or folders that an interrupted
    render left. workloads: those of the command line.
    """
    if any(map(left_behind, written_folders(project))):
        return None
    paths = (*written_folders(project), *_with_kustomizations(workloads))
    every = tuple(project.environments.values())
    return _digest(project, every, paths, {}, dict(options))


def environment_digest(
    project: Project,
    environment: Environment,
    workloads: Sequence[Path],
    charts: Mapping[str, Path],
    values: Json,
) -> str | None:
    """Return a digest of all that the checks of an environment depend on: as that of a result, with
    its charts as they are laid out; None where it cannot be told.

    workloads: those of the command line; charts: folders by name; values: the environment's own.
    """
    manifests = project.manifests
    paths = [
        *_with_kustomizations(workloads),
        *([] if manifests is None else [manifests / environment.file_name]),
    ]
    own = [environment.name, str(project.charts), values]
    return _digest(project, (environment,), paths, charts, own)


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
        for each in dict.fromkeys([*_paths(project, environments), *paths]):
            files.add(each)
        for name, folder in charts.items():
            files.add_below(name, folder)
    except (_UnknownError, InputError, RenderError, OSError, ValueError):
        return None
    if helm is None:
        return None
    days = [str(datetime.now(UTC).date()), str(date.today())]
    around = [os.getcwd(), os.environ.get(_TIME_ZONE), str(project.file)]
    return digest_of(
        program_digest(), helm, kustomize.identity(), options, days, around, files.digest()
    )


def workload_files(
    environments: Iterable[Environment], workloads: Sequence[Path]
) -> Sequence[Path] | None:
    """Return the files of the workloads, those of charts among them; None if they are too many or
    too large, or one of them cannot be read. workloads: further ones."""
    files = _Files()
    try:
        for each in dict.fromkeys((*_workloads(environments), *_with_kustomizations(workloads))):
            files.add(each)
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
    for each in environments:
        yield from (one.path for one in (*each.engine_values, *each.exceptions))
        yield from () if each.baseline is None else (each.baseline,)
    body = project.document.body
    versions = body.get("versions")
    if versions is not None and not isinstance(versions, dict):
        yield from (root / one for one in ([versions] if isinstance(versions, str) else versions))
    profiles = {one for each in environments for one in each.profiles}
    yield from _profiles({*profiles, *body.get("profiles", ())}, root, 0)


def _workloads(environments: Iterable[Environment]) -> Iterator[Path]:
    for environment in environments:
        for each in environment.workloads:
            yield from _with_kustomizations([each.path])
            yield from each.values


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
        """Add a file, a folder, or that there is none; raise _UnknownError for anything else."""
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
        """Add the files in a folder by a name that stands for it."""
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
