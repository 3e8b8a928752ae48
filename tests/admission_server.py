"""`chartkit serve` as a child process, and clients of it, well-behaved and not."""

import contextlib
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.loopback import at_length

JSON = {"Content-Type": "application/json"}


@dataclass
class Response:
    """A status, and the body as JSON, or as text where it is none."""

    status: int
    body: Any

    @property
    def review(self) -> Any:
        """The response of an AdmissionReview."""
        return self.body["response"]


@dataclass
class AdmissionServer:
    """A running server; lines: its log."""

    process: subprocess.Popen[bytes]
    port: int
    authority: Path
    lines: list[dict[str, Any]] = field(default_factory=list)

    @property
    def context(self) -> ssl.SSLContext:
        """The context of a client that trusts the server's authority alone."""
        return ssl.create_default_context(cafile=str(self.authority))

    def connect(self, timeout: float = 20.0) -> ssl.SSLSocket:
        """Return a connection, for clients that are not well-behaved."""
        plain = socket.create_connection(("127.0.0.1", self.port), timeout)
        return self.context.wrap_socket(plain, server_hostname="localhost")

    def client(self) -> http.client.HTTPSConnection:
        """Return a client with one connection."""
        return http.client.HTTPSConnection("localhost", self.port, timeout=20, context=self.context)

    def send(
        self,
        path: str,
        content: bytes | None = None,
        headers: dict[str, str] | None = None,
        method: str = "POST",
    ) -> Response:
        """Send a request on a connection of its own."""
        with closing(self.client()) as client:
            return exchange(client, path, content, headers, method)

    def logged(self, message: str) -> list[dict[str, Any]]:
        """Return the log's lines with a message."""
        return [each for each in self.lines if each["message"] == message]

    def is_ready(self) -> bool:
        """Return whether it says that it is ready."""
        if self.process.poll() is not None:
            raise AssertionError(f"it ended: {self.lines}")
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self.send("/readyz", method="GET").status == 200
        return False

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """End it, and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(40)


def exchange(
    client: http.client.HTTPSConnection,
    path: str,
    content: bytes | None = None,
    headers: dict[str, str] | None = None,
    method: str = "POST",
) -> Response:
    """Send a request with a client, and return the response."""
    client.request(method, path, content, JSON if headers is None else headers)
    answer = client.getresponse()
    text = answer.read()
    try:
        body = json.loads(text)
    except ValueError:
        body = text.decode("utf-8")
    return Response(answer.status, body)


@contextmanager
def admission_server(
    folder: Path,
    *arguments: str | Path,
    environment: dict[str, str] | None = None,
    becomes_ready: bool = True,
) -> Iterator[AdmissionServer]:
    """Run a server with its certificates in a folder, and end it; environment: further variables;
    becomes_ready: False for one that ends by itself."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "chartkit", "serve", "--port", str(port)]
    process = subprocess.Popen(
        [*command, "--tls-folder", str(folder), *map(str, arguments)],
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **(environment or {})},
    )
    server = AdmissionServer(process, port, folder / "ca.crt")
    reader = threading.Thread(target=_read, args=(process, server.lines), daemon=True)
    reader.start()
    try:
        assert not becomes_ready or at_length(server.is_ready)
        yield server
    finally:
        server.end()
        reader.join(10)
        assert process.stderr is not None
        process.stderr.close()


def _read(process: subprocess.Popen[bytes], lines: list[dict[str, Any]]) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        try:
            lines.append(json.loads(line))
        except ValueError:
            lines.append({"message": line.decode("utf-8", "replace").rstrip(), "level": "raw"})
