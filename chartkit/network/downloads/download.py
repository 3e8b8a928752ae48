"""Takes a file from a server that may be slow, broken or hostile, and reads folders and
archives (tar.gz and zip), within limits and without anything but files."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from http import HTTPStatus
from pathlib import Path
from typing import Final

from chartkit.errors import InputError
from chartkit.model import Location
from chartkit.network.downloads.lockfile import (
    PLAIN,
    FileCollector,
    Limits,
    checked_name,
    is_left_out,
)
from chartkit.network.http.connections import anywhere
from chartkit.network.http.errors import Fault, NetworkError
from chartkit.network.http.transport import Request, Response, Route, Transport
from chartkit.network.http.urls import Url, UrlError, read_url, shown_url

_AGAIN = "try again later, or download it yourself and vendor the file"
_HINTS = {
    Fault.UNNAMED: "name the host with it: chartkit connects to no other",
    Fault.FORBIDDEN: "it is link-local, or a cloud's metadata service",
    Fault.INSIDE: "give the URL that it leads to, if that is where the file should come from",
    Fault.UNTRUSTED: "name your authority's certificate in a file by REQUESTS_CA_BUNDLE",
}
_SHAPE = "give a URL of http or https, or a path"
_SECRET = "the lock file would contain it: keep it in ~/.netrc, or download the file yourself"
_GZIP: Final = b"\x1f\x8b"
_ZIP: Final = b"PK"
_END: Final = b"PK\x05\x06"
_END_SIZE: Final = 22
_END64: Final = b"PK\x06\x07"
_END64_SIZE: Final = 20
_COMMENT: Final = 65535
_ENTRY: Final = 512
"""Bytes of a zip archive's directory that an entry may take on average."""
_ENCRYPTED: Final = 1
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_CHUNK: Final = 65536


def download(url: str, limits: Limits, route: Route = anywhere) -> bytes:
    """Return what a URL holds; raises InputError with one line, also after the last attempt failed.

    route: which hosts may be asked.

    Proxies, a file of certificates (`REQUESTS_CA_BUNDLE`) and names with passwords (`~/.netrc`)
    are taken from the environment; the system's own certificates are trusted besides.
    """
    checked_url(url)
    location = Location(shown_url(url))
    with closing(Transport(limits, route, logins=True)) as transport:
        answer = asked(transport, Request(url, limits.archive), limits)
    return body_of(answer, location)


def asked(transport: Transport, request: Request, limits: Limits) -> Response:
    """Return the response to a request; raise InputError without a response."""
    try:
        return transport.ask(request)
    except NetworkError as error:
        raise failed(error, Location(shown_url(request.url)), limits) from None


def body_of(answer: Response, location: Location) -> bytes:
    """Return the body of a server's answer; raise InputError for any other status than 200."""
    if answer.is_passing:
        text = f"the server answers {answer.status}, in {answer.attempts} attempts"
        raise InputError(text, location, _AGAIN)
    if answer.status != HTTPStatus.OK:
        raise InputError(f"the server answers {answer.status}", location)
    return answer.body


def failed(error: NetworkError, location: Location, limits: Limits) -> InputError:
    """Return the error of a source that could not be reached."""
    if error.fault is Fault.CUT and error.detail:
        text = f"the server cut the answer after {error.detail} bytes"
    elif error.fault is Fault.REDIRECT and error.url is not None:
        text = f"redirects from {error.url.scheme} to {error.detail}"
    elif error.fault is Fault.OVERDUE:
        text = f"the server did not finish within {limits.patience:g} seconds"
    elif error.fault is Fault.TOO_LARGE:
        text = f"is larger than {limits.archive:,} bytes"
    else:
        text = error.words(limits)
    if error.is_passing:
        return InputError(f"{text}, in {error.attempts} attempts", location, _AGAIN)
    return InputError(text, location, _HINTS.get(error.fault))


def checked_url(url: str) -> Url:
    """Return a URL of http or https; raises InputError for any other, or with a password."""
    location = Location(shown_url(url))
    try:
        parsed = read_url(url)
    except UrlError:
        raise InputError("is not an http or https URL", location, _SHAPE) from None
    if parsed.authorization:
        raise InputError("a URL must not contain a name or password", location, _SECRET)
    return parsed


def unpack(content: bytes, source: str, limits: Limits) -> dict[str, bytes]:
    """Return an archive's files by path. source: its name, for messages. Raises InputError for what
    is damaged, too much, or no plain file."""
    if content.startswith(_GZIP):
        stream = _LimitedGzip(content, source, limits)
        collected = FileCollector(source, limits)
        try:
            with tarfile.open(fileobj=stream, mode="r|") as archive:
                for count, member in enumerate(archive, 1):
                    if member.issym() or member.islnk():
                        raise _no_file(member.name, "a link", source)
                    if member.issparse() or not (member.isreg() or member.isdir()):
                        raise _no_file(member.name, "neither a file nor a folder", source)
                    if member.size < 0:
                        raise _damaged(source)
                    collected.announce(count, member.size)
                    if member.isdir():
                        continue
                    name = checked_name(member.name, source)
                    inner = archive.extractfile(member)
                    data = inner.read() if inner is not None else b""
                    if len(data) != member.size:
                        raise _damaged(source)
                    if not is_left_out(name):
                        collected.add(name, data)
            stream.drain()
        except (tarfile.TarError, EOFError, OSError, zlib.error, RecursionError, ValueError):
            raise _damaged(source) from None
        return collected.finish()
    if content.startswith(_ZIP):
        return _unzip(content, source, limits)
    hint = "archives end in .tar.gz, .tgz or .zip"
    raise InputError("is neither a tar.gz nor a zip archive", Location(source), hint)


