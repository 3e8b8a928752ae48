"""Connections to addresses that were looked at: the one that was checked is the one that is asked.

A name is resolved once, and where any of its addresses is one that is never asked, none is. No
proxy is used: it would resolve names by itself.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

from urllib3.connection import HTTPConnection, HTTPSConnection

from chartkit.engine.values.pem import certificates
from chartkit.errors import LookupFailed
from chartkit.fetch.addresses import Address, literal
from chartkit.services.hosts import Place
from chartkit.services.urls import Destination

Resolver = Callable[[str, int], Sequence[str]]
"""The addresses of a name."""

_TRUSTS: Final = 8


class DialError(Exception):
    """Nobody was reached; the text is that of Go where it has one."""


class ForbiddenAddressError(Exception):
    """A name that leads to an address that may not be asked."""


def resolve(host: str, port: int) -> Sequence[str]:
    """As the system resolves names; raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for _, _, _, _, address in found))


def reach(
    place: Place, resolver: Resolver, is_refused: Callable[[Address], bool], seconds: float
) -> socket.socket:
    """A connection; raises DialError, and ForbiddenAddressError before anybody is asked."""
    try:
        texts = [place.host] if literal(place.host) else resolver(place.host, place.port)
    except (OSError, UnicodeError):
        raise DialError(f"dial tcp: lookup {place.host}: no such host") from None
    addresses = [address for address in map(literal, texts) if address is not None]
    if any(map(is_refused, addresses)):
        raise ForbiddenAddressError(place.host)
    fault = DialError(f"dial tcp: lookup {place.host}: no such host")
    for address in addresses:
        try:
            return socket.create_connection((str(address), place.port), seconds)
        except TimeoutError:
            fault = DialError(f"dial tcp {Place(str(address), place.port)}: i/o timeout")
        except OSError as error:
            why = (error.strerror or "failed").lower()
            fault = DialError(f"dial tcp {Place(str(address), place.port)}: connect: {why}")
    raise fault


def connection(
    to: Destination, dial: Callable[[], socket.socket], authorities: str, seconds: float
) -> HTTPConnection:
    """A connection that is made by `dial` when something is sent; authorities: PEM, empty for the
    system's. Raises LookupFailed for authorities that cannot be used."""
    host, port = to.host.strip("[]"), to.place.port
    if to.scheme == "http":
        return _Plain(host, port, timeout=seconds, dial=dial)
    return _Encrypted(host, port, timeout=seconds, dial=dial, ssl_context=_trust(authorities))


class _Plain(HTTPConnection):
    def __init__(self, *args: Any, dial: Callable[[], socket.socket], **given: Any) -> None:
        super().__init__(*args, **given)
        self._dial = dial

    def _new_conn(self) -> socket.socket:
        return self._dial()


class _Encrypted(HTTPSConnection):
    def __init__(self, *args: Any, dial: Callable[[], socket.socket], **given: Any) -> None:
        super().__init__(*args, **given)
        self._dial = dial

    def _new_conn(self) -> socket.socket:
        return self._dial()


@lru_cache(maxsize=_TRUSTS)
def _trust(authorities: str) -> ssl.SSLContext:
    """Whom to trust. Of a policy's certificates every one is an authority, whoever issued it."""
    if not authorities:
        context = ssl.create_default_context()
    else:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        try:
            context.load_verify_locations(cadata=b"".join(certificates(authorities)))
        except (ssl.SSLError, ValueError):
            raise LookupFailed("failed to parse PEM CA bundle") from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.hostname_checks_common_name = False
    return context
