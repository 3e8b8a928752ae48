"""Finds what changed since a revision or another time, and scans again when files change."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from chartkit.documents.input_files import file_state, is_file, read_bytes
from chartkit.engine import RunnablePolicy
from chartkit.errors import ChartkitError, InputError
from chartkit.helm.kustomize.places import BuiltPlaces
from chartkit.model import Location, Resource
from chartkit.network.downloads.checkout import blob_id, blobs_of, is_checkout, tree_of
from chartkit.scan.environment import ProjectEnvironment
from chartkit.scan.inputs import STDIN, existing, is_chart, is_manifest, matching
from chartkit.scan.options import ScanOptions
from chartkit.scan.reporting import Console
from chartkit.wording import abridged

NAMESPACE: Final = re.compile(rb"Namespace|CustomResourceDefinition")
"""A word in every file with an object on which verdicts about others depend, by its labels or its
schema."""
RELEASE: Final = re.compile(rb"helm\.toolkit\.fluxcd\.io|argoproj\.io")
"""A word in every file with an object that declares releases."""
_PAUSE: Final = 0.2
"""The seconds between two looks, unless a look takes long itself."""
_SHARE: Final = 10
_NAMED: Final = 3
_INTERRUPTED: Final = 128
"""Exit codes from here on name a signal."""


class Past(Protocol):
    """Files as they were before; paths are absolute and without links.

    with_namespaces: files that now have an object on which verdicts about others depend;
    has_releases: whether any has an object that declares releases.
    """

    with_namespaces: set[str]
    has_releases: bool

    def differs(self, file: str) -> bool:
        """Report whether a file is not what it was."""

    def removed(self, path: str) -> Iterator[str]:
        """Yield the files that were at a path or below it, and are not any more."""

    def had_namespaces(self, files: Sequence[str]) -> bool:
        """Report whether any of the files may have had a Namespace."""


class _Checkout:
    """A checkout and one of its revisions; paths are absolute and without links."""

    def __init__(self, root: Path, revision: str) -> None:
        self._root = root
        self._start = f"{root}{os.sep}" if str(root) != os.sep else os.sep
        self._tree = tree_of(root, revision)
        self._known: dict[str, bool] = {}
        self.with_namespaces: set[str] = set()
        self.has_releases = False

    def differs(self, file: str) -> bool:
        """Report whether a file's content differs from the revision."""
        if file not in self._known:
            blob = self._tree.get(self._name(file))
            try:
                content = read_bytes(file)
            except InputError:
                self._known[file] = True  # Reading it says what is wrong.
                return True
            if NAMESPACE.search(content):
                self.with_namespaces.add(file)
            self.has_releases = self.has_releases or RELEASE.search(content) is not None
            self._known[file] = blob is None or blob_id(content, blob) != blob
        return self._known[file]

    def removed(self, path: str) -> Iterator[str]:
        """Yield the files that only the revision has at a path or below it."""
        name = self._name(path)
        for path_ in self._tree:
            is_below = name in ("", path_) or path_.startswith(f"{name}/")
            if is_below and _counts(Path(path_), self._root):
                file = self._start + path_
                if not os.path.lexists(file):
                    yield file

    def had_namespaces(self, files: Sequence[str]) -> bool:
        """Report whether any of the files may have had a Namespace at the revision."""
        names = map(self._name, files)
        blobs = [self._tree[name] for name in names if name in self._tree]
        return any(NAMESPACE.search(blob) for blob in blobs_of(self._root, blobs))

    def _name(self, file: str) -> str:
        name = file[len(self._start) :]
        return name.replace(os.sep, "/") if os.sep != "/" else name


