"""A service on loopback that gives whatever a test wants, and keeps what it was asked."""

import contextlib
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.loopback import LoopbackServer, QuietHandler, running

Fault = Callable[["_Handler"], None]
"""What is done in an answer's place."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it came; headers: by their names in small letters."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(slots=True)
class Service:
    """place: HOST:PORT; answers: by path, status and body, with the headers that there are; faults:
    by path, before answers."""

    place: str = ""
    scheme: str = "http"
    answers: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    faults: dict[str, Fault] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def port(self) -> str:
        return self.place.rpartition(":")[2]

    def url(self, path: str) -> str:
        return f"{self.scheme}://{self.place}{path}"

    def moves(self, path: str, location: str, status: int = 302) -> None:
        """Redirects a path."""
        self.answers[path] = (status, b"", {"Location": location})


class _Handler(QuietHandler):
    service: Service

    def do_GET(self) -> None:
        headers = {key.lower(): value for key, value in self.headers.items()}
        path = self.path
        self.service.asked.append(Asked(self.command, path, headers, self.content()))
        bare = path.partition("?")[0]
        fault = self.service.faults.get(bare)
        if fault is not None:
            fault(self)
            return
        answers = self.service.answers
        status, body, *more = answers.get(path) or answers.get(bare) or (404, b"no such path")
        with contextlib.suppress(OSError):
            self.answer(status, body, **(more[0] if more else {}))

    do_POST = do_GET


def cut(handler: _Handler) -> None:
    """Announces more than comes."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100")
    handler.end_headers()
    handler.wfile.write(b'{"a": 1')


def silent(handler: _Handler) -> None:
    """Says nothing."""
    handler.service.stop.wait()


def trickling(handler: _Handler) -> None:
    """Sends a byte now and then, for ever."""
    handler.send_response(200)
    handler.end_headers()
    with contextlib.suppress(OSError):
        while not handler.service.stop.wait(0.02):
            handler.wfile.write(b" ")
            handler.wfile.flush()


def huge(handler: _Handler) -> None:
    """More than anybody takes, without saying so."""
    handler.send_response(200)
    handler.end_headers()
    with contextlib.suppress(OSError):
        handler.wfile.write(b'"')
        for _ in range(12):
            handler.wfile.write(b"x" * 1_000_000)


def no_http(handler: _Handler) -> None:
    """Speaks of something else."""
    handler.wfile.write(b"220 mail ready\r\n")


@contextlib.contextmanager
def serving(tls: ssl.SSLContext | None = None) -> Iterator[Service]:
    """A service that listens."""
    service = Service(scheme="http" if tls is None else "https")
    handler = type("Bound", (_Handler,), {"service": service})
    server = LoopbackServer(("127.0.0.1", 0), handler)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    with running(server) as service.place:
        try:
            yield service
        finally:
            service.stop.set()
