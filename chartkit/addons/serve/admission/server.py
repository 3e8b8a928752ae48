"""The processes of an admission server, granian's supervisor and a worker for each core, and the
ASGI application: webhooks, health, metrics, and the bounds on all of them.

granian serves TLS and HTTP in Rust, outside of Python's lock; `bench/README.md` compares it with
uvicorn.
"""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final, TypeVar
from urllib.parse import parse_qs

from chartkit.addons.serve.admission.judge import PolicyReloader, Source, Verdict
from chartkit.addons.serve.admission.limits import (
    MOST_CONNECTIONS,
    Bounds,
    Connections,
    Message,
    Receive,
    Refused,
    ServerSettings,
)
from chartkit.addons.serve.admission.metrics import Metrics
from chartkit.addons.serve.admission.reports import Reports, Target
from chartkit.addons.serve.admission.review import Review, ReviewError, parse_review
from chartkit.addons.serve.admission.selection import Webhook
from chartkit.addons.serve.admission.telemetry import Guard, Log, NoSpans, OpenTelemetrySpans
from chartkit.errors import BugError, Bugs, ChartkitError, InputError, extra
from chartkit.go.duration import SECOND, duration_or_none
from chartkit.model import Location

T = TypeVar("T")
Scope = Mapping[str, Any]
Send = Callable[[Message], Awaitable[None]]

JSON: Final = b"application/json"
TEXT: Final = b"text/plain; charset=utf-8"
LONGEST_TIMEOUT: Final = 30.0
"""Seconds: the longest timeout of a webhook. The default of an API server is 10."""
_DEFAULT_TIMEOUT: Final = 10.0
_LARGE: Final = 1 << 17
"""Bytes of a review from which it is read and judged in a thread: others are answered meanwhile."""
_LONGEST_AUDIT: Final = 10.0
"""Seconds after an answer until which its review is audited."""
_LIVE: Final = frozenset(("/livez", "/healthz", "/health/liveness"))
_READY: Final = frozenset(("/readyz", "/health/readiness"))
_METRICS: Final = "/metrics"
_METHODS: Final = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_OTHER: Final = "other"
"""The label of other methods, and of all paths that name no policy."""
_LONGEST_QUERY: Final = 256
_LONGEST_REASON: Final = 1_000
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


