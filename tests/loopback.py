"""Servers on loopback for tests, and waiting for what their threads do.

They run in the test's own process, which may stand still for a while: a queue of connections as
short as Python's overflows meanwhile, and the kernel resets what stood in it.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from threading import Thread
from typing import Final

_QUEUE: Final = 256
_PAUSE: Final = 0.01
LONGEST: Final = 300
"""Seconds that no machine stands still for: what is not there then does not come."""


class LoopbackServer(ThreadingHTTPServer):
    """A server whose threads keep nobody waiting when it ends."""

    request_queue_size = _QUEUE
    daemon_threads = True
    block_on_close = False


class QuietHandler(BaseHTTPRequestHandler):
    """Writes nothing on standard error, and whole answers to its client."""

    def log_message(self, *_: object) -> None: ...

    def answer(self, status: int, content: bytes, **headers: str) -> None:
        """A whole answer; an underscore stands for the hyphen of a header."""
        self.send_response(status)
        for name, value in {"Content_Length": str(len(content)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def content(self) -> bytes:
        """What came with the request."""
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))


@contextmanager
def running(server: HTTPServer) -> Iterator[str]:
    """The host and port of a server, which ends with the block."""
    with server:
        Thread(target=server.serve_forever, args=(_PAUSE,), daemon=True).start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


def at_length(reached: Callable[[], bool]) -> bool:
    """Whether something comes true that another thread does, given as much time as it takes. A
    client that gives up soon may be gone before the server's thread has read what it sent."""
    end = time.monotonic() + LONGEST
    while not reached() and time.monotonic() < end:
        time.sleep(_PAUSE)
    return reached()
