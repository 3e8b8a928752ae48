"""Spans of reviews for OpenTelemetry, one for each policy below that of the review.

The SDK is configured by its own variables, such as `OTEL_EXPORTER_OTLP_ENDPOINT`. A span of the
API server's that a request names (`traceparent`) is the parent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

from chartkit.addons.serve.admission.judge import Verdict
from chartkit.addons.serve.admission.review import Review
from chartkit.addons.serve.admission.selection import Webhook
from chartkit.errors import InputError
from chartkit.model import Status

SERVICE: Final = "chartkit-serve"
_FAILED: Final = frozenset({Status.FAIL, Status.ERROR})


class Spans(Protocol):
    """A sink for spans."""

    def add(
        self,
        review: Review,
        webhook: Webhook,
        verdict: Verdict,
        headers: Mapping[bytes, bytes],
        times: tuple[int, int],
    ) -> None:
        """Add the spans of a review; times: its start and end, in nanoseconds since 1970."""
        ...

    def close(self) -> None:
        """Send what waits, and end."""
        ...


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
        """Add the spans of a review."""
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
        for each in verdict.evaluated:
            until = at + int(each.seconds * 1e9)
            is_failed = any(result.status in _FAILED for result in each.results)
            policy = self._tracer.start_span(
                f"POLICY {each.policy.policy.key}",
                context,
                attributes={"policy.name": each.policy.policy.key, "policy.failed": is_failed},
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
        hint = "pip install '.[otel]' where chartkit's source is"
        raise InputError("OpenTelemetry is not installed", hint=hint)
