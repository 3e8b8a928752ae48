"""The bounds on what is in flight: connections, reviews, their bytes, and the time to send one."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import stat
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

from chartkit.addons.serve.admission.telemetry import Log

MEGABYTE: Final = 1 << 20
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
_PASSED_OVER: Final = 8
"""A body that is too long is read to its end up to this multiple of the longest one, for the client
to read the answer."""
MOST_CONNECTIONS: Final = 4096
"""The connections that a worker has at once; others wait until one of these ends."""
SHORT_PATIENCE: Final = 2.0
"""Seconds until the first request where a worker has half of its connections."""
_EVERY: Final = 1.0
_BETWEEN_LINES: Final = 10.0
_OPEN_FILES: Final = ("/proc/self/fd", "/dev/fd")
Peer = tuple[str, int]
"""The address and port of a client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """host, port: to listen at; workers: processes; max_body: bytes of a review; max_in_flight:
    reviews of one worker that are read or judged at once; body_timeout: seconds that a client may
    take until its first request, and to send a review; drain: seconds that the server may take to
    end; log_level: `debug`, `info`, `warning` or `error`; traces: whether spans are sent to
    OpenTelemetry."""

    host: str
    port: int
    workers: int = 1
    max_body: int = 7 * MEGABYTE
    max_in_flight: int = 1000
    body_timeout: float = 10.0
    drain: float = 30.0
    log_level: str = "info"
    traces: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings(ServerOptions):
    """certificate, key: PEM files; max_memory: bytes of the bodies of reviews of one worker;
    threads: of one worker, for policies that ask a cluster, a registry or a service;
    metrics_folder: where workers keep their counts; poll: seconds between looks at the files."""

    certificate: Path
    key: Path
    max_memory: int = 256 * MEGABYTE
    threads: int = 16
    metrics_folder: Path = Path()
    poll: float = 1.0


class Refused(Exception):  # noqa: N818 - an answer, not an error of the server
    """A request that is not judged; status: of HTTP; reason: for the API server's log."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class Bounds:
    """The bounds on the work that one worker takes on at once."""

    __slots__ = ("_settings", "in_flight", "memory")

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self.in_flight = 0
        self.memory = 0

    @contextmanager
    def slot(self) -> Iterator[Slot]:
        """Give room for one review; raise Refused when all is taken."""
        if self.in_flight >= self._settings.max_in_flight:
            raise Refused(429, f"{self.in_flight} reviews are in flight: try again")
        self.in_flight += 1
        slot = Slot(self, self._settings)
        try:
            yield slot
        finally:
            self.in_flight -= 1
            self.memory -= slot.size


class Slot:
    """Room for one review."""

    __slots__ = ("_bounds", "_settings", "size")

    def __init__(self, bounds: Bounds, settings: ServerSettings) -> None:
        self._bounds = bounds
        self._settings = settings
        self.size = 0

    async def read(
        self, headers: Mapping[bytes, bytes], receive: Receive, deadline: float
    ) -> bytes:
        """Return a request's body; raise Refused for one that is too long or too slow."""
        declared = headers.get(b"content-length", b"")
        length = int(declared) if declared.isdigit() else -1
        is_long = length > self._settings.max_body
        left = min(self._settings.body_timeout, deadline - time.monotonic())
        content = bytearray()
        try:
            async with asyncio.timeout(left):
                while True:
                    part, is_last = await _part(receive)
                    if is_long or self.size + len(part) > self._settings.max_body:
                        is_long = True
                        await self._pass_over(receive, is_last)
                    self._count(len(part))
                    # Servers say that more may come until they looked for it, which takes as long.
                    is_last = is_last or self.size == length
                    if is_last and not content:
                        return part
                    content += part  # Parts may be a byte each, and take fifty on their own.
                    if is_last:
                        return bytes(content)
        except TimeoutError:
            if is_long:
                raise self._too_long() from None
            raise Refused(408, f"the request was not whole after {left:.0f} s") from None

    async def _pass_over(self, receive: Receive, is_last: bool) -> NoReturn:
        """Discard the rest of a body, so that a client which sends all of it before it reads gets
        the answer. Raise Refused."""
        passed = 0
        while not is_last and passed < _PASSED_OVER * self._settings.max_body:
            part, is_last = await _part(receive)
            passed += len(part)
        raise self._too_long()

    def _too_long(self) -> Refused:
        return Refused(413, f"the request has more than {self._settings.max_body} bytes")

    def _count(self, size: int) -> None:
        self.size += size
        self._bounds.memory += size
        if self._bounds.memory > self._settings.max_memory:
            raise Refused(429, "the reviews in flight are too large together: try again")


