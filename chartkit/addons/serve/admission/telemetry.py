"""Logs and traces of a server: JSON, an object a line, on standard error; OpenTelemetry's spans."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final

from chartkit.addons.serve.admission.judge import Verdict
from chartkit.addons.serve.admission.review import Review
from chartkit.addons.serve.admission.selection import Webhook
from chartkit.errors import ChartkitError, InputError, bug_message, extra
from chartkit.model import Json, Status

LEVELS: Final = ("debug", "info", "warning", "error")
_STDERR: Final = 2
_LONGEST: Final = 10_000
"""Characters of a text in a line; objects and their messages come from users."""
SERVICE: Final = "chartkit-serve"
_FAILED: Final = frozenset({Status.FAIL, Status.ERROR})


def _write(line: bytes) -> None:
    try:
        while line:
            line = line[os.write(_STDERR, line) :]
    except OSError:
        pass  # Nobody reads any more, and no review is to fail for that.


class Log:
    """A log of one process; lines below its level are left out."""

    __slots__ = ("_count", "_least", "_write", "is_debug")

    def __init__(
        self,
        level: str,
        write: Callable[[bytes], object] = _write,
        count: Callable[[str], object] = lambda _part: None,
    ) -> None:
        """count: called with the part of the server in which something failed (`guarded`)."""
        self._least = LEVELS.index(level)
        self._write = write
        self._count = count
        self.is_debug = level == "debug"

    def guarded(self, part: str, message: str, **fields: Json) -> Guard:
        """Return a block whose errors end it alone: they are logged and counted, because no request
        waits for its work."""
        return Guard(self, part, message, fields)

    def failed(self, part: str, message: str, error: Exception, fields: dict[str, Json]) -> None:
        """Write and count an error, and say of one that is not raised on purpose where it is."""
        is_meant = isinstance(error, ChartkitError | OSError)
        self._count(part)
        self.error(message, **fields, error=str(error) if is_meant else bug_message(error))

    def debug(self, message: str, **fields: Json) -> None:
        """Write what is of interest when looking for a mistake."""
        self._line("debug", message, fields)

    def info(self, message: str, **fields: Json) -> None:
        """Write what happened."""
        self._line("info", message, fields)

    def warning(self, message: str, **fields: Json) -> None:
        self._line("warning", message, fields)

    def error(self, message: str, **fields: Json) -> None:
        """Write what went wrong."""
        self._line("error", message, fields)

    def _line(self, level: str, message: str, fields: dict[str, Json]) -> None:
        if LEVELS.index(level) < self._least:
            return
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        shown = {key: _cut(value) for key, value in fields.items()}
        line = {"time": now, "level": level, "message": message, "process": os.getpid(), **shown}
        # Escaped, so that the text of an object never moves a terminal's cursor.
        self._write(json.dumps(line).encode("ascii") + b"\n")


def _cut(value: Json) -> Json:
    if isinstance(value, str) and len(value) > _LONGEST:
        return f"{value[:_LONGEST]}… ({len(value)} characters)"
    return value


class Guard:
    """A block whose errors are logged and counted, and go no further."""

    __slots__ = ("_fields", "_log", "_message", "_part", "is_failed")

    def __init__(self, log: Log, part: str, message: str, fields: dict[str, Json]) -> None:
        self._log, self._part, self._message, self._fields = log, part, message, fields
        self.is_failed = False

    def __enter__(self) -> Guard:
        return self

    def __exit__(
        self, _type: object, error: BaseException | None, _trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        self.is_failed = True
        self._log.failed(self._part, self._message, error, self._fields)
        return True


class NoSpans:
    """No spans."""

    def add(self, *_of_review: object) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class OpenTelemetrySpans:
    """Spans that are sent by OTLP over HTTP, in a thread of the SDK's own."""

    def __init__(self) -> None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.propagate import extract
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.trace import SpanKind, set_span_in_context

        resource = Resource.create({SERVICE_NAME: SERVICE})
        self._provider: Any = TracerProvider(resource=resource)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer: Any = self._provider.get_tracer("chartkit")
        self._extract: Any = extract
        self._below: Any = set_span_in_context
        self._server: Any = SpanKind.SERVER

    def add(
        self,
        review: Review,
        webhook: Webhook,
        verdict: Verdict,
        headers: Mapping[bytes, bytes],
        times: tuple[int, int],
    ) -> None:
        """Add the spans of a review; times: its start and end, in nanoseconds since 1970."""
        carrier = {
            key: headers[key.encode()].decode("latin-1")
            for key in ("traceparent", "tracestate")
            if key.encode() in headers
        }
        begun, ended = times
        span = self._tracer.start_span(
            f"ADMISSION {review.operation} {review.kind.kind}",
            self._extract(carrier),
            kind=self._server,
            attributes={
                "admission.request.uid": review.uid,
                "admission.request.webhook": webhook.value,
                "admission.request.operation": str(review.operation),
                "admission.request.kind": review.kind.kind,
                "admission.request.namespace": review.namespace,
                "admission.request.name": review.name,
                "admission.request.dryrun": review.is_dry_run,
                "admission.response.allowed": verdict.answer.allowed,
            },
            start_time=begun,
        )
        context, at = self._below(span), begun
        for evaluated in verdict.evaluated:
            until = at + int(evaluated.seconds * 1e9)
            is_failed = any(result.status in _FAILED for result in evaluated.results)
            policy = self._tracer.start_span(
                f"POLICY {evaluated.policy.policy.key}",
                context,
                attributes={"policy.name": evaluated.policy.policy.key, "policy.failed": is_failed},
                start_time=at,
            )
            policy.end(until)
            at = until
        span.end(max(at, ended))

    def close(self) -> None:
        self._provider.shutdown()


def require_spans() -> None:
    """Raise InputError where OpenTelemetry's packages are not installed."""
    from importlib.util import find_spec

    try:
        is_there = find_spec("opentelemetry.exporter.otlp.proto.http") is not None
        is_there = is_there and find_spec("opentelemetry.sdk") is not None
    except ModuleNotFoundError:
        is_there = False
    if not is_there:
        raise InputError("OpenTelemetry is not installed", hint=extra("otel"))
