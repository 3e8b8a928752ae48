"""A server on loopback whose answers are bytes, sent as a test wants them."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from chartkit.network.downloads.lockfile import DEFAULT, Limits

CALM = replace(DEFAULT, attempts=2, pause=0.01)
"""Limits that no answer passes which is only late."""
STEADY = replace(CALM, silence=0.4)
"""Limits for who hangs first and answers then; with `hasty`."""
Answer = Callable[[socket.socket, threading.Event], None]
"""Writes to a connection; the event is set when the server is to end."""


@dataclass(slots=True)
class Server:
    """url: where it is; asked: the paths that were asked for, in order."""

    url: str
    asked: list[str] = field(default_factory=list)


def body(content: bytes, status: str = "200 OK", length: int | None = None) -> Answer:
    """A whole answer; length: what it announces, if not what it is."""

    def answer(connection: socket.socket, _stop: threading.Event) -> None:
        size = len(content) if length is None else length
        head = f"HTTP/1.1 {status}\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n"
        connection.sendall(head.encode() + content)

    return answer


def redirect(target: str) -> Answer:
    """A redirect."""

    def answer(connection: socket.socket, _stop: threading.Event) -> None:
        head = f"HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\n"
        connection.sendall(f"{head}Connection: close\r\n\r\n".encode())

    return answer


def hang(_connection: socket.socket, stop: threading.Event) -> None:
    """No answer at all."""
    stop.wait()


def close(_connection: socket.socket, _stop: threading.Event) -> None:
    """The end of the connection."""


def trickle(connection: socket.socket, stop: threading.Event) -> None:
    """An answer that never ends, a byte now and then."""
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while not stop.wait(0.05):
        connection.sendall(b"x")


def trickled_head(connection: socket.socket, stop: threading.Event) -> None:
    """A head that never ends, a byte now and then."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while not stop.wait(0.05):
        connection.sendall(b"x")


def flood(connection: socket.socket, stop: threading.Event) -> None:
    """An answer without end, as fast as it is read."""
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while not stop.is_set():
        connection.sendall(b"x" * 65536)


def quick(answer: Answer, limits: Limits = CALM) -> Limits:
    """Limits under which a slow answer fails soon, and for nothing else than its slowness. A
    machine may stand still for a second, so only the one limit is short that is asked about, and
    where other requests are made besides, `hasty` spares them."""
    if answer is hang:
        return replace(limits, silence=0.4)
    return replace(limits, patience=1.0) if answer in (trickle, trickled_head) else limits


def in_turn(*answers: Answer) -> Answer:
    """One answer after the other; the last one again and again."""
    waiting = list(answers)

    def answer(connection: socket.socket, stop: threading.Event) -> None:
        (waiting.pop(0) if len(waiting) > 1 else waiting[0])(connection, stop)

    return answer


def _encrypted(plain: socket.socket, tls: ssl.SSLContext | None) -> socket.socket:
    return tls.wrap_socket(plain, server_side=True) if tls else plain


@contextlib.contextmanager
def serving(answers: Mapping[str, Answer], tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    """Answers requests by path until the block ends; tls: what encrypts them, if anything does."""
    stop = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    server = Server(f"http{'s' if tls else ''}://127.0.0.1:{listener.getsockname()[1]}")
    threads: list[threading.Thread] = []

    def handle(plain: socket.socket) -> None:
        with plain, contextlib.suppress(OSError), _encrypted(plain, tls) as connection:
            request = b""
            while b"\r\n\r\n" not in request:
                request += connection.recv(4096) or b"\r\n\r\n"
            path = request.split(b" ")[1].decode()
            server.asked.append(path)
            answers[path](connection, stop)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threads.append(threading.Thread(target=handle, args=(connection,)))
                threads[-1].start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield server
    finally:
        stop.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for thread in (accepting, *threads):
            thread.join(10)
