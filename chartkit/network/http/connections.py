"""Connections to addresses that were looked at: the one that was checked is the one that is asked.

A name is resolved once, and where any of its addresses is one that is never asked, none is. The
address that was reached is looked at again before anything is sent. A URL of the user leads
anywhere but to forbidden addresses, a redirect never from outside into the user's own network.
Proxies and passwords come from the environment variables and the file that `curl` reads. Policies
reach only the hosts that the user names with `--allow-network`.
"""

from __future__ import annotations

import os
import re
import socket
import ssl
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from urllib3 import ProxyManager
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from chartkit.errors import InputError
from chartkit.network.http.errors import DialError, Fault, NetworkError
from chartkit.network.http.urls import (
    PORTS,
    SSH,
    SSH_PORT,
    Address,
    HostPort,
    Url,
    basic_authorization,
    is_forbidden,
    is_forbidden_host,
    is_inside,
    is_loopback,
    literal,
    normal_host,
)

Resolver = Callable[[str, int], Sequence[str]]
"""The addresses of a name."""
_KEPT: Final = 8
_BUNDLES: Final = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
_SYSTEM: Final = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_OPTION: Final = "--allow-network"
_HOST: Final = re.compile(
    r"(?:(?P<name>[A-Za-z0-9_.-]+)|\[(?P<address>[0-9A-Fa-f:.]+)\])(?::(?P<port>[0-9]{1,5}))?\Z",
    re.ASCII,
)
_SHAPE: Final = "give HOST or HOST:PORT, without http:// and without a path"


