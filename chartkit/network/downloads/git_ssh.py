"""Takes a revision of a repository over SSH, by the programs `git` and `ssh`.

The user's own keys, agent and known hosts decide; there are no prompts, and a host with an unknown
key is refused. The address is looked up and checked first.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.errors import InputError
from chartkit.model import Location
from chartkit.network.downloads.checkout import fetch_into, read_checkout
from chartkit.network.downloads.download import failed
from chartkit.network.downloads.limits import Limits
from chartkit.network.http.connections import anywhere
from chartkit.network.http.errors import NetworkError
from chartkit.network.http.transport import Route
from chartkit.network.http.urls import SSH, SSH_PORT, Place, Url, normal_host
from chartkit.temporary import temporary_folder

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
class SshRepository:
    """A repository that is reached over SSH. path: as the server is asked for it."""

    user: str
    place: Place
    path: str

    @property
    def shown(self) -> Location:
        """The repository in messages."""
        return Location(f"ssh://{self.place.host}/{self.path.lstrip('/')}")


def read_ssh(url: str) -> SshRepository:
    """Read the URL of a repository, also as `scp` names files; raise InputError."""
    found = _URL.fullmatch(url)
    is_short = found is None
    found = found or _SHORT.fullmatch(url)
    port = int(found["port"] or SSH_PORT) if found is not None and not is_short else SSH_PORT
    if found is None or not _PATH.fullmatch(found["path"]) or not 0 < port <= _LAST_PORT:
        raise InputError("is not a repository's address", Location(url), _SHAPE)
    path = found["path"] if is_short else f"/{found['path']}"
    return SshRepository(found["user"] or "", Place(normal_host(found["host"]), port), path)


def fetch_ssh_revision(
    url: str, ref: str, limits: Limits, only: Sequence[str] = (), route: Route = anywhere
) -> tuple[str, dict[str, bytes]]:
    """Return the commit that a ref of a repository names (empty: its HEAD), and its files by path,
    as `git_http.fetch_revision` does. Raise InputError."""
    repository = read_ssh(url)
    if shutil.which("ssh") is None:
        raise InputError("ssh is needed to reach it", repository.shown, "install OpenSSH")
    place = repository.place
    here = Url(url, SSH, place.host, place, repository.path)
    try:
        dial = route(here, ())
        addresses = dial.addresses()
    except NetworkError as error:
        raise failed(error, repository.shown, limits) from None
    command = _command(repository, str(addresses[0]), dial.place.port)
    user = f"{repository.user}@" if repository.user else ""
    path = repository.path if repository.path.startswith("/") else f"/{repository.path}"
    if path.startswith("/~") or repository.path == path:
        remote = f"ssh://{user}{place.host}{path}"
    else:
        remote = f"{user}{place.host}:{repository.path}"
    with temporary_folder() as folder:
        fetch_into(folder, remote, ref, command, limits, repository.shown)
        try:
            return read_checkout(folder, "FETCH_HEAD", limits, tuple(only))
        except InputError as error:
            raise InputError(error.message, repository.shown, error.hint) from None


def _command(repository: SshRepository, address: str, port: int) -> str:
    """Return ssh with options that the user's configuration cannot override; the host's key is
    looked up by the name that the URL has."""
    place = repository.place
    alias = place.host if place.port == SSH_PORT else f"[{place.host}]:{place.port}"
    options = {
        "BatchMode": "yes",
        "StrictHostKeyChecking": "yes",
        "HostName": address,
        "HostKeyAlias": alias,
        "Port": str(port),
        "ForwardAgent": "no",
        "ForwardX11": "no",
        "ClearAllForwardings": "yes",
        "PermitLocalCommand": "no",
        "ConnectTimeout": "20",
    }
    return shlex.join(["ssh", *(f"-o{name}={value}" for name, value in options.items())])