def _damaged(source: str) -> InputError:
    return InputError("the archive is cut or damaged", Location(source))


def _no_file(name: str, what: str, source: str) -> InputError:
    return InputError(f"'{name}' in the archive is {what}", Location(source), PLAIN)


class _LimitedGzip(io.RawIOBase):
    """The content of a gzip archive, up to a limit."""

    def __init__(self, content: bytes, source: str, limits: Limits) -> None:
        self._packed = len(content)
        self._inner = gzip.GzipFile(fileobj=io.BytesIO(content))
        self._source = source
        self._limits = limits
        self._total = 0

    def read(self, size: int = -1) -> bytes:
        """Raises InputError where the archive unpacks to too much."""
        chunk = self._inner.read(_CHUNK if size < 0 else min(size, _CHUNK))
        self._total += len(chunk)
        _check_ratio(self._total, self._packed, self._source, self._limits)
        # Every file stands in blocks of 512 bytes behind a header of 512.
        if self._total > self._limits.total + 1024 * self._limits.files:
            text = f"is larger than {self._limits.total:,} bytes when unpacked"
            raise InputError(text, Location(self._source))
        return chunk

    def drain(self) -> None:
        """Read the rest, so that the checksum is verified."""
        while self.read(_CHUNK):
            pass


def _check_ratio(unpacked: int, packed: int, source: str, limits: Limits) -> None:
    if unpacked > limits.ratio_from and unpacked > limits.ratio * packed:
        what = f"unpacks to more than {limits.ratio} times its size"
        raise InputError(what, Location(source), "that is a zip bomb")


def _unzip(content: bytes, source: str, limits: Limits) -> dict[str, bytes]:
    # The number of entries is checked before the directory is read, which takes memory for each.
    at = content.rfind(_END, max(0, len(content) - _END_SIZE - _COMMENT))
    if at < 0 or at + _END_SIZE > len(content):
        raise _damaged(source)
    entries, size = struct.unpack_from("<HL", content, at + 10)
    large = content[max(0, at - _END64_SIZE) : at].startswith(_END64)
    if large or entries > limits.files or size > limits.files * _ENTRY:
        raise InputError(f"has more than {limits.files:,} files", Location(source))
    collected = FileCollector(source, limits)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            if len(members) != entries:
                raise _damaged(source)
            announced = sum(member.file_size for member in members)
            _check_ratio(announced, len(content), source, limits)
            for member in members:
                mode = member.external_attr >> 16
                kind = stat.S_IFMT(mode)
                if kind == stat.S_IFLNK:
                    raise _no_file(member.filename, "a link", source)
                if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                    raise _no_file(member.filename, "neither a file nor a folder", source)
                if member.flag_bits & _ENCRYPTED:
                    raise InputError("the archive is encrypted", Location(source))
                if member.compress_type not in _METHODS:
                    raise InputError("the archive is of an unknown kind", Location(source))
                collected.announce(0, member.file_size)
                if member.is_dir():
                    continue
                name = checked_name(member.filename, source)
                with archive.open(member) as stream:
                    data = stream.read(member.file_size + 1)
                if len(data) != member.file_size:
                    raise _damaged(source)
                if not is_left_out(name):
                    collected.add(name, data)
    except (zipfile.BadZipFile, EOFError, OSError, zlib.error, lzma.LZMAError, ValueError):
        raise _damaged(source) from None
    except (NotImplementedError, RuntimeError):
        raise InputError("the archive is of an unknown kind", Location(source)) from None
    return collected.finish()


def read_archive(path: Path, source: str, limits: Limits) -> bytes:
    """Return an archive's bytes; source: its name, for messages. Raises InputError."""
    try:
        if path.stat().st_size > limits.archive:
            raise InputError(f"is larger than {limits.archive:,} bytes", Location(source))
        return path.read_bytes()
    except FileNotFoundError:
        hint = "give a folder, a git checkout, or an archive by its path or URL"
        raise InputError("no such file or folder", Location(source), hint) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", Location(source)) from None


def read_folder(root: Path, limits: Limits) -> dict[str, bytes]:
    """Return a folder's files by path; raises InputError for what is too much, or no plain file."""
    collected = FileCollector(str(root), limits)
    for count, entry in enumerate(_walk(root), 1):
        name = checked_name(Path(entry.path).relative_to(root).as_posix(), str(root))
        if is_left_out(name):
            continue
        if entry.is_symlink() or not entry.is_file(follow_symlinks=False):
            what = "a link" if entry.is_symlink() else "neither a file nor a folder"
            raise InputError(f"'{name}' is {what}", Location(str(root)), PLAIN)
        collected.announce(count, entry.stat(follow_symlinks=False).st_size)
        try:
            collected.add(name, Path(entry.path).read_bytes())
        except OSError as error:
            text = f"cannot be read: {error.strerror}"
            raise InputError(text, Location(entry.path)) from None
    return collected.finish()


def _walk(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError as error:
        text = f"cannot be read: {error.strerror}"
        raise InputError(text, Location(str(folder))) from None
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if not is_left_out(entry.name):
                yield from _walk(Path(entry.path))
        else:
            yield entry