def resolve(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a name as the system resolves it; raises OSError."""
    infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for _, _, _, _, address in infos))


@dataclass(slots=True)
class Dial:
    """A way to a host. outside: whether private networks and this machine are refused, for a
    redirect leads there; reached: the address of the last connection."""

    host_port: HostPort
    outside: bool = False
    resolver: Resolver = resolve
    reached: Address | None = field(default=None, init=False)

    def connect(self, seconds: float | None) -> socket.socket:
        """Return a connection; raises DialError, and NetworkError before anybody is asked who may
        not be. seconds: for each address."""
        nobody = socket.gaierror(socket.EAI_NONAME, "no such host")
        fault = DialError(self.host_port, nobody, is_unknown=True)
        for address in self.addresses():
            host_port = HostPort(str(address), self.host_port.port)
            try:
                made = socket.create_connection((host_port.host, host_port.port), seconds)
            except OSError as error:
                fault = DialError(host_port, error)
                continue
            try:
                self.reached = literal(str(made.getpeername()[0]))
                if self.reached is None:
                    raise NetworkError(Fault.FORBIDDEN)
                self._check(self.reached)
                made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            except OSError as error:
                made.close()
                raise DialError(self.host_port, error) from None
            except NetworkError:
                made.close()
                raise
            return made
        raise fault

    def check_name(self) -> None:
        """Raise NetworkError for a host that, as it is written, may not be asked."""
        if is_forbidden_host(self.host_port.host):
            raise NetworkError(Fault.FORBIDDEN)

    def addresses(self) -> Sequence[Address]:
        """Return the addresses of the host, at least one; raise NetworkError where one may not be
        asked, and DialError where there is none."""
        self.check_name()
        host = self.host_port.host
        try:
            texts = [host] if literal(host) else self.resolver(host, self.host_port.port)
        except (OSError, UnicodeError) as error:
            raise DialError(self.host_port, error, is_unknown=True) from None
        addresses = [address for address in map(literal, texts) if address is not None]
        for address in addresses:
            self._check(address)
        return addresses

    def _check(self, address: Address) -> None:
        if is_forbidden(address):
            raise NetworkError(Fault.FORBIDDEN)
        if self.outside and is_inside(address):
            raise NetworkError(Fault.INSIDE, self.host_port.host)


class _Plain(HTTPConnection):
    def __init__(self, *args: Any, dial: Dial, **given: Any) -> None:
        super().__init__(*args, **given)
        self._dial = dial

    def _new_conn(self) -> socket.socket:
        return self._dial.connect(self.timeout)


class _Encrypted(_Plain, HTTPSConnection):
    """The connection of `_Plain`, with TLS of urllib3's."""


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = _Plain


class _EncryptedPool(HTTPSConnectionPool):
    ConnectionCls = _Encrypted


def pool(url: Url, dial: Dial, trust: Callable[[], ssl.SSLContext]) -> HTTPConnectionPool:
    """Return connections to a URL's host that are made by `dial`."""
    host, port = url.host.strip("[]"), url.host_port.port
    if url.scheme == "http":
        return _PlainPool(host, port, dial=dial)
    return _EncryptedPool(host, port, dial=dial, ssl_context=trust())


@dataclass(frozen=True, slots=True)
class Hop:
    """A URL that was asked, and the way to it."""

    url: Url
    dial: Dial


def anywhere(here: Url, path: Sequence[Hop]) -> Dial:
    """Return the way to a URL; raises NetworkError for a redirect that is not followed. To another
    host a redirect leads to no private address, and to none by a name either, unless the host that
    redirects is in a private network itself."""
    if not path or path[0].url.host_port.host == here.host_port.host:
        return Dial(here.host_port)
    if here.authorization:
        raise NetworkError(Fault.REDIRECT, "a URL with a name or password")
    address = literal(here.host_port.host)
    if is_loopback(here.host_port.host) or (address is not None and address.is_private):
        raise NetworkError(Fault.INSIDE, here.host)
    first = path[0].dial.reached
    comes_from_outside = first is not None and not is_inside(first)
    return Dial(here.host_port, outside=comes_from_outside or address is not None)


def encrypted(here: Url, path: Sequence[Hop]) -> Dial:
    """Return the way as `anywhere` does; raises NetworkError for a redirect to plain HTTP, too."""
    if path and here.scheme != "https":
        raise NetworkError(Fault.REDIRECT, here.scheme)
    return anywhere(here, path)


def proxy_of(url: Url) -> str:
    """Return the URL of the environment's proxy for a URL; empty for none, and for this machine."""
    if is_loopback(url.host_port.host):
        return ""
    from urllib.request import getproxies

    proxies = {} if _is_direct(url.host_port) else getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all") or ""
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"


def _is_direct(host_port: HostPort) -> bool:
    """Report whether `NO_PROXY` or the system's settings name a host, with its port or without, a
    domain above it, or a network that its address is in."""
    from ipaddress import ip_network
    from urllib.request import proxy_bypass

    if proxy_bypass(host_port.host) or proxy_bypass(f"{host_port.host}:{host_port.port}"):
        return True
    address = literal(host_port.host)
    named = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    for network in named.split(",") if address is not None else ():
        with suppress(ValueError):
            if address in ip_network(network.strip(), strict=False):
                return True
    return False


def through(proxy: str, trust: ssl.SSLContext) -> ProxyManager:
    """Return connections through a proxy, which resolves names; raise ValueError for a bad one."""
    parts = urlsplit(proxy)
    sent = {}
    if parts.username and parts.password is not None:
        user = f"{unquote(parts.username)}:{unquote(parts.password)}"
        sent = {"Proxy-Authorization": basic_authorization(user)}
    return ProxyManager(proxy, proxy_headers=sent, ssl_context=trust, proxy_ssl_context=trust)


def login_of(url: Url) -> str:
    """Return the Authorization header that `~/.netrc`, or the file of `NETRC`, has for a URL's
    host; empty for none, and for a file that cannot be read."""
    from netrc import NetrcParseError, netrc

    given = os.environ.get("NETRC")
    files = map(os.path.expanduser, ["~/.netrc", "~/_netrc"] if given is None else [given])
    entry = None
    if (existing := next(filter(os.path.exists, files), None)) is not None:
        with suppress(NetrcParseError, OSError, ValueError):
            entry = netrc(existing).authenticators(url.host_port.host)
    if not entry or not any(entry):
        return ""
    login, account, password = entry
    return basic_authorization(f"{login or account or ''}:{password or ''}")


def system_trust(authorities: Path | None = None) -> ssl.SSLContext:
    """Return the trust in the system's authorities, those of `SSL_CERT_FILE`, and Mozilla's or, in
    their place, those of `REQUESTS_CA_BUNDLE`; and in a file of the user's besides. A company's own
    authority is mostly known to the system alone."""
    bundle = next(filter(None, map(os.environ.get, _BUNDLES)), "")
    return _system_trust(authorities, bundle, *map(os.environ.get, _SYSTEM))


@lru_cache(maxsize=_KEPT)
def _system_trust(authorities: Path | None, bundle: str, *_system: str | None) -> ssl.SSLContext:
    import certifi

    context = _strict(ssl.create_default_context())
    bundled = Path(bundle or certifi.where())
    if bundled.is_dir():
        context.load_verify_locations(capath=str(bundled))
    else:
        context.load_verify_locations(cafile=str(bundled))
    if authorities is not None:
        context.load_verify_locations(cafile=str(authorities))
    return context


def trust_in(certificates: bytes) -> ssl.SSLContext:
    """Return the trust in certificates (DER) alone: each is an authority, whatever its issuer.
    Raises ssl.SSLError and ValueError for anything else."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=certificates)
    return _strict(context)


def _strict(context: ssl.SSLContext) -> ssl.SSLContext:
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.hostname_checks_common_name = False
    return context


@dataclass(frozen=True, slots=True)
class AllowedHost:
    """A host that may be asked. port: None for the default of the URL's scheme; stands_in: the host
    that is asked in its place (port None for the same port)."""

    host: str
    port: int | None
    stands_in: tuple[str, int | None] | None = None

    @property
    def is_itself(self) -> bool:
        """Report whether its name fixes its address: a literal one, or this machine's own name."""
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
