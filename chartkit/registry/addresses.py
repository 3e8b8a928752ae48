"""Connections that go to no address that is never asked.

An address is looked at when a connection has been made and before anything is sent, so a name
cannot be one address when it is checked and another when it is asked.
"""

from __future__ import annotations

import socket
from typing import Any, Final

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import NewConnectionError

from chartkit.fetch.addresses import is_forbidden, literal


class ForbiddenAddressError(NewConnectionError):
    """A connection to an address that is never asked."""


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
