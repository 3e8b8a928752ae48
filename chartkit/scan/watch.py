"""`scan --watch`: a scan, and another of what has changed each time that files change.

Files are polled: network file systems and containers do not pass on
the system's notifications.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chartkit.documents.input_files import read_bytes
from chartkit.errors import ChartkitError, InputError
from chartkit.scan.changes import NAMESPACE, RELEASE, Past, deciding, files_at
from chartkit.scan.environment import ProjectEnvironment
from chartkit.scan.inputs import STDIN, is_remote, matching
from chartkit.scan.options import ScanOptions
from chartkit.scan.reporting import Console
from chartkit.wording import abridged

_PAUSE: Final = 0.2
"""The seconds between two looks, unless a look takes long itself."""
_SHARE: Final = 10
_NAMED: Final = 3
_INTERRUPTED: Final = 128
"""Exit codes from here on name a signal."""

Scan = Callable[[Past | None], int]
"""A function that scans all, or what is not as it was; it returns an exit code."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A file as it was. mark: its time, size and number, which change with its content."""

    mark: tuple[int, int, int]
    has_namespace: bool
    has_release: bool


Seen = Mapping[str, _Seen]


class Since:
    """The files that are there now, next to those that were."""

    def __init__(self, before: Seen, now: Seen) -> None:
        self._before, self._now = before, now
        self.with_namespaces = {file for file, each in now.items() if each.has_namespace}
        self.has_releases = any(each.has_release for each in now.values())

    @property
    def files(self) -> list[str]:
        """The files that changed, came or went."""
        both = dict.fromkeys((*self._now, *self._before))
        return [each for each in both if self.differs(each)]

    def differs(self, file: str) -> bool:
        before, now = self._before.get(file), self._now.get(file)
        return before is None or now is None or before.mark != now.mark

    def removed(self, path: str) -> Iterator[str]:
        for each in self._before:
            if each not in self._now and (each == path or each.startswith(f"{path}{os.sep}")):
                yield each

    def had_namespaces(self, files: Sequence[str]) -> bool:
        return any(each in self._before and self._before[each].has_namespace for each in files)


def watch(
    options: ScanOptions,
    console: Console,
    environment: ProjectEnvironment | None,
    scan: Scan,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Scan, and scan what has changed whenever files change; return the exit code of a scan that is
    interrupted.

    What cannot be used is reported, and tried again when it changes. Raise InputError for options
    that do not go together with it.
    """
    _require_files(options)
    others = () if environment is None else environment.sources

    def look(before: Seen) -> Seen:
        return _look(options, others, before)

    before = now = look({})
    is_first = True
    while True:
        since = Since(before, now)
        if not is_first:
            names = abridged(list(map(os.path.relpath, since.files)), _NAMED)
            console.stderr(f"--- {time.strftime('%H:%M:%S')} {names}")
        try:
            code = scan(None if is_first else since)
            console.stdout.flush()
            if code >= _INTERRUPTED:
                return code
        except ChartkitError as error:
            console.stderr(str(error))
        else:
            before, is_first = now, False
        now = _following(now, look, sleep)


def _following(now: Seen, look: Callable[[Seen], Seen], sleep: Callable[[float], None]) -> Seen:
    """Return the files once they differ from those now, and no longer change."""
    found = now
    while True:
        start = time.monotonic()
        later = look(found)
        is_quiet = not Since(found, later).files
        if is_quiet and Since(now, later).files:
            return later
        found = later
        sleep(max(_PAUSE, _SHARE * (time.monotonic() - start)))


def _look(options: ScanOptions, others: Sequence[Path], before: Seen) -> Seen:
    """Return the files that a scan reads, as they are; the content of one that has not changed is
    not read again."""
    found: dict[str, _Seen] = {}
    try:
        paths = [*map(Path, matching(options.request.paths)), *deciding(options), *others]
    except InputError:
        # A pattern matches nothing at the moment.
        return found
    for path in paths:
        for file in files_at(str(path.resolve())):
            try:
                stat = os.stat(file)
                mark = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
                known = before.get(file)
                if known is None or known.mark != mark:
                    content = read_bytes(file)
                    known = _Seen(
                        mark,
                        NAMESPACE.search(content) is not None,
                        RELEASE.search(content) is not None,
                    )
            except (OSError, InputError):
                # It went, or the scan says what is wrong with it.
                continue
            found[file] = known
    return found


def _require_files(options: ScanOptions) -> None:
    others = {
        "--cluster": options.cluster.cluster,
        "--policies-from": options.cluster.policies_from is not None,
        "--changed-since": options.changed_since is not None,
        "--update-baseline": options.gate.update_baseline,
        "--at": options.at is not None,
        "--json": options.is_json,
        "- (standard input)": STDIN in options.request.paths,
        "-o FORMAT=FILE": any("=" in each for each in options.outputs),
    }
    for name, is_given in others.items():
        if is_given:
            raise InputError(f"--watch and {name} do not go together", hint="leave one of them out")
    named = (*options.request.paths, *options.request.named_policies, *options.request.crds)
    if any(map(is_remote, named)):
        raise InputError("--watch is about files, and a URL names none")
