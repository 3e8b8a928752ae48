"""Which addresses are never asked: those by which a cloud gives its machines their secrets.

An address is looked at when a connection has been made and before anything is sent, so a name
cannot be one address when it is checked and another when it is asked.
"""

from __future__ import annotations

import ipaddress
import socket
from typing import Any, Final

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import NewConnectionError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_METADATA: Final = frozenset(
    map(
        ipaddress.ip_address,
        ("169.254.169.254", "fd00:ec2::254", "100.100.100.200", "192.0.0.192", "168.63.129.16"),
    )
)
"""Of Amazon, Google and others; Amazon over IPv6; Alibaba; Oracle; Azure's own services."""


class ForbiddenAddressError(NewConnectionError):
    """A connection to an address that is never asked."""


def is_forbidden(address: Address) -> bool:
    """Whether an address is link-local, a metadata service's, or no single machine's."""
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    inner = mapped or address
    return inner in _METADATA or inner.is_link_local or inner.is_multicast or inner.is_unspecified


def literal(host: str) -> Address | None:
    """The address that a host is written as; None for a name."""
    try:
        return ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None


def is_loopback(host: str) -> bool:
    """Whether a host, by its name alone, is this machine itself."""
    address = literal(host)
    return host == "localhost" if address is None else address.is_loopback


def _checked(made: socket.socket, connection: HTTPConnection) -> socket.socket:
    if connection.proxy is not None:
        return made
    address = literal(str(made.getpeername()[0]))
    if address is None or is_forbidden(address):
        made.close()
        raise ForbiddenAddressError(connection, "an address that is never asked")
    return made


class _Plain(HTTPConnection):
    def _new_conn(self) -> socket.socket:
        return _checked(super()._new_conn(), self)


class _Encrypted(HTTPSConnection):
    def _new_conn(self) -> socket.socket:
        return _checked(super()._new_conn(), self)


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = _Plain


class _EncryptedPool(HTTPSConnectionPool):
    ConnectionCls = _Encrypted


POOLS: Final[dict[str, Any]] = {"http": _PlainPool, "https": _EncryptedPool}
"""Connection pools, by scheme, whose connections go to no forbidden address."""
