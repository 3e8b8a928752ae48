"""Sources by their URLs: files, archives and repositories of git, fetched whole; object stores.

`https://HOST/FILE`, `https://HOST/ARCHIVE.tar.gz//PATH`, `https://HOST/REPOSITORY.git//PATH` or
`git+https://HOST/REPOSITORY//PATH`, `ssh://USER@HOST/REPOSITORY//PATH` or
`USER@HOST:REPOSITORY//PATH`; pinned by `#sha256=DIGEST`, of git by `?ref=COMMIT`.
Objects (`s3://`, `gs://`, …) are read and written by fsspec (extra `chartkit[remote]`), with the
credentials, regions and endpoints of the store's own configuration, such as AWS's variables.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Final
from urllib.parse import parse_qs

from chartkit.errors import ChartkitError, InputError, extra
from chartkit.model import Location
from chartkit.network.downloads.download import checked_url, download, unpack
from chartkit.network.downloads.git import COMMIT, fetch_revision, fetch_ssh_revision, read_ssh
from chartkit.network.downloads.lockfile import DEFAULT, Limits, checked_name, digest
from chartkit.network.http.connections import AllowedHosts, allowed_route, anywhere
from chartkit.network.http.transport import Route
from chartkit.network.http.urls import is_url, shown_url
from chartkit.output.atomic_folder import path_below

_GIT: Final = re.compile(r"git(?:\+|::)(?=https?://)", re.IGNORECASE)
_SHORT: Final = re.compile(r"[\w.+-]+@[\w.-]+:(?!//)")
_SSH: Final = re.compile(r"(?:git(?:\+|::))?ssh://", re.IGNORECASE)
_ARCHIVE: Final = re.compile(r"\.(?:tar\.gz|tgz|zip)$", re.IGNORECASE)
_REPOSITORY: Final = re.compile(r"\.git/?$", re.IGNORECASE)
_PIN: Final = re.compile(r"sha256[=:]([0-9a-fA-F]{64})")
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")
_DEFAULT_NAME: Final = "file.yaml"


@dataclass(frozen=True, slots=True)
class RemoteSource:
    """A source as the user names it. url: what is asked; path: below it, empty for all; ref: a
    revision, of git; pin: the SHA-256 that it must have, empty for any."""

    url: str
    path: str = ""
    ref: str = ""
    pin: str = ""
    is_git: bool = False
    is_ssh: bool = False

    @property
    def shown(self) -> str:
        """The URL in messages."""
        return read_ssh(self.url).shown.file if self.is_ssh else shown_url(self.url)

    @property
    def is_pinned(self) -> bool:
        """Report whether every fetch gives the same files."""
        return bool(COMMIT.fullmatch(self.ref)) if self.is_git else bool(self.pin)


@dataclass(frozen=True, slots=True)
class Fetched:
    """The content of a source. files: by path; path: the one that is meant, or the folder of those
    that are, empty for all; revision: a commit, or the SHA-256 of a file or archive."""

    source: RemoteSource
    files: Mapping[str, bytes]
    path: str
    revision: str


def is_remote(text: str) -> bool:
    """Report whether a source is on another machine."""
    return is_url(text) or _SHORT.match(text) is not None


def read_remote(text: str) -> RemoteSource:
    """Read the URL of a source; raise InputError."""
    rest, _, fragment = text.partition("#")
    git = _GIT.match(rest)
    rest = rest[git.end() :] if git else rest
    location = Location(shown_url(rest))
    is_ssh = _SSH.match(rest) is not None or _SHORT.match(rest) is not None
    if rest.lower().startswith("git://"):
        hint = "nothing says who answers there: give a URL of https or ssh"
        raise InputError("cannot be fetched from there", location, hint)
    if is_ssh:
        scheme, separator, behind = rest.rpartition("ssh://")
        target, _, query = behind.partition("?")
        outer, _, inner = target.partition("//")
        url = f"{scheme}{separator}{outer}"
        shown = read_ssh(url).shown
        if fragment:
            raise InputError("a repository is pinned by a commit", shown, "write ?ref=COMMIT")
        path = checked_name(inner.strip("/"), shown.file) if inner.strip("/") else ""
        return RemoteSource(url, path, _ref(query, location), is_git=True, is_ssh=True)
    if not rest.lower().startswith(("http://", "https://")):
        raise InputError("is not an http or https URL", location, "give one, or a path")
    pin = _PIN.fullmatch(fragment)
    if fragment and pin is None:
        raise InputError("what is after # must be sha256= and 64 digits", location)
    scheme, _, behind = rest.partition("://")
    target, question, query = behind.partition("?")
    outer, slashes, inner = target.partition("//")
    is_git = git is not None or _REPOSITORY.search(outer) is not None
    if slashes and not is_git and not _ARCHIVE.search(outer):
        outer, inner = target, ""
    path = checked_name(inner.strip("/"), location.file) if inner.strip("/") else ""
    if not is_git:
        url = f"{scheme}://{outer}{question}{query}"
        checked_url(url)
        return RemoteSource(url, path, pin=pin[1].lower() if pin else "")
    if pin is not None:
        raise InputError("a repository is pinned by a commit", location, "write ?ref=COMMIT")
    url = f"{scheme}://{outer}"
    checked_url(url)
    return RemoteSource(url, path, _ref(query, location), is_git=True)


def _ref(query: str, location: Location) -> str:
    if not query:
        return ""
    given = parse_qs(query, keep_blank_values=True)
    if given.keys() != {"ref"} or len(given["ref"]) != 1 or not given["ref"][0]:
        raise InputError("what is after ? must be ref= and a revision", location)
    ref = given["ref"][0]
    if ref.startswith("-") or not ref.isprintable():
        raise InputError(f"'{ref}' is not a revision", location)
    return ref


def fetch(source: RemoteSource, allowed: AllowedHosts, limits: Limits = DEFAULT) -> Fetched:
    """Fetch a source from a host that the user names; raise InputError."""
    route = partial(allowed_route, allowed)
    if source.is_git:
        commit, files = fetch_repository(source, source.ref, limits, route)
        return _checked(Fetched(source, files, source.path, commit))
    content = download_pinned(source, limits, route)
    revision = digest(content)
    if not _ARCHIVE.search(checked_url(source.url).path):
        name = _UNSAFE.sub("-", checked_url(source.url).path.rpartition("/")[2]).strip(".-")
        return Fetched(source, {name or _DEFAULT_NAME: content}, name or _DEFAULT_NAME, revision)
    files = unpack(content, source.shown, limits)
    return _checked(Fetched(source, files, _inside(source.path, files), revision))


def fetch_repository(
    source: RemoteSource, ref: str, limits: Limits, route: Route = anywhere
) -> tuple[str, dict[str, bytes]]:
    """Return the commit of a ref, and the files that the source means; raise InputError."""
    only = (source.path,) if source.path else ()
    take = fetch_ssh_revision if source.is_ssh else fetch_revision
    return take(source.url, ref, limits, only, route)


def download_pinned(source: RemoteSource, limits: Limits, route: Route = anywhere) -> bytes:
    """Return a file or archive; raise InputError, also for another than the pinned one."""
    content = download(source.url, limits, route)
    revision = digest(content)
    if source.pin and revision != source.pin:
        message = f"has the SHA-256 {revision}, and not the one that it is pinned to"
        raise InputError(message, Location(source.shown), "look at what changed before you pin it")
    return content


def _inside(path: str, files: Mapping[str, bytes]) -> str:
    """Return a path in an archive, also where it is written without the one folder around all."""
    tops = {name.partition("/")[0] for name in files}
    top = tops.pop() if len(tops) == 1 else ""
    is_there = any(name == path or name.startswith(f"{path}/") for name in files)
    return f"{top}/{path}" if path and top and not is_there else path


def _checked(fetched: Fetched) -> Fetched:
    path = fetched.path
    if not any(not path or name == path or name.startswith(f"{path}/") for name in fetched.files):
        message = f"there is no file or folder '{path}' in it" if path else "holds no file"
        raise InputError(message, Location(fetched.source.shown))
    return fetched


def download_object(url: str, folder: Path) -> Path:
    """Download an object, or all below a path, into a folder; return the file or the folder. Raise
    InputError for what is not there or cannot be read."""
    system, path = _system(url)
    with _errors(url):
        if system.isfile(path):
            file = path_below(folder, PurePosixPath(path).name)
            system.get_file(path, str(file))
            return file
        sources = sorted(system.find(path))
        for source in sources:
            file = path_below(folder, source.removeprefix(path.rstrip("/")).lstrip("/"))
            file.parent.mkdir(parents=True, exist_ok=True)
            system.get_file(source, str(file))
    if not sources:
        raise InputError("no such file or folder", Location(url))
    return folder


def upload(url: str, pieces: Iterable[str]) -> None:
    """Write a text to a file of an object store, whole or not at all; raise InputError."""
    system, path = _system(url)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="", delete=False) as file:
        try:
            file.writelines(pieces)
            file.close()
            with _errors(url):
                system.put_file(file.name, path)
        finally:
            os.unlink(file.name)


def _system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        hint = f"{extra('remote')}, and s3fs, gcsfs or adlfs"
        raise InputError("needs fsspec, which is not installed", Location(url), hint) from None
    with _errors(url):
        system, path = url_to_fs(url)
    return system, str(path)


@contextmanager
def _errors(url: str) -> Iterator[None]:
    """Raise InputError for what a store's package raises, whose errors have no common class."""
    try:
        yield
    except ChartkitError:
        raise
    except FileNotFoundError:
        raise InputError("no such file or folder", Location(url)) from None
    except ImportError as error:
        raise InputError(f"needs a package: {error}", Location(url)) from None
    except Exception as error:  # noqa: BLE001 - a package of someone else may raise anything
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"cannot be reached: {reason}", Location(url)) from None
