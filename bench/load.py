"""Load for an admission webhook: many connections over TLS, each with one request at a time.

One thread waits for all sockets and reads each answer to its end, so that the load takes a small
part of the processors that it shares with the webhook.
"""

from __future__ import annotations

import gc
import heapq
import re
import select
import socket
import ssl
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

_END_OF_HEADERS: Final = b"\r\n\r\n"
_LAST_CHUNK: Final = b"\r\n0\r\n\r\n"
_LENGTH: Final = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.IGNORECASE)
_CHUNKED: Final = re.compile(rb"\r\ntransfer-encoding:[ \t]*chunked", re.IGNORECASE)
_STATUS: Final = slice(9, 12)
_READ: Final = 1 << 14
"""Bytes of a record of TLS, which is read at a time."""
_PATIENCE: Final = 30.0
"""Seconds to connect, and for answers that are outstanding at the end."""


@dataclass(frozen=True, slots=True)
class Target:
    """A webhook. path: with its query, as an API server sends it."""

    host: str
    port: int
    path: str


@dataclass(frozen=True, slots=True)
class Exchange:
    """A review, and what its answer has to say. body: of the request."""

    body: bytes
    uid: str
    is_allowed: bool


@dataclass(slots=True)
class Measured:
    """What came back. latencies: in seconds, of whole requests; statuses: HTTP's, with their
    counts; refused: denials among the answers; wrong: answers of status 200 with another UID or
    verdict than expected; failures: connections that ended with a request unanswered, by reason;
    processor: the seconds of this process, once all clients were connected."""

    seconds: float = 0.0
    processor: float = 0.0
    latencies: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    refused: int = 0
    wrong: int = 0
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


@dataclass(frozen=True, slots=True)
class _Expected:
    """A request, and the parts of its answer: the UID, the verdict, and the other verdict."""

    request: bytes
    uid: bytes
    is_allowed: bool


_ALLOWED: Final = b'"allowed":true'
_DENIED: Final = b'"allowed":false'


class _Client:
    """One connection. number: of the request that it sends next."""

    __slots__ = ("expected", "number", "received", "sock", "started")

    def __init__(self, sock: ssl.SSLSocket, number: int) -> None:
        self.sock = sock
        self.number = number
        self.received = b""
        self.started = 0.0
        self.expected: _Expected | None = None

    def send(self, expected: _Expected) -> None:
        """Send a request; raise OSError."""
        self.expected = expected
        self.started = time.perf_counter()
        request = expected.request
        while True:
            try:
                sent = self.sock.send(request)
            except ssl.SSLWantWriteError:
                select.select((), (self.sock,), (), _PATIENCE)
                continue
            if sent == len(request):
                return
            request = request[sent:]

    def answer(self) -> bytes | None:
        """Return the answer once it is whole; raise OSError or EOFError where there is none."""
        try:
            part = self.sock.recv(_READ)
        except ssl.SSLWantReadError:
            return None
        if not part:
            raise EOFError("closed")
        received = self.received + part if self.received else part
        if _is_whole(received):
            self.received = b""
            return received
        self.received = received
        return None


def _is_whole(received: bytes) -> bool:
    """Return whether an answer has come to its end; nothing follows one that is not asked for."""
    end = received.find(_END_OF_HEADERS)
    if end < 0:
        return False
    found = _LENGTH.search(received, 0, end)
    if found is not None:
        return len(received) >= end + len(_END_OF_HEADERS) + int(found[1])
    if _CHUNKED.search(received, 0, end):
        return received.endswith(_LAST_CHUNK)
    return True


