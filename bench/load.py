"""Load for an admission webhook: many connections over TLS, each with one request at a time."""

from __future__ import annotations

import asyncio
import ssl
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

_END_OF_HEADERS: Final = b"\r\n\r\n"
_LAST_CHUNK: Final = b"\r\n0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Target:
    """A webhook. path: with its query, as an API server sends it."""

    host: str
    port: int
    path: str


@dataclass(slots=True)
class Measured:
    """What came back. latencies: in seconds, of whole requests; statuses: HTTP's, with their
    counts; refused: denials among the answers; failures: connections that ended with a request
    unanswered, by reason."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    refused: int = 0
    failures: Counter[str] = field(default_factory=Counter)

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.latencies) / self.seconds if self.seconds else 0.0

    def percentile(self, share: int) -> float:
        """Return a percentile of the latencies in milliseconds."""
        if len(self.latencies) < 2:
            return 0.0
        return statistics.quantiles(self.latencies, n=100)[share - 1] * 1000


class _Client(asyncio.Protocol):
    """One connection: sends a review, waits for its answer, sends the next one."""

    def __init__(self, load: Load, first: int) -> None:
        self._load = load
        self._number = first
        self._received = bytearray()
        self._started = 0.0
        self._is_waiting = False
        self._transport: asyncio.Transport | None = None
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._send()

    def _send(self) -> None:
        load, transport = self._load, self._transport
        assert transport is not None
        now = time.perf_counter()
        if now >= load.end:
            transport.close()
            return
        pause = load.pause
        if pause and self._started:
            due = self._started + pause
            if due > now:
                asyncio.get_running_loop().call_later(due - now, self._send_now)
                return
        self._send_now()

    def _send_now(self) -> None:
        transport = self._transport
        assert transport is not None
        if transport.is_closing():
            return
        self._started = time.perf_counter()
        if self._started >= self._load.end:
            transport.close()
            return
        self._is_waiting = True
        requests = self._load.requests
        transport.write(requests[self._number % len(requests)])
        self._number += 1

    def data_received(self, data: bytes) -> None:
        received = self._received
        received += data
        end = received.find(_END_OF_HEADERS)
        if end < 0:
            return
        head = bytes(received[:end]).lower()
        if b"transfer-encoding: chunked" in head:
            # Nothing follows an answer: the next one is not asked for yet.
            if not received.endswith(_LAST_CHUNK):
                return
            whole = len(received)
        else:
            at = head.find(b"content-length:")
            length = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            whole = end + 4 + length
        if len(received) < whole:
            return
        found = self._load.measured
        found.latencies.append(time.perf_counter() - self._started)
        found.statuses[int(head[9:12])] += 1
        found.refused += b'"allowed":false' in received
        self._is_waiting = False
        del received[:whole]
        self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._is_waiting:
            self._load.measured.failures[type(exc).__name__ if exc else "closed"] += 1
        if not self.ended.done():
            self.ended.set_result(None)


class Load:
    """A run of load. clients: connections at once; pause: the seconds between the starts of a
    client's requests, 0 to send as soon as it has an answer."""

    def __init__(
        self, target: Target, bodies: Sequence[bytes], clients: int, seconds: float, pause: float
    ) -> None:
        self.requests = [request_of(target, body) for body in bodies]
        self.measured = Measured()
        self.pause = pause
        self.end = float("inf")
        self._target = target
        self._clients = clients
        self._seconds = seconds

    async def run(self) -> Measured:
        """Connect all clients, a few at a time, and measure once they are connected."""
        loop = asyncio.get_running_loop()
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        target = self._target
        gate = asyncio.Semaphore(16)

        async def connect(number: int) -> _Client:
            async with gate:
                _, client = await loop.create_connection(
                    lambda: _Client(self, number), target.host, target.port, ssl=context
                )
                return client

        clients = await asyncio.gather(*map(connect, range(self._clients)))
        self.measured.latencies.clear()
        self.measured.statuses.clear()
        self.measured.refused = 0
        begun = time.perf_counter()
        self.end = begun + self._seconds
        await asyncio.gather(*(client.ended for client in clients))
        self.measured.seconds = time.perf_counter() - begun
        return self.measured


def request_of(
    target: Target, body: bytes, media: str = "application/json", length: int | None = None
) -> bytes:
    """Return a request as an API server sends it; length: said of the body, None for its own."""
    length = len(body) if length is None else length
    head = (
        f"POST {target.path} HTTP/1.1\r\nHost: {target.host}:{target.port}\r\n"
        "User-Agent: kube-apiserver-admission\r\nAccept: application/json, */*\r\n"
        f"Content-Type: {media}\r\nContent-Length: {length}\r\n\r\n"
    )
    return head.encode() + body


def put_load(
    target: Target, bodies: Sequence[bytes], clients: int, seconds: float, pause: float = 0.0
) -> Measured:
    """Send reviews to a webhook for some seconds; return what came back."""
    return asyncio.run(Load(target, bodies, clients, seconds, pause).run())
