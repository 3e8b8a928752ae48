"""Reads the files of a chart's folder as Helm does, and refuses what leads out of it; packed charts
(`.tgz`) are unpacked here, and packed anew for Helm, so that Helm reads what was checked.

Sources: Helm, pkg/ignore; Go, path/filepath.Match.
"""

from __future__ import annotations

import gzip
import io
import lzma
import os
import posixpath
import re
import stat
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chartkit.documents.input_files import EDITED, checkout_top
from chartkit.helm.model import ChartError
from chartkit.helm.sandbox.process import size

FILE: Final = ".helmignore"
_ALWAYS: Final = "templates/.?*"
_BOM: Final = "\ufeff"
_CLASS: Final = re.compile(r"(\^?)((?:(?:\\.|[^\\\]-])(?:-(?:\\.|[^\\\]-]))?)+)\]", re.DOTALL)
_MEMBER: Final = re.compile(r"\\?(.)(?:-\\?(.))?", re.DOTALL)
MOST_FILES: Final = 20_000
MOST_BYTES: Final = 100 * 1024 * 1024
"""As much Helm itself takes of a packed chart."""
_DEEPEST: Final = 64
_OUT: Final = "charts are read without what is outside of them: put a copy into the chart"
_IGNORE: Final = f"{FILE} leaves out what is not part of the chart"
_HEADERS: Final = 1024
"""Bytes of an archive that a file takes beyond its content, at most."""


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: re.Pattern[str]
    whole: bool
    negated: bool
    folders: bool

    def matches(self, name: str) -> bool:
        return bool(self.pattern.fullmatch(name if self.whole else name.rpartition("/")[2]))


class IgnoreRules:
    """Decides which files of a chart Helm leaves out."""

    def __init__(self, text: str) -> None:
        """text: the content of `.helmignore`. A rule that Helm refuses ends them: Helm says why."""
        self._rules: list[_Rule] = []
        for line in [*text.removeprefix(_BOM).splitlines(), _ALWAYS]:
            rule = line.strip()
            if not rule or rule.startswith("#"):
                continue
            pattern = _translated(rule)
            if "**" in rule or pattern is None:
                return
            negated, rule = rule.startswith("!"), rule.removeprefix("!")
            folders, rule = rule.endswith("/"), rule.removesuffix("/")
            pattern = _translated(rule.removeprefix("/")) or re.compile("(?!)")
            self._rules.append(_Rule(pattern, "/" in rule, negated, folders))

    def __call__(self, name: str, folder: bool) -> bool:
        """Return true for a file or folder that is left out; name: its path in the chart."""
        for rule in self._rules:
            if rule.negated:
                if (rule.folders and not folder) or not rule.matches(name):
                    return True
            elif (folder or not rule.folders) and rule.matches(name):
                return True
        return False


def _translated(pattern: str) -> re.Pattern[str] | None:
    """A pattern of Go as a regular expression, None where it is malformed."""
    made, at = "", 0
    while at < len(pattern):
        character = pattern[at]
        at += 1
        if character == "*":
            made += "[^/]*"
        elif character == "?":
            made += "[^/]"
        elif character == "[":
            match = _CLASS.match(pattern, at)
            if match is None:
                return None
            made += _class(match[1] == "^", match[2])
            at = match.end()
        elif character == "\\":
            if at == len(pattern):
                return None
            made += re.escape(pattern[at])
            at += 1
        else:
            made += re.escape(character)
    return re.compile(made, re.DOTALL)


def _class(negated: bool, members: str) -> str:
    ranges = [(low, high or low) for low, high in _MEMBER.findall(members)]
    # A range the wrong way round matches nothing.
    inside = "".join(f"{re.escape(a)}-{re.escape(b)}" for a, b in ranges if a <= b)
    if not inside:
        return "." if negated else "(?!)"
    return f"[{'^' if negated else ''}{inside}]"


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or folder of a chart: its path there, the real one, and the mark of this version."""

    name: str
    path: str
    folder: bool
    version: tuple[int, int, int, int]


def entries(chart: Path) -> list[Entry]:
    """Everything that Helm reads of a chart, links followed. Raises ChartError for links that lead
    out of it and of the checkout that it is in, or in circles, for what is not a file, and for too
    much."""
    root = os.path.realpath(chart)
    inside = str(checkout_top(Path(root)) or root)
    ignored = IgnoreRules(_rules(root, inside))
    files: list[Entry] = []
    total = 0
    for entry in _walk(_Folder(root, "", (root,)), inside, ignored):
        files.append(entry)
        total += 0 if entry.folder else entry.version[0]
        if len(files) > MOST_FILES:
            raise ChartError(f"has more than {MOST_FILES:,} files")
        if total > MOST_BYTES:
            raise ChartError(f"has more than {size(MOST_BYTES)} of files", "", _IGNORE)
    return files


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder to walk: its real path, its name in the chart, the real folders above it."""

    path: str
    name: str
    chain: tuple[str, ...]


