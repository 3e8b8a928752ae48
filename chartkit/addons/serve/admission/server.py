"""The processes of an admission server: granian's supervisor, and a worker for each core.

granian serves TLS and HTTP in Rust, outside of Python's lock; `bench/README.md` compares it with
uvicorn.
"""

from __future__ import annotations

import gc
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from chartkit.addons.serve.admission.application import Application
from chartkit.addons.serve.admission.limits import MOST_CONNECTIONS, ServerSettings
from chartkit.addons.serve.admission.metrics import Metrics
from chartkit.addons.serve.admission.reloading import PolicyReloader, Source
from chartkit.addons.serve.admission.reports import Reports, Target
from chartkit.addons.serve.admission.telemetry import Log, NoSpans, OpenTelemetrySpans
from chartkit.errors import InputError, extra

HEADER_TIMEOUT: Final = 10_000
"""Milliseconds that a client may take to send the head of a request."""
_LONGEST_HEADERS: Final = 1 << 16
_NEXT_TRY: Final = 1.0
"""Seconds before a worker reads policies again that it could not use."""
_FILES: Final = 1 << 16
_PACKAGES: Final = ("granian", "cryptography", "prometheus_client")
_LEAVES_FAST: Final = 0.6
"""Seconds to end after Ctrl-C."""
_BEFORE_END: Final = 5.0
_GARBAGE: Final = 10_000
"""New objects after which garbage in cycles is looked for; a review leaves none."""


@dataclass(frozen=True, slots=True)
class Worker:
    """Makes the application of one worker process, to which it is sent. target: where reports go,
    None for nowhere."""

    settings: ServerSettings
    source: Source
    target: Target | None

    def __call__(self) -> Application:
        # The supervisor decides when a worker ends; Ctrl-C in a terminal reaches all processes.
        metrics = Metrics(self.settings.metrics_folder)
        log = Log(self.settings.log_level, count=metrics.failed)
        reloader: PolicyReloader | None = None
        while reloader is None:
            with log.guarded("start", "a worker waits for policies that it can use"):
                reloader = PolicyReloader(self.source, log, self.settings.poll, metrics.reloaded)
            if reloader is None:
                time.sleep(_NEXT_TRY)
        spans = OpenTelemetrySpans() if self.settings.traces else NoSpans()
        reports = Reports(self.target, log)
        gc.set_threshold(_GARBAGE)
        return Application(self.settings, reloader, log, metrics, reports, spans)


def serve(
    worker: Worker, on_start: Callable[[], None], before_end: Callable[[float], None]
) -> None:
    """Serve until SIGTERM, which lets reviews in flight end, or Ctrl-C, which gives them less than
    a second. on_start: called when workers are about to start; before_end: as long as they still
    answer, with the seconds that it may take.

    Raise InputError where the address cannot be listened at, and where granian is not installed.
    """
    import multiprocessing

    settings, log = worker.settings, Log(worker.settings.log_level)
    require_server()
    from granian import Granian
    from granian.constants import HTTPModes, Interfaces, RuntimeModes
    from granian.http import HTTP1Settings, HTTP2Settings

    # Each connection takes an open file.
    if sys.platform != "win32":
        import resource

        now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        if now < _FILES <= most:
            resource.setrlimit(resource.RLIMIT_NOFILE, (_FILES, most))
    # Policies may have come from a library with threads of its own, which a fork would lose.
    multiprocessing.set_start_method("spawn", force=True)
    server: Any = Granian(
        "chartkit",
        address=settings.host,
        port=settings.port,
        interface=Interfaces.ASGI,
        workers=settings.workers,
        http=HTTPModes.auto,
        runtime_mode=RuntimeModes.st,
        websockets=False,
        backlog=MOST_CONNECTIONS,
        backpressure=MOST_CONNECTIONS,
        http1_settings=HTTP1Settings(header_read_timeout=HEADER_TIMEOUT),
        http2_settings=HTTP2Settings(
            keep_alive_interval=HEADER_TIMEOUT, max_headers_size=_LONGEST_HEADERS
        ),
        log_enabled=False,
        ssl_cert=settings.certificate,
        ssl_key=settings.key,
        respawn_failed_workers=True,
        respawn_interval=0.1,
        workers_kill_timeout=int(settings.drain),
    )
    server.respawned_wrks = _Respawns(log)
    server.on_startup(_Endings(server, before_end).take_over)
    server.on_startup(on_start)
    server.serve(target_loader=worker, wrap_loader=False)


class _Respawns(dict[int, float]):
    """The times at which granian replaced workers, of which it remembers none: it would end with
    all workers when one is killed twice within seconds."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def get(self, worker: int, _default: Any = None) -> float:
        """Return a time long ago for a worker that has ended."""
        self._log.warning("a worker ended: another one starts", worker=worker + 1)
        return float("-inf")


class _Endings:
    """The end of a server at Ctrl-C and SIGTERM."""

    def __init__(self, server: Any, before_end: Callable[[float], None]) -> None:
        self._server = server
        self._before_end = before_end

    def take_over(self) -> None:
        """Handle signals in place of granian, which would wait after Ctrl-C as long as after
        SIGTERM."""
        signal.signal(signal.SIGINT, self._leave)
        signal.signal(signal.SIGTERM, self._end)

    def _leave(self, number: int, frame: object) -> None:
        self._server.workers_kill_timeout = _LEAVES_FAST
        self._before_end(_LEAVES_FAST / 2)
        self._server.signal_handler_interrupt(number, frame)

    def _end(self, number: int, frame: object) -> None:
        self._before_end(_BEFORE_END)
        self._server.signal_handler_interrupt(number, frame)


def require_server() -> None:
    """Raise InputError where the packages of the server are not installed."""
    from importlib.util import find_spec

    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        hint = extra("serve")
        verb = "is" if len(missing) == 1 else "are"
        raise InputError(f"{', '.join(missing)} {verb} not installed", hint=hint)


def require_address(host: str, port: int) -> None:
    """Raise InputError for an address that cannot be listened at."""
    import socket

    try:
        family, kind, number, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, number) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise InputError(f"cannot listen at {host}:{port}: {error.strerror}") from None
