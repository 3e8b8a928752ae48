"""Spans of reviews, as an OpenTelemetry exporter gets them."""

from typing import Any

import pytest

from chartkit.addons.serve.admission import telemetry as module
from chartkit.addons.serve.admission.judge import Judge
from chartkit.addons.serve.admission.review import parse_review
from chartkit.addons.serve.admission.selection import Served, Webhook
from chartkit.errors import InputError
from tests.addons.serve.admission.bodies import CEL, TEAM, policies, review

_PARENT = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_a_review_is_a_span_with_one_for_each_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opentelemetry.sdk")
    exporters = pytest.importorskip("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    kept: Any = memory.InMemorySpanExporter()
    monkeypatch.setattr(exporters, "OTLPSpanExporter", lambda: kept)
    judge = Judge(Served(policies(TEAM, CEL)))
    found = judge.find("/validate")
    assert found is not None
    read = parse_review(review())
    verdict = judge.judge(read, *found)
    spans = module.OpenTelemetrySpans()
    spans.add(read, Webhook.VALIDATING, verdict, {b"traceparent": _PARENT}, (1_000, 2_000_000))
    spans.close()
    by_name = {each.name: each for each in kept.get_finished_spans()}
    assert set(by_name) == {"ADMISSION CREATE Pod", "POLICY require-team", "POLICY no-latest"}
    whole = by_name["ADMISSION CREATE Pod"]
    assert whole.attributes["admission.response.allowed"] is False
    assert f"{whole.context.trace_id:032x}" == "0af7651916cd43dd8448eb211c80319c"
    assert f"{whole.parent.span_id:016x}" == "b7ad6b7169203331"
    policy = by_name["POLICY require-team"]
    assert policy.parent.span_id == whole.context.span_id
    assert policy.attributes["policy.failed"] is True
    assert policy.start_time == whole.start_time == 1_000


def test_packages_of_opentelemetry_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(InputError, match="OpenTelemetry is not installed"):
        module.require_spans()
