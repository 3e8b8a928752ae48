"""The hosts that the user names with `--allow-network`: no other is asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.errors import InputError
from chartkit.network.http.addresses import is_forbidden_host, is_loopback, literal
from chartkit.network.http.connections import Dial, Hop, Resolver, resolve
from chartkit.network.http.errors import Fault, NetworkError
from chartkit.network.http.urls import PORTS, SSH, SSH_PORT, HostPort, Url, normal_host

_OPTION: Final = "--allow-network"
_HOST: Final = re.compile(
    r"(?:(?P<name>[A-Za-z0-9_.-]+)|\[(?P<address>[0-9A-Fa-f:.]+)\])(?::(?P<port>[0-9]{1,5}))?\Z",
    re.ASCII,
)
_SHAPE: Final = "give HOST or HOST:PORT, without http:// and without a path"


@dataclass(frozen=True, slots=True)
class AllowedHost:
    """A host that may be asked. port: None for the default of the URL's scheme; stands_in: the host
    that is asked in its place (port None for the same port)."""

    host: str
    port: int | None
    stands_in: tuple[str, int | None] | None = None

    @property
    def is_itself(self) -> bool:
        """Tell whether its name fixes its address: a literal one, or this machine's own name."""
        if self.stands_in is not None or is_loopback(self.host):
            return True
        return literal(self.host) is not None

    def dial(self, here: Url, path: Sequence[Hop], resolver: Resolver = resolve) -> Dial:
        """Return the way to a URL of the host: by a redirect to another one not into private
        networks, unless the user said where that host is."""
        guarded = bool(path) and here.host_port.host != path[0].url.host_port.host
        to = self.reached_at(here.host_port.port)
        return Dial(to, guarded and not self.is_itself, resolver)

    def reached_at(self, port: int) -> HostPort:
        """Return the host and port to connect to; port: the URL's."""
        if self.stands_in is None:
            return HostPort(self.host, port)
        host, other = self.stands_in
        return HostPort(host, port if other is None else other)


class AllowedHosts:
    """The hosts that the user names."""

    def __init__(self, named: Sequence[AllowedHost]) -> None:
        """Raises InputError for a host that is named twice."""
        self._named: dict[tuple[str, int | None], AllowedHost] = {}
        for host in named:
            if self._named.setdefault((host.host, host.port), host) != host:
                raise InputError(f"{_OPTION} names {host.host} twice, and not alike")

    def find(self, scheme: str, host_port: HostPort) -> AllowedHost | None:
        """Return the host that covers a host and port; None where the user named none."""
        host = self._named.get((host_port.host, host_port.port))
        usual = SSH_PORT if scheme == SSH else PORTS.get(scheme)
        if host is None and usual == host_port.port:
            host = self._named.get((host_port.host, None))
        return host


def read_hosts(texts: Sequence[str]) -> AllowedHosts:
    """Read the hosts of an option: `HOST[:PORT]`, or `HOST[:PORT]=HOST[:PORT]` to send its calls to
    another; raises InputError."""
    return AllowedHosts([_named(text) for text in texts])


def _named(text: str) -> AllowedHost:
    written, equals, other = text.partition("=")
    host, port = _place(written, text)
    return AllowedHost(host, port, _place(other, text) if equals else None)


def _place(written: str, text: str) -> tuple[str, int | None]:
    if "*" in written:
        hint = "name each host: a policy could put what it knows into the name of one"
        raise InputError(f"{_OPTION} '{text}': wildcards are not allowed", hint=hint)
    match = _HOST.match(written)
    if match is None:
        raise InputError(f"{_OPTION} '{text}' names no host", hint=_SHAPE)
    host = normal_host(match["name"] or match["address"])
    port = None if match["port"] is None else int(match["port"])
    address = literal(host)
    if not host or (match["address"] and address is None) or (port is not None and port > 65535):
        raise InputError(f"{_OPTION} '{text}' names no host", hint=_SHAPE)
    if is_forbidden_host(host):
        why = "chartkit does not connect to link-local addresses and metadata services"
        raise InputError(f"{_OPTION} '{text}': {why}")
    return (host if address is None else str(address)), port


def allowed_route(
    allowed: AllowedHosts, here: Url, path: Sequence[Hop], resolver: Resolver = resolve
) -> Dial:
    """Return the way to a URL; raise NetworkError for a host that is not named."""
    named = allowed.find(here.scheme, here.host_port)
    if named is None:
        raise NetworkError(Fault.UNNAMED, str(here.host_port))
    return named.dial(here, path, resolver)