class Changes:
    """The changes since a revision, or another time. reason: why all objects are judged; empty
    where they are not, and before `decide`."""

    def __init__(
        self,
        paths: Sequence[str],
        deciding: Iterable[Path],
        revision: str | None,
        past: Past | None = None,
    ) -> None:
        """paths: of objects; deciding: the files and folders on which all verdicts depend; past:
        all files as they were, None for those of the revision. Raise InputError for paths in no
        checkout, and for what is not a revision of it."""
        self.reason = ""
        self._revision = revision or ""
        self._past = past
        self._checkouts: dict[Path, Past] = {}
        self._folders: dict[str, str] = {}
        self._deciding = list(deciding)
        self._looked_at: list[str] = []
        self._changed: set[str] = set()
        for named in matching(paths):
            if named == STDIN:
                continue
            path = existing(Path(named)).resolve()
            checkout = self._checkout(path)
            if checkout is None:
                hint = "--changed-since compares files with a revision of it"
                raise InputError("is in no git checkout", Location(str(path)), hint)
            self._looked_at.append(str(path))
            changed = [file for file in files_at(str(path)) if checkout.differs(file)]
            self._changed.update(changed)
            for file in checkout.removed(str(path)):
                self.reason = self.reason or f"{file} was removed"
            if not checkout.with_namespaces.isdisjoint(changed) or checkout.had_namespaces(changed):
                self.reason = self.reason or "a file with a Namespace has changed"

    def decide(self, policies: Sequence[RunnablePolicy]) -> None:
        """Find out whether the changes may alter verdicts of other objects; raise InputError."""
        self.reason = self._reason(policies)

    def reads(self, path: Path) -> bool:
        """Report whether a manifest or a chart has to be read."""
        file = self._resolved(path)
        if path.is_dir() or not self._is_below(file):
            return bool(self.reason) or self._has_changed(file)
        if self.reason or file in self._changed:
            return True
        return any(file in past.with_namespaces for past in self._checkouts.values())

    def judges(self, resource: Resource) -> bool:
        """Report whether an object is judged."""
        path = Path(resource.location.file)
        # What is not a file came through standard input, or is rendered or built: only what changed
        # is.
        is_built = isinstance(resource.location.places, BuiltPlaces)
        if self.reason or is_built or not is_file(path) or any(map(is_chart, path.parents)):
            return True
        return self._has_changed(self._resolved(path))

    def _has_changed(self, path: str) -> bool:
        """Report whether a file, or anything in a folder, has changed; true behind a link."""
        start = f"{path}{os.sep}"
        is_changed = path in self._changed or any(file.startswith(start) for file in self._changed)
        return is_changed or not self._is_below(path)

    def _is_below(self, path: str) -> bool:
        return any(path == root or path.startswith(f"{root}{os.sep}") for root in self._looked_at)

    def _resolved(self, path: Path) -> str:
        folder, name = os.path.split(path)
        if folder not in self._folders:
            self._folders[folder] = os.path.realpath(folder)
        return os.path.join(self._folders[folder], name)

    def _reason(self, policies: Sequence[RunnablePolicy]) -> str:
        for path in self._deciding:
            whole = path.resolve()
            checkout = self._checkout(whole)
            if checkout is None:
                return f"{path} is in no git checkout"
            differ = any(map(checkout.differs, files_at(str(whole))))
            if differ or any(checkout.removed(str(whole))):
                return f"{path} has changed"
        has_releases = any(past.has_releases for past in self._checkouts.values())
        if not self.reason and self._changed and has_releases:
            return "a HelmRelease or an Application may take values of what has changed"
        if not self.reason and self._changed and any(policy.looks_around for policy in policies):
            return "policies ask for other objects"
        return self.reason

    def _checkout(self, path: Path) -> Past | None:
        if self._past is not None:
            return self._checkouts.setdefault(Path(), self._past)
        root = next((file for file in (path, *path.parents) if is_checkout(file)), None)
        if root is None:
            return None
        if root not in self._checkouts:
            self._checkouts[root] = _Checkout(root, self._revision)
        return self._checkouts[root]


def files_at(path: str) -> Iterator[str]:
    """Yield the manifests at a path or below it, and all files of charts."""
    if not os.path.isdir(path):
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if name != ".git"]
        whole = Path(folder)
        is_part = any(map(is_chart, (whole, *whole.parents)))
        for name in names:
            if is_part or is_manifest(Path(name)):
                yield os.path.join(folder, name)


