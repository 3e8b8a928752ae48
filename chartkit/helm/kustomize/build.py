"""Kustomizations, built by the `kustomize` or `kubectl` program on a copy of what they refer to."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chartkit.documents.input_files import edited
from chartkit.documents.unread import unread
from chartkit.errors import ChartkitError, InputError, system_errors
from chartkit.helm.backend import is_binary
from chartkit.helm.chart_folder import MOST_BYTES, MOST_FILES, read
from chartkit.helm.kustomize.kustomization import Kustomization, Tree, program, without
from chartkit.helm.kustomize.places import PATCHES, Origins
from chartkit.helm.model import ChartError
from chartkit.helm.sandbox.process import FileAccess, Limits, Programs, StoppedError, size
from chartkit.model import Diagnostic, Location, Resource, list_of
from chartkit.temporary import temporary_folder
from chartkit.wording import counted, shortened

LIMITS: Final = Limits(seconds=20, cpu_seconds=20, output=64 << 20)
_OPTIONS: Final = ("--load-restrictor", "LoadRestrictionsNone")
"""Files beside a kustomization's folder are read: the copy has those of the repository alone."""
_ORIGINS: Final = "originAnnotations"
_MOST_PATCHES: Final = 20
"""The patches of a build that annotates origins: with each one, kustomize rewrites annotations of
all objects that list all patches before it. `places` searches for the origins of other builds."""
_CONFIGURATION: Final = re.compile(r" with config: `.*?\n`: ", re.DOTALL)
"""The text of a transformer in a message, before the reason."""
_ERROR: Final = "Error: "
_SHOWN: Final = 400
_INSTALL: Final = "install kustomize 5 or kubectl; kustomize build … | chartkit scan - works, too"
_BUILT: Final[dict[object, str]] = {}
_MOST_KEPT: Final = 192 << 20
"""Characters of builds that a process keeps: `adopt` reads a repository several times."""
_OF_FILE: Final = re.compile(
    r"accumulating resources from '[^']*': (.*?)': must build at directory: ('[^']*')"
)


def build(
    tree: Tree, reads: Callable[[Path], bool] | None = None, limits: Limits = LIMITS
) -> tuple[list[Resource], list[Diagnostic]]:
    """Return the objects of a tree's builds, with locations in the files of bases and overlays, and
    rows about what was not read, the tree's own among them. reads: whether a file is wanted, and
    with it everything that depends on it; None for all files."""
    rows = list(tree.rows)
    tool = program()
    if tree.builds and tool is None:
        count = len(tree.builds)
        what = counted(count, "kustomization is not built", "kustomizations are not built")
        location = _place(tree, tree.builds[0]) if count == 1 else Location(tree.repository.shown)
        message = f"{what}: there is no kustomize or kubectl program on PATH"
        rows.append(unread(InputError(message, location, _INSTALL)))
    if not tree.builds or tool is None:
        return [], rows
    objects: list[Resource] = []
    if reads is not None:
        tree.builds = [folder for folder in tree.builds if any(map(reads, tree.files(folder)))]
    with temporary_folder() as root:
        builder = _Builder(tree, Path(os.path.realpath(root)), tool, limits)
        for built in builder.run():
            objects += built.objects
            rows += built.rows
    return objects, rows


def _place(tree: Tree, folder: str) -> Location:
    kustomization = tree.at(folder)
    file = folder if kustomization is None else os.path.join(folder, kustomization.name)
    return Location(tree.repository.name(file))


@dataclass(frozen=True, slots=True)
class _Built:
    """The outcome of a build."""

    objects: Sequence[Resource] = ()
    rows: Sequence[Diagnostic] = ()