async def _part(receive: Receive) -> tuple[bytes, bool]:
    """Return the next part of a body, and whether it is the last one."""
    message = await receive()
    if message["type"] != "http.request":
        raise Refused(400, "the client went away before its request was whole")
    return message.get("body") or b"", not message.get("more_body")


class _Socket(NamedTuple):
    file: int
    inode: int


class Connections:
    """The connections to a port of this process, of which those that send no request are closed:
    granian limits the time of a head from its first byte on, and not the time until then.

    patience: seconds that a client may take from its
    connection to the head of its first request; most: as many as there may be."""

    def __init__(
        self,
        port: int,
        patience: float,
        log: Log,
        most: int = MOST_CONNECTIONS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._port = port
        self._patience = patience
        self._log = log
        self._most = most
        self._clock = clock
        self._stop = threading.Event()
        self._heard: set[Peer] = set()
        self._heard_before: set[Peer] = set()
        self._since: dict[_Socket, float] = {}
        self._closed = 0
        self._next_line = -inf

    def start(self) -> None:
        """Look after the connections from now on, where the system lists the files of a process."""
        threading.Thread(target=self._watch, name="connections", daemon=True).start()

    def stop(self) -> None:
        """Leave the connections alone."""
        self._stop.set()

    def hear(self, peer: Peer | None) -> None:
        """Note that a client sent a request; peer: its address, as ASGI has it."""
        if peer is not None:
            self._heard.add(peer)

    def look(self) -> None:
        """Close the connections that sent no request in time, and log how many they were."""
        # Taken before the sockets are listed, so that the connection of each request is among them,
        # and kept for a second look: another thread may be adding to it.
        heard = self._heard | self._heard_before
        self._heard_before, self._heard = self._heard, set()
        now = self._clock()
        before, self._since = self._since, {}
        for connection in _sockets():
            since = before.get(connection, now)
            if since != inf:
                peer = self._peer(connection)
                if peer is None:
                    continue
                since = inf if peer in heard else since
            self._since[connection] = since
        patience = self._patience
        if len(self._since) > self._most // 2:
            patience = min(patience, SHORT_PATIENCE)
        late = [socket for socket, since in self._since.items() if now - since >= patience]
        self._closed += sum(map(_shut_down, late))
        self._since.update(dict.fromkeys(late, inf))
        is_full = len(self._since) >= self._most
        if (self._closed or is_full) and now >= self._next_line:
            self._next_line = now + _BETWEEN_LINES
            message = "connections that sent no request were closed"
            if is_full:
                message = "no more connections are accepted until others end"
            self._log.warning(message, open=len(self._since), closed=self._closed, most=self._most)
            self._closed = 0

    def _peer(self, connection: _Socket) -> Peer | None:
        """Return the address of a client; None for another socket than a connection to the port."""
        with contextlib.suppress(OSError), _opened(connection) as opened:
            is_internet = opened.family in (socket.AF_INET, socket.AF_INET6)
            if is_internet and opened.getsockname()[1] == self._port:
                host, port = opened.getpeername()[:2]
                return host.partition("%")[0], port
        return None

    def _watch(self) -> None:
        while not self._stop.wait(_EVERY):
            with self._log.guarded("connections", "connections are not looked after"):
                self.look()


def _sockets() -> Iterator[_Socket]:
    """Yield the sockets that this process has open."""
    folder = next(filter(os.path.isdir, _OPEN_FILES), None)
    for name in os.listdir(folder) if folder else ():
        with contextlib.suppress(OSError):
            status = os.fstat(int(name))
            if stat.S_ISSOCK(status.st_mode):
                yield _Socket(int(name), status.st_ino)


@contextmanager
def _opened(connection: _Socket) -> Iterator[socket.socket]:
    """Open a socket a second time, so that it stays the same one while it is used; raise OSError
    where its number belongs to another socket by now."""
    with socket.socket(fileno=os.dup(connection.file)) as opened:
        if os.fstat(opened.fileno()).st_ino != connection.inode:
            raise OSError
        yield opened


def _shut_down(connection: _Socket) -> bool:
    """Shut down a connection, and return whether it was still there."""
    with contextlib.suppress(OSError), _opened(connection) as opened:
        opened.shutdown(socket.SHUT_RDWR)
        return True
    return False