def _counts(file: Path, root: Path) -> bool:
    return is_manifest(file) or any(map(is_chart, (root / file).parents))


Scan = Callable[[Past | None], int]
"""A function that scans all, or what is not as it was; it returns an exit code."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A file as it was. mark: its time, size and number, which change with its content."""

    mark: tuple[int, ...]
    has_namespace: bool
    has_release: bool


Seen = Mapping[str, _Seen]


class Since:
    """The files that are there now, next to those that were."""

    def __init__(self, before: Seen, now: Seen) -> None:
        self._before, self._now = before, now
        self.with_namespaces = {file for file, seen in now.items() if seen.has_namespace}
        self.has_releases = any(seen.has_release for seen in now.values())

    @property
    def files(self) -> list[str]:
        """The files that changed, came or went."""
        both = dict.fromkeys((*self._now, *self._before))
        return [file for file in both if self.differs(file)]

    def differs(self, file: str) -> bool:
        before, now = self._before.get(file), self._now.get(file)
        return before is None or now is None or before.mark != now.mark

    def removed(self, path: str) -> Iterator[str]:
        for file in self._before:
            if file not in self._now and (file == path or file.startswith(f"{path}{os.sep}")):
                yield file

    def had_namespaces(self, files: Sequence[str]) -> bool:
        return any(file in self._before and self._before[file].has_namespace for file in files)


def scan_changes(
    options: ScanOptions,
    console: Console,
    environment: ProjectEnvironment | None,
    scan: Scan,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Scan, and scan what has changed whenever files change; return the exit code of a scan that is
    interrupted. Raise InputError for options that do not go together with it."""
    options.require_watchable()
    others = () if environment is None else environment.sources

    def paths() -> list[Path]:
        named = matching(options.request.inputs.paths)
        return [*map(Path, named), *options.deciding(), *others]

    def run(past: Past | None) -> int:
        code = scan(past)
        console.stdout.flush()
        return code

    return repeat_on_changes(paths, run, console.stderr, sleep)


def repeat_on_changes(
    paths: Callable[[], Iterable[Path]],
    run: Scan,
    say: Callable[[str], None],
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Run something now and whenever files at paths change; return the exit code of a run that is
    interrupted. Files are polled: network file systems and containers do not pass on the system's
    notifications. What cannot be used is reported, and tried again when it changes."""

    def look(before: Seen) -> Seen:
        try:
            return _look(paths(), before)
        except ChartkitError:
            # A pattern matches nothing at the moment.
            return {}

    before = now = look({})
    is_first = True
    while True:
        since = Since(before, now)
        if not is_first:
            names = abridged(list(map(os.path.relpath, since.files)), _NAMED)
            say(f"--- {time.strftime('%H:%M:%S')} {names}")
        try:
            code = run(None if is_first else since)
            if code >= _INTERRUPTED:
                return code
        except ChartkitError as error:
            say(str(error))
        else:
            before, is_first = now, False
        now = _following(now, look, sleep)


def _look(paths: Iterable[Path], before: Seen) -> Seen:
    """Return the files that a scan reads; one that has not changed is not read again."""
    seen: dict[str, _Seen] = {}
    for path in paths:
        for file in files_at(str(path.resolve())):
            try:
                mark = file_state(file)
                old = before.get(file)
                if old is None or old.mark != mark:
                    content = read_bytes(file)
                    is_namespace = NAMESPACE.search(content) is not None
                    old = _Seen(mark, is_namespace, RELEASE.search(content) is not None)
            except (OSError, InputError):
                # It went, or the scan says what is wrong with it.
                continue
            seen[file] = old
    return seen


def _following(now: Seen, look: Callable[[Seen], Seen], sleep: Callable[[float], None]) -> Seen:
    """Return the files once they differ from those now, and no longer change."""
    seen = now
    while True:
        start = time.monotonic()
        later = look(seen)
        is_quiet = not Since(seen, later).files
        if is_quiet and Since(now, later).files:
            return later
        seen = later
        sleep(max(_PAUSE, _SHARE * (time.monotonic() - start)))