@dataclass(frozen=True, slots=True)
class _Builder:
    """The builds of a tree; folder: for the copy and the program's own files."""

    tree: Tree
    folder: Path
    program: tuple[str, tuple[str, ...]]
    limits: Limits

    def run(self) -> Iterator[_Built]:
        """Yield the results of the builds, in order."""
        closures = [self.tree.closure(folder) for folder in self.tree.builds]
        ready = list(self._ready(closures))
        (self.folder / "tmp").mkdir()
        programs = Programs()
        with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
            tasks = [
                row if row else pool.submit(self._once, closure[0].folder, programs)
                for closure, row in zip(closures, ready, strict=True)
            ]
            try:
                for closure, task in zip(closures, tasks, strict=True):
                    if isinstance(task, _Built):
                        yield task
                        continue
                    try:
                        yield _Built(Origins(self.tree, closure).objects(task.result()))
                    except ChartkitError as error:
                        yield self._failed(closure, error)
            finally:
                programs.close()
                pool.shutdown(wait=True, cancel_futures=True)

    def _ready(self, closures: Sequence[Sequence[Kustomization]]) -> Iterator[_Built | None]:
        """Copy what builds need; yield a row for one that cannot be built, else None."""
        copy = _Copy(self.tree.repository.top, self.folder / "copy")
        for closure in closures:
            refused = next((member for member in closure if member.is_refused), None)
            try:
                if refused is not None:
                    if refused is closure[0]:
                        yield _Built()
                        continue
                    cause = self.tree.repository.name(os.path.join(refused.folder, refused.name))
                    raise InputError(f"is not built: it needs '{cause}'", None, "see its row")
                patches = sum(
                    len(list_of(member.body.get(key))) for member in closure for key in PATCHES
                )
                for kustomization in closure:
                    is_root = kustomization is closure[0]
                    with system_errors("cannot be copied", kustomization.folder):
                        copy.add(kustomization, is_root, is_root and patches <= _MOST_PATCHES)
                yield None
            except ChartkitError as error:
                yield self._failed(closure, error)

    def _once(self, folder: str, programs: Programs) -> str:
        """Return the program's output for a folder, built once for each state of its files."""
        files = (Path(self.program[0]), *self.tree.files(folder))
        versions = tuple((str(file), _version(file)) for file in files)
        closure = self.tree.closure(folder)
        read = tuple((member.document.source.text, str(member.dropped)) for member in closure)
        key = (self.program, folder, self.tree.repository.top, versions, read)
        text = _BUILT.get(key)
        if text is None:
            text = self._text(folder, programs)
            if len(text) + sum(map(len, _BUILT.values())) < _MOST_KEPT:
                _BUILT[key] = text
        return text

    def _text(self, folder: str, programs: Programs) -> str:
        """Return the program's output for a folder; raise InputError with its message."""
        file, arguments = self.program
        readable = None
        if is_binary(file):
            readable = (str(self.folder / "copy"), os.path.realpath(file))
        access = FileAccess(readable, str(self.folder / "tmp"))
        copied = self.folder / "copy" / os.path.relpath(folder, self.tree.repository.top)
        given = [*arguments, os.path.normpath(copied), *_OPTIONS]
        try:
            home = {"HOME": access.temporary}
            done = programs.run(file, given, access, self.limits, home, inherits=False)
        except OSError as error:
            raise InputError(f"'{file}' cannot be started: {error.strerror or error}") from None
        except StoppedError as error:
            raise InputError(f"kustomize was stopped: {error.message}") from None
        if not done.code:
            return done.out
        said = _CONFIGURATION.sub(": ", done.err.strip())
        lines = said.splitlines() or ["kustomize fails without a message"]
        message = next((line for line in lines if line.startswith(_ERROR)), lines[-1])
        copy = str(self.folder / "copy")
        for name in (os.path.relpath(copy), copy):
            message = message.replace(name, self.tree.repository.name(self.tree.repository.top))
        inner = message.removeprefix(_ERROR).rpartition("recursed accumulation of path ")[2]
        of_file = _OF_FILE.search(inner)
        raise InputError(shortened(f"{of_file[2]}: {of_file[1]}" if of_file else inner, _SHOWN))

    def _failed(self, closure: Sequence[Kustomization], error: ChartkitError) -> _Built:
        if any(kustomization.dropped for kustomization in closure):
            # What is left out has its row, and may be what kustomize misses.
            return _Built()
        location = error.location or _place(self.tree, closure[0].folder)
        folder = self.tree.repository.name(closure[0].folder)
        hint = error.hint or f"correct it: `kustomize build {folder}` has the whole message"
        return _Built((), (unread(InputError(error.message, location, hint)),))


def _version(file: Path) -> object:
    if (content := edited(file)) is not None:
        return content
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


class _Copy:
    """A copy of the part of a repository that builds read."""

    def __init__(self, top: str, folder: Path) -> None:
        self._top = top
        self._folder = folder
        self._done: set[str] = set()
        self._bytes = 0
        folder.mkdir()

    def add(self, subject: Kustomization, is_root: bool, annotates: bool) -> None:
        """Copy a kustomization with its files; is_root: whether it is built; annotates: whether
        origins are. Raise InputError for more than a copy may hold, and for what cannot be read."""
        file = os.path.join(subject.folder, subject.name)
        if file not in self._done or is_root:
            content = None
            if is_root or subject.dropped:
                body = without(subject.body, subject.dropped)
                made = [name for name in list_of(body.get("buildMetadata")) if name != _ORIGINS]
                body |= {"buildMetadata": [*made, _ORIGINS]} if annotates else {}
                content = json.dumps(body).encode("utf-8", "replace")
            self._write(file, os.path.realpath(file), content)
        for reference in subject.files:
            if reference.path not in self._done:
                self._write(reference.path, reference.real, None)
        for reference in subject.folders:
            if reference.path != reference.real and reference.path not in self._done:
                target = self._target(reference.path)
                inside = self._folder / os.path.relpath(reference.real, self._top)
                if not os.path.lexists(target):
                    target.symlink_to(inside, target_is_directory=True)

    def _target(self, path: str) -> Path:
        self._done.add(path)
        if len(self._done) > MOST_FILES:
            raise InputError(f"kustomizations refer to more than {MOST_FILES:,} files")
        target = self._folder / os.path.relpath(path, self._top)
        target.parent.mkdir(parents=True, exist_ok=True)
        return target

    def _write(self, path: str, real: str, content: bytes | None) -> None:
        try:
            content = read(real, path) if content is None else content
        except ChartError as error:
            raise InputError(error.message, Location(real)) from None
        self._bytes += len(content)
        if self._bytes > MOST_BYTES:
            raise InputError(f"kustomizations refer to more than {size(MOST_BYTES)} of files")
        self._target(path).write_bytes(content)