class Load:
    """A run of load. clients: connections at once; pause: the seconds between the starts of a
    client's requests, 0 to send as soon as it has an answer."""

    def __init__(
        self,
        target: Target,
        reviews: Sequence[Exchange],
        clients: int,
        seconds: float,
        pause: float,
    ) -> None:
        self.measured = Measured()
        self._requests = [
            _Expected(
                request_of(target, each.body), f'"uid":"{each.uid}"'.encode(), each.is_allowed
            )
            for each in reviews
        ]
        self._target = target
        self._count = clients
        self._seconds = seconds
        self._pause = pause
        self._poll = select.epoll()
        self._clients: dict[int, _Client] = {}
        self._due: list[tuple[float, int]] = []
        self._end = 0.0

    def run(self) -> Measured:
        """Connect all clients, and measure once they are connected."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        for number in range(self._count):
            client = _Client(self._connected(context), number)
            self._clients[client.sock.fileno()] = client
            self._poll.register(client.sock.fileno(), select.EPOLLIN)
        gc.freeze()
        begun, processor = time.perf_counter(), time.process_time()
        self._end = begun + self._seconds
        try:
            for number, client in enumerate(list(self._clients.values())):
                self._plan(client, begun + self._pause * number / self._count)
            self._wait()
            self.measured.seconds = time.perf_counter() - begun
            self.measured.processor = time.process_time() - processor
        finally:
            gc.unfreeze()
            self._poll.close()
            for client in self._clients.values():
                client.sock.close()
        return self.measured

    def _connected(self, context: ssl.SSLContext) -> ssl.SSLSocket:
        plain = socket.create_connection((self._target.host, self._target.port), _PATIENCE)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        secure = context.wrap_socket(plain)
        secure.setblocking(False)
        return secure

    def _wait(self) -> None:
        """Read answers as they come, and send what is due, to the end."""
        while self._clients:
            now = time.perf_counter()
            while self._due and (now >= self._end or self._due[0][0] <= now):
                self._send(self._clients[heapq.heappop(self._due)[1]])
            if not self._clients:
                return
            left = self._end + _PATIENCE - now
            if left <= 0:
                self._give_up()
                return
            until = self._due[0][0] - now if self._due else left
            for number, _ in self._poll.poll(max(min(until, left), 0.0)):
                self._read(self._clients[number])

    def _plan(self, client: _Client, due: float) -> None:
        if self._pause:
            heapq.heappush(self._due, (due, client.sock.fileno()))
        else:
            self._send(client)

    def _send(self, client: _Client) -> None:
        if time.perf_counter() >= self._end:
            self._leave(client)
            return
        expected = self._requests[client.number % len(self._requests)]
        client.number += 1
        try:
            client.send(expected)
        except OSError as error:
            self._lose(client, error)

    def _read(self, client: _Client) -> None:
        try:
            answer = client.answer()
        except (OSError, EOFError) as error:
            self._lose(client, error)
            return
        if answer is not None:
            self._count_answer(client, answer)
            self._plan(client, client.started + self._pause)

    def _count_answer(self, client: _Client, answer: bytes) -> None:
        expected, found = client.expected, self.measured
        found.latencies.append(time.perf_counter() - client.started)
        if expected is None:
            found.wrong += 1
            return
        client.expected = None
        status = int(answer[_STATUS])
        found.statuses[status] += 1
        if status != 200:
            return
        found.refused += _DENIED in answer
        verdict = _ALLOWED if expected.is_allowed else _DENIED
        found.wrong += expected.uid not in answer or verdict not in answer

    def _lose(self, client: _Client, error: Exception) -> None:
        if client.expected is not None:
            name = "closed" if isinstance(error, EOFError) else type(error).__name__
            self.measured.failures[name] += 1
        self._leave(client)

    def _give_up(self) -> None:
        self.measured.failures["no answer"] += len(self._clients)

    def _leave(self, client: _Client) -> None:
        number = client.sock.fileno()
        self._poll.unregister(number)
        del self._clients[number]
        client.sock.close()


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
    target: Target, reviews: Sequence[Exchange], clients: int, seconds: float, pause: float = 0.0
) -> Measured:
    """Send reviews to a webhook for some seconds; return what came back."""
    return Load(target, reviews, clients, seconds, pause).run()
