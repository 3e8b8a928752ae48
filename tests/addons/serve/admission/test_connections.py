"""network.admission.limits: who sends no request is disconnected, and nobody else."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from chartkit.addons.serve.admission.limits import SHORT_PATIENCE, Connections
from chartkit.addons.serve.admission.telemetry import Log

_PATIENCE = 10.0


class _Server:
    """Connections to a socket of this process, whose clock the test sets."""

    def __init__(self, held: ExitStack, host: str) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._held = held
        self._listener = held.enter_context(socket.create_server((host, 0), family=family))
        self._address = self._listener.getsockname()[:2]
        self.now = 100.0
        self.lines: list[dict[str, Any]] = []
        log = Log("info", lambda line: self.lines.append(json.loads(line)))
        port = self._address[1]
        self.connections = Connections(port, _PATIENCE, log, most=8, clock=lambda: self.now)

    def client(self) -> socket.socket:
        """Return a client that is connected."""
        made = self._held.enter_context(socket.create_connection(self._address, 5))
        self._held.enter_context(self._listener.accept()[0])
        return made

    def look(self, seconds: float) -> None:
        self.now += seconds
        self.connections.look()


@pytest.fixture(params=["127.0.0.1", "::1"])
def server(request: pytest.FixtureRequest) -> Iterator[_Server]:
    with ExitStack() as held:
        try:
            yield _Server(held, request.param)
        except OSError:
            pytest.skip(f"no {request.param} here")


def _is_closed(client: socket.socket) -> bool:
    client.setblocking(False)
    try:
        return client.recv(1) == b""
    except BlockingIOError:
        return False


def test_who_sends_no_request_in_time_is_disconnected(server: _Server) -> None:
    silent, heard = server.client(), server.client()
    server.connections.hear(heard.getsockname()[:2])
    server.look(0)
    server.look(_PATIENCE - 1)
    assert not _is_closed(silent)
    late = server.client()
    server.look(1)
    assert [_is_closed(each) for each in (silent, heard, late)] == [True, False, False]
    server.connections.hear(late.getsockname()[:2])
    server.look(0.5)
    server.look(10 * _PATIENCE)
    assert [_is_closed(each) for each in (heard, late)] == [False, False]
    assert [(each["message"], each["closed"]) for each in server.lines] == [
        ("connections that sent no request were closed", 1)
    ]


def test_there_is_less_time_where_there_are_many_and_a_line_at_the_bound(server: _Server) -> None:
    clients = [server.client() for _ in range(8)]
    server.connections.hear(clients[0].getsockname()[:2])
    server.look(0)
    assert server.lines[0]["message"] == "no more connections are accepted until others end"
    assert (server.lines[0]["open"], server.lines[0]["most"]) == (8, 8)
    server.look(SHORT_PATIENCE)
    assert [_is_closed(each) for each in clients] == [False, *[True] * 7]
    assert len(server.lines) == 1
    server.look(_PATIENCE)
    assert server.lines[1]["closed"] == 7


def test_other_sockets_of_the_process_stay(server: _Server) -> None:
    one, other = socket.socketpair()
    with one, other, socket.create_server(("127.0.0.1", 0)) as elsewhere:
        with socket.create_connection(elsewhere.getsockname()) as client:
            accepted, _ = elsewhere.accept()
            with accepted:
                server.look(0)
                server.look(2 * _PATIENCE)
                assert not _is_closed(client)
        assert not _is_closed(one)
    assert server.lines == []