def _walk(folder: _Folder, inside: str, ignored: IgnoreRules) -> Iterator[Entry]:
    if len(folder.chain) > _DEEPEST:
        raise ChartError(f"has folders more than {_DEEPEST} deep", folder.name)
    try:
        listed = sorted(os.listdir(folder.path))
    except OSError as error:
        raise ChartError(f"cannot be read: {error.strerror}", folder.name) from None
    for entry in listed:
        name = f"{folder.name}/{entry}".removeprefix("/")
        path = os.path.join(folder.path, entry)
        if ignored(name, os.path.isdir(path)):
            continue
        real = _real(path, name, inside)
        status = os.lstat(real)
        is_folder = stat.S_ISDIR(status.st_mode)
        if not is_folder and not stat.S_ISREG(status.st_mode):
            raise ChartError("is neither a file nor a folder", name)
        version = (status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev)
        if (content := EDITED.get(real)) is not None:
            version = (len(content), hash(content), 0, 0)
        yield Entry(name, real, is_folder, (0, 0, 0, 0) if is_folder else version)
        if is_folder:
            if real in folder.chain:
                raise ChartError("is a link that leads in a circle", name)
            yield from _walk(_Folder(real, name, (*folder.chain, real)), inside, ignored)


def _real(path: str, name: str, inside: str) -> str:
    """A path with links followed; ChartError outside of the folder, or where git keeps its."""
    if not os.path.islink(path):
        return path
    try:
        real = os.path.realpath(path, strict=True)
    except OSError as error:
        raise ChartError(f"is a link that cannot be followed: {error.strerror}", name) from None
    below = os.path.relpath(real, inside).split(os.sep)
    if os.pardir in below[:1] or ".git" in below:
        target = os.readlink(path)
        raise ChartError(f"is a link that leads out of the chart, to {target}", name, _OUT)
    return real


def _rules(root: str, inside: str) -> str:
    """The text of .helmignore, which must be a file of the chart, too."""
    path = os.path.join(root, FILE)
    if not os.path.lexists(path):
        return ""
    real = _real(path, FILE, inside)
    if not os.path.isfile(real):
        raise ChartError("is not a file", FILE)
    return read(real, FILE).decode("utf-8", "replace")


def read(path: str, name: str) -> bytes:
    """The content of a file of a chart, for which nothing is waited; raises ChartError."""
    if (content := EDITED.get(path)) is not None:
        return content
    try:
        # A pipe that was put there meanwhile must not be waited for, nor a link be followed.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
        opened = os.open(path, flags | getattr(os, "O_BINARY", 0))
        with os.fdopen(opened, "rb") as file:
            if not stat.S_ISREG(os.fstat(opened).st_mode):
                raise ChartError("is not a file", name)
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise ChartError(f"cannot be read: {error.strerror}", name) from None
    if len(content) > MOST_BYTES:
        raise ChartError(f"is larger than {size(MOST_BYTES)}", name)
    return content


def unpacked(content: bytes, file: str) -> dict[str, bytes]:
    """Return a packed chart's files, by their path below its one folder. A link in the archive is
    an empty file for Helm; raise ChartError where it leads out. file: for messages."""
    files: dict[str, bytes] = {}
    most = MOST_BYTES + MOST_FILES * _HEADERS
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
            inflated = stream.read(most + 1)
        if len(inflated) > most:
            raise ChartError(f"has more than {size(MOST_BYTES)} of files", file)
        with tarfile.open(fileobj=io.BytesIO(inflated), mode="r:") as archive:
            for count, member in enumerate(archive, 1):
                if count > MOST_FILES:
                    raise ChartError(f"has more than {MOST_FILES:,} files", file)
                if member.isdir():
                    continue
                _check_link(member, file)
                _, _, inside = member.name.replace("\\", "/").partition("/")
                name = posixpath.normpath(inside)
                if not inside or name.startswith(("..", "/")) or name == ".":
                    message = f"holds '{member.name}', which is not below the chart's folder"
                    raise ChartError(message, file)
                reader = archive.extractfile(member) if member.isreg() else None
                files[name] = reader.read() if reader is not None else b""
    except (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError, ValueError):
        raise ChartError("is not a chart in a gzipped archive, or damaged", file) from None
    return files


def packed(files: Mapping[str, bytes], folder: str) -> bytes:
    """An archive with these files in a folder, and nothing else."""
    made = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=made, mode="wb", compresslevel=1, mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w:") as archive,
    ):
        for name, content in files.items():
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return made.getvalue()


def _check_link(member: tarfile.TarInfo, file: str) -> None:
    if not (member.issym() or member.islnk()):
        return
    start = posixpath.dirname(member.name) if member.issym() else ""
    target = posixpath.normpath(posixpath.join(start, member.linkname))
    inside = posixpath.normpath(member.name).partition("/")[0]
    if target.startswith(("/", "..")) or target.partition("/")[0] != inside:
        text = f"holds the link '{member.name}', which leads out of the chart, to {member.linkname}"
        raise ChartError(text, file)