class Application:
    """An ASGI application that answers reviews with the judge of a reloader."""

    def __init__(
        self,
        settings: ServerSettings,
        reloader: PolicyReloader,
        log: Log,
        metrics: Metrics,
        reports: Reports,
        spans: NoSpans | OpenTelemetrySpans,
    ) -> None:
        self._reloader = reloader
        self._log = log
        self._metrics = metrics
        self._reports = reports
        self._spans = spans
        self._bounds = Bounds(settings)
        self._connections = Connections(settings.port, settings.body_timeout, log)
        self._threads = ThreadPoolExecutor(settings.threads, thread_name_prefix="judge")
        self._is_ending = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            path = scope["path"]
            self._connections.hear(scope.get("client"))
            with self._log.guarded("request", "a request was not answered", path=path) as guard:
                await self._http(scope, receive, send)
            if guard.is_failed:
                await _respond(send, 500, b"a fault of the server: its log has it", TEXT)

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self._reloader.start()
                self._metrics.start(self._log)
                self._connections.start()
                self._log.info("ready", policies=len(self._reloader.served.policies))
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                self._is_ending = True
                self._reloader.stop()
                self._metrics.stop()
                self._connections.stop()
                self._threads.shutdown(wait=False, cancel_futures=True)
                loop = asyncio.get_running_loop()
                await loop.run_in_executor(None, self._reports.close)
                await loop.run_in_executor(None, self._spans.close)
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, method = scope["path"], scope["method"]
        begun = time.perf_counter()
        if path in _LIVE:
            await _respond(send, 200, b"ok", TEXT)
        elif path in _READY:
            is_ready = not self._is_ending
            await _respond(send, 200 if is_ready else 503, b"ok" if is_ready else b"ending", TEXT)
        elif path == _METRICS:
            text = await self._metrics.scraped()
            await _respond(send, 200, text, self._metrics.content_type.encode())
        else:
            try:
                await self._webhook(scope, receive, send)
            except Refused as refused:
                await self._refuse(scope, send, refused)
            path = path if self._reloader.judge.remembers(path) else _OTHER
            method = method if method in _METHODS else _OTHER
            self._metrics.http(method, path, time.perf_counter() - begun)

    async def _refuse(self, scope: Scope, send: Send, refused: Refused) -> None:
        self._metrics.refused(refused.status)
        level = self._log.error if refused.status >= 500 else self._log.warning
        client = scope.get("client") or ("",)
        level("request refused", status=refused.status, reason=refused.reason, client=client[0])
        headers = [(b"retry-after", b"1")] if refused.status == 429 else []
        reason = refused.reason[:_LONGEST_REASON].encode("utf-8", "replace")
        await _respond(send, refused.status, reason, TEXT, headers)

    async def _webhook(self, scope: Scope, receive: Receive, send: Send) -> None:
        judge, path = self._reloader.judge, scope["path"]
        if (found := judge.find(path)) is None:
            raise Refused(404, "no such path: webhooks are at /validate and /mutate")
        if scope["method"] != "POST":
            raise Refused(405, f"{scope['method']} is not a method of a webhook")
        headers = dict(scope["headers"])
        media = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if media != JSON:
            raise Refused(415, "invalid Content-Type, expected application/json")
        deadline = time.monotonic() + _timeout((scope.get("query_string") or b"")[:_LONGEST_QUERY])
        with self._bounds.slot() as slot:
            content = await slot.read(headers, receive, deadline)
            is_large = len(content) >= _LARGE
            try:
                review = await self._run(is_large, partial(parse_review, content))
            except ReviewError as error:
                raise Refused(400, str(error)) from None
            webhook, chosen = found
            # Whether work on it may take long enough to keep others waiting.
            is_long = is_large or chosen.looks_around
            begun, started = time.perf_counter(), time.time_ns()
            work = partial(judge.judge, review, webhook, chosen)
            verdict = await self._judged(review, work, is_long, deadline)
            seconds = time.perf_counter() - begun
            await _respond(send, 200, verdict.answer.encoded(review.uid), JSON)
            if chosen.auditing:
                with self._guarded("audit", review):
                    latest = time.monotonic() + _LONGEST_AUDIT
                    await self._run(is_long, partial(judge.audit, verdict, chosen, latest))
            with self._guarded("metrics", review):
                self._metrics.review(review, webhook, verdict, seconds)
            with self._guarded("spans", review):
                self._spans.add(review, webhook, verdict, headers, (started, time.time_ns()))
            with self._guarded("log", review):
                self._say(review, webhook, verdict, seconds)
            if webhook is Webhook.VALIDATING:
                with self._guarded("reports", review):
                    self._reports.add(review, path, verdict, judge.served.facts)

    def _guarded(self, part: str, review: Review) -> Guard:
        return self._log.guarded(part, f"{part} of an answered review failed", uid=review.uid)

    async def _judged(
        self, review: Review, work: Callable[[], Verdict], is_long: bool, deadline: float
    ) -> Verdict:
        """Return the verdict; raise Refused where the deadline passes first."""
        left = deadline - time.monotonic()
        if left <= 0:
            raise Refused(504, "the time of the request was over before it was judged")
        try:
            with Bugs(Location(f"review {review.uid}")):
                verdict = await self._run(is_long, work, left)
        except TimeoutError:
            raise Refused(504, "the time of the request was over before the verdict") from None
        except BugError as error:
            raise Refused(500, str(error)) from None
        except (ChartkitError, OSError) as error:
            raise Refused(500, f"the policies could not be asked: {error}") from None
        if time.monotonic() > deadline:
            raise Refused(504, "the time of the request was over before the verdict")
        return verdict

    async def _run(self, is_long: bool, work: Callable[[], T], seconds: float | None = None) -> T:
        """Return the result of work, done in a thread where it may take long; raise TimeoutError
        after some seconds there."""
        if not is_long:
            return work()
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(seconds):
            return await loop.run_in_executor(self._threads, work)

    def _say(self, review: Review, webhook: Webhook, verdict: Verdict, seconds: float) -> None:
        answer = verdict.answer
        if answer.allowed and not self._log.is_debug:
            return
        say = self._log.debug if answer.allowed else self._log.info
        say(
            "allowed" if answer.allowed else "denied",
            webhook=webhook.value,
            operation=str(review.operation),
            kind=review.kind.kind,
            namespace=review.namespace,
            name=review.name or review.subject.name,
            user=review.user.get("username"),
            uid=review.uid,
            dryRun=review.is_dry_run,
            milliseconds=round(seconds * 1000, 3),
            reason=answer.message,
        )


@lru_cache(maxsize=64)
def _timeout(query: bytes) -> float:
    """Return the seconds that the API server waits, from `timeout` of the query."""
    given = parse_qs(query.decode("latin-1")).get("timeout", [""])[0]
    nanoseconds = duration_or_none(given) if given else None
    if nanoseconds is None or nanoseconds <= 0:
        return _DEFAULT_TIMEOUT
    return min(nanoseconds / SECOND, LONGEST_TIMEOUT)


async def _respond(
    send: Send,
    status: int,
    content: bytes,
    media: bytes,
    headers: list[tuple[bytes, bytes]] | None = None,
) -> None:
    length = str(len(content)).encode("ascii")
    own = [(b"content-type", media), (b"content-length", length), *(headers or ())]
    await send({"type": "http.response.start", "status": status, "headers": own})
    await send({"type": "http.response.body", "body": content})


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
    """The times at which granian replaced workers, always in the distant past: it would end with
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
        """Handle signals: granian itself would wait after Ctrl-C as long as after SIGTERM."""
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
