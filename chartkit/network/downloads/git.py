"""Takes a revision of a repository from a server that speaks git's protocol 2, over HTTP or SSH."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from chartkit.errors import InputError
from chartkit.model import Location
from chartkit.network.downloads.checkout import fetch_into, read_checkout, store_pack
from chartkit.network.downloads.download import asked, body_of, checked_url, failed
from chartkit.network.downloads.lockfile import Limits
from chartkit.network.http.connections import anywhere
from chartkit.network.http.errors import NetworkError
from chartkit.network.http.transport import Request, Route, Transport
from chartkit.network.http.urls import SSH, SSH_PORT, HostPort, Url, normal_host, shown_url
from chartkit.temporary import temporary_folder

COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
"""A commit by its whole ID."""
_SERVICE: Final = "git-upload-pack"
_FLUSH: Final = b"0000"
_DELIMITER: Final = b"0001"
_LENGTH: Final = 4
_MOST_REFS: Final = 4_000_000
_HINT: Final = "is it the URL of a repository, as git clone takes it?"
_DATA, _PROGRESS = 1, 2
_URL: Final = re.compile(
    r"(?:git\+|git::)?ssh://(?:(?P<user>[\w][\w.+-]*)@)?(?P<host>[A-Za-z0-9][\w.-]*|\[[0-9a-f:.]+\])"
    r"(?::(?P<port>[0-9]{1,5}))?/(?P<path>.+)",
    re.IGNORECASE | re.ASCII,
)
_SHORT: Final = re.compile(
    r"(?:(?P<user>[\w][\w.+-]*)@)(?P<host>[A-Za-z0-9][\w.-]*):(?P<path>(?!//).+)", re.ASCII
)
_PATH: Final = re.compile(r"[A-Za-z0-9~_/][\w./~+ -]*", re.ASCII)
_SHAPE: Final = "write ssh://USER@HOST/REPOSITORY.git//PATH or USER@HOST:REPOSITORY.git//PATH"
_LAST_PORT: Final = 65535


@dataclass(frozen=True, slots=True)
class _Repository:
    """A repository on a server."""

    url: str
    transport: Transport
    limits: Limits

    @property
    def place(self) -> Location:
        """The repository in messages."""
        return Location(shown_url(self.url))

    def ask(self, request: Request) -> bytes:
        """Return the body of an answer; raise InputError."""
        return body_of(asked(self.transport, request, self.limits), self.place)

    def capabilities(self) -> Mapping[str, str]:
        """Return the capabilities of the server; raise InputError for one without version 2."""
        url = f"{self.url}/info/refs?service={_SERVICE}"
        body = self.ask(Request(url, _MOST_REFS, {"Git-Protocol": "version=2"}))
        lines = [packet.rstrip(b"\n").decode("utf-8", "replace") for packet in self.packets(body)]
        if lines[:1] == [f"# service={_SERVICE}"]:
            lines = lines[1:]
        if lines[:1] != ["version 2"]:
            raise InputError("the server does not speak git's protocol 2", self.place, _HINT)
        return {name: value for name, _, value in (line.partition("=") for line in lines[1:])}

    def command(self, name: str, algorithm: str, lines: Iterable[str], most: int) -> list[bytes]:
        """Return the packets that answer a command."""
        sent = [f"command={name}", "agent=chartkit", f"object-format={algorithm}"]
        body = b"".join(map(_packet, sent)) + _DELIMITER
        body += b"".join(map(_packet, lines)) + _FLUSH
        headers = {
            "Git-Protocol": "version=2",
            "Content-Type": f"application/x-{_SERVICE}-request",
            "Accept": f"application/x-{_SERVICE}-result",
        }
        request = Request(f"{self.url}/{_SERVICE}", most, headers, "POST", body)
        packets = list(self.packets(self.ask(request)))
        if packets and packets[0].startswith(b"ERR "):
            said = packets[0][4:].decode("utf-8", "replace").strip()
            raise InputError(f"the server answers: {said}", self.place)
        return packets

    def packets(self, body: bytes) -> Iterator[bytes]:
        """Yield the packets of an answer; raise InputError where they are broken."""
        at = 0
        while at < len(body):
            digits = body[at : at + _LENGTH]
            is_number = re.fullmatch(rb"[0-9A-Fa-f]{4}", digits) is not None
            length = int(digits, 16) if is_number else None
            if length is None or (length >= _LENGTH and at + length > len(body)):
                raise InputError("the server does not answer as git does", self.place, _HINT)
            if length >= _LENGTH:
                yield body[at + _LENGTH : at + length]
            at += max(length, _LENGTH)


def _packet(line: str) -> bytes:
    data = line.encode() + b"\n"
    return b"%04x" % (len(data) + _LENGTH) + data


def fetch_revision(
    url: str, ref: str, limits: Limits, only: Iterable[str] = (), route: Route = anywhere
) -> tuple[str, dict[str, bytes]]:
    """Return the commit that a ref of a repository names (empty: its HEAD), and its files by path.
    only: the files and folders that are wanted, all where it names none; route: which hosts may be
    asked. Raise InputError."""
    checked_url(url)
    with closing(Transport(limits, route, logins=True)) as transport:
        repository = _Repository(url.rstrip("/"), transport, limits)
        capabilities = repository.capabilities()
        algorithm = capabilities.get("object-format") or "sha1"
        if algorithm not in ("sha1", "sha256"):
            message = f"the repository has objects of the kind '{algorithm}'"
            raise InputError(message, repository.place)
        wanted = ref if COMMIT.fullmatch(ref) else _resolved(repository, algorithm, ref)
        lines = [f"want {wanted}", "deepen 1", "no-progress", "ofs-delta", "done"]
        rows = repository.command("fetch", algorithm, lines, repository.limits.archive)
        if b"packfile\n" not in rows:
            message = f"the server does not send commit {wanted}"
            raise InputError(message, repository.place)
        pack = bytearray()
        for row in rows[rows.index(b"packfile\n") + 1 :]:
            band = row[0] if row else 0
            if band == _DATA:
                pack += row[1:]
            elif band != _PROGRESS:
                said = row[1:].decode("utf-8", "replace").strip()
                raise InputError(f"the server answers: {said}", repository.place)
    with temporary_folder() as folder:
        store_pack(folder, bytes(pack), algorithm, repository.place)
        try:
            return read_checkout(folder, wanted, limits, tuple(only))
        except InputError as error:
            raise InputError(error.message, repository.place, error.hint) from None


def _resolved(repository: _Repository, algorithm: str, ref: str) -> str:
    names = (ref, f"refs/tags/{ref}", f"refs/heads/{ref}") if ref else ("HEAD",)
    if "\n" in ref or "\0" in ref:
        raise InputError("a ref has no line breaks", repository.place)
    asked_for = [f"ref-prefix {name}" for name in names]
    rows = repository.command("ls-refs", algorithm, asked_for, _MOST_REFS)
    commits: dict[str, str] = {}
    for row in rows:
        commit, _, rest = row.decode("utf-8", "replace").rstrip("\n").partition(" ")
        commits[rest.partition(" ")[0]] = commit
    for name in names:
        if COMMIT.fullmatch(commits.get(name, "")):
            return commits[name]
    what = f"there is no branch or tag '{ref}' in it" if ref else "the repository is empty"
    raise InputError(what, repository.place, "?ref= names a branch, a tag or a whole commit ID")


@dataclass(frozen=True, slots=True)
class SshRepository:
    """A repository that is reached over SSH. path: as the server is asked for it."""

    user: str
    host_port: HostPort
    path: str

    @property
    def shown(self) -> Location:
        """The repository in messages."""
        return Location(f"ssh://{self.host_port.host}/{self.path.lstrip('/')}")


def read_ssh(url: str) -> SshRepository:
    """Read the URL of a repository, also as `scp` names files; raise InputError."""
    match = _URL.fullmatch(url)
    is_short = match is None
    match = match or _SHORT.fullmatch(url)
    port = int(match["port"] or SSH_PORT) if match is not None and not is_short else SSH_PORT
    if match is None or not _PATH.fullmatch(match["path"]) or not 0 < port <= _LAST_PORT:
        raise InputError("is not a repository's address", Location(url), _SHAPE)
    path = match["path"] if is_short else f"/{match['path']}"
    return SshRepository(match["user"] or "", HostPort(normal_host(match["host"]), port), path)


def fetch_ssh_revision(
    url: str, ref: str, limits: Limits, only: Sequence[str] = (), route: Route = anywhere
) -> tuple[str, dict[str, bytes]]:
    """Return the commit that a ref of a repository names (empty: its HEAD), and its files by path,
    as `git_http.fetch_revision` does. Raise InputError."""
    repository = read_ssh(url)
    if shutil.which("ssh") is None:
        raise InputError("ssh is needed to reach it", repository.shown, "install OpenSSH")
    host_port = repository.host_port
    here = Url(url, SSH, host_port.host, host_port, repository.path)
    try:
        dial = route(here, ())
        addresses = dial.addresses()
    except NetworkError as error:
        raise failed(error, repository.shown, limits) from None
    alias = host_port.host if host_port.port == SSH_PORT else f"[{host_port.host}]:{host_port.port}"
    # The user's configuration cannot override these; the host's key is looked up by the name that
    # the URL has.
    options = {
        "BatchMode": "yes",
        "StrictHostKeyChecking": "yes",
        "HostName": str(addresses[0]),
        "HostKeyAlias": alias,
        "Port": str(dial.host_port.port),
        "ForwardAgent": "no",
        "ForwardX11": "no",
        "ClearAllForwardings": "yes",
        "PermitLocalCommand": "no",
        "ConnectTimeout": "20",
    }
    command = shlex.join(["ssh", *(f"-o{name}={value}" for name, value in options.items())])
    user = f"{repository.user}@" if repository.user else ""
    path = repository.path if repository.path.startswith("/") else f"/{repository.path}"
    if path.startswith("/~") or repository.path == path:
        remote = f"ssh://{user}{host_port.host}{path}"
    else:
        remote = f"{user}{host_port.host}:{repository.path}"
    with temporary_folder() as folder:
        fetch_into(folder, remote, ref, command, limits, repository.shown)
        try:
            return read_checkout(folder, "FETCH_HEAD", limits, tuple(only))
        except InputError as error:
            raise InputError(error.message, repository.shown, error.hint) from None
