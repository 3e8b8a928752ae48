"""Metrics with Kyverno's names and labels (`pkg/metrics`), in the format of Prometheus.

A worker counts in its own memory and writes its counts to a folder every second; each worker
answers with the sum of all. A review costs a microsecond for each result that way, a tenth of what
counters in shared memory do.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from chartkit.addons.serve.admission.judge import Verdict
from chartkit.addons.serve.admission.review import Review
from chartkit.addons.serve.admission.selection import Evaluated, Findings, Webhook, enforces
from chartkit.addons.serve.admission.telemetry import Log
from chartkit.atomic import replacing
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.kubernetes.kinds import CelKind
from chartkit.engine.policies import RunnablePolicy
from chartkit.model import RuleType

_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 20, 25, 30)
_EVERY: Final = 1.0
"""Seconds between writes of a worker's counts."""
_MOST_POLICIES: Final = 5_000
_MOST_REPEATED: Final = 1_000
_MOST_SERIES: Final = 20_000
_MOST_PATHS: Final = 1_000
"""The sets of labels that are counted, and those of paths; namespaces and kinds come from users."""
_SHARE: Final = 10
"""The time for other things, as a multiple of that to write or show the counts."""
_TYPES: Final = {
    RuleType.VALIDATION: "validate",
    RuleType.MUTATION: "mutate",
    RuleType.GENERATION: "generate",
    RuleType.IMAGE_VERIFY: "imageVerify",
}
_REVIEW: Final = (
    "resource_kind",
    "resource_namespace",
    "resource_request_operation",
    "request_allowed",
    "request_webhook",
)
_POLICY: Final = (
    "policy_validation_mode",
    "policy_background_mode",
    "policy_namespace",
    "policy_name",
)
_OBJECT: Final = ("resource_kind", "resource_namespace", "resource_request_operation")
_RULE: Final = (
    "policy_type",
    *_POLICY,
    *_OBJECT,
    "rule_name",
    "rule_result",
    "rule_type",
    "rule_execution_cause",
    "dry_run",
)
_CEL: Final = (*_POLICY, *_OBJECT, "execution_cause", "result")
_CAUSE: Final = "admission_request"
_CEL_NAMES: Final = {
    CelKind.VALIDATING: "validating_policy",
    CelKind.MUTATING: "mutating_policy",
    CelKind.IMAGE_VALIDATING: "image_validating_policy",
}
"""Kinds of CEL policies as their metrics name them."""
_REVIEWS, _HTTP, _RULES, _REFUSED, _RELOADS, _FAILURES, _UNCOUNTED = range(7)
_OF_CEL: Final = {kind: _UNCOUNTED + 1 + number for number, kind in enumerate(_CEL_NAMES)}
_FROM_USERS: Final = frozenset((_REVIEWS, _HTTP, _RULES, *_OF_CEL.values()))
Key = tuple[int, tuple[str, ...]]
"""The number of a family, and the values of its labels."""
Series = dict[Key, list[float]]
"""Of each series the count, the sum of seconds, and the count of each bucket."""
_FASTEST: Final = 2
"""The place of the first bucket."""
_Repeated = tuple[Findings, str, str, str, str]
"""The labels that equal reviews share, and those of their own: the kind and namespace of
the object, the operation, whether it is a dry run."""


@dataclass(frozen=True, slots=True)
class _Family:
    """A counter and a histogram with the same labels; durations: its name, or empty."""

    name: str
    durations: str
    text: str
    labels: tuple[str, ...]


def _families() -> Iterator[_Family]:
    yield _Family(
        "kyverno_admission_requests",
        "kyverno_admission_review_duration_seconds",
        "Admission requests.",
        _REVIEW,
    )
    yield _Family(
        "kyverno_http_requests",
        "kyverno_http_requests_duration_seconds",
        "HTTP requests.",
        ("http_method", "http_url"),
    )
    yield _Family(
        "kyverno_policy_results",
        "kyverno_policy_execution_duration_seconds",
        "Results of rules.",
        _RULE,
    )
    yield _Family(
        "chartkit_serve_requests_refused", "", "HTTP requests that were not judged.", ("status",)
    )
    yield _Family("chartkit_serve_reloads", "", "Sets of policies that were read.", ("result",))
    yield _Family("chartkit_serve_failures", "", "Errors that fail no review.", ("part",))
    yield _Family("chartkit_serve_uncounted", "", "Results beyond the most sets of labels.", ())
    for name in _CEL_NAMES.values():
        yield _Family(
            f"kyverno_{name}_results",
            f"kyverno_{name}_execution_duration_seconds",
            "Results of policies.",
            _CEL,
        )


_ALL: Final = tuple(_families())


@dataclass(frozen=True, slots=True)
class _Facts:
    """The labels that a policy alone decides. policy: kept, so that its identity stays its own;
    family: None where there is no metric for its kind."""

    policy: RunnablePolicy
    family: int | None
    values: tuple[str, ...]


class Metrics:
    """The metrics of one worker."""

    def __init__(self, folder: Path) -> None:
        """folder: where the workers of a server keep their counts."""
        import prometheus_client

        self._generate = prometheus_client.generate_latest
        self.content_type: str = prometheus_client.CONTENT_TYPE_LATEST
        self._folder = folder
        # Identities of processes come again, and counts of one that ended stay.
        self._own = folder / f"{os.getpid()}-{time.time_ns()}.json"
        self._series: Series = {}
        self._facts: dict[int, _Facts] = {}
        self._repeated: dict[_Repeated, list[list[float]]] = {}
        self._is_written = True
        self._stop = threading.Event()
        self._shown = b""
        self._is_shown_until = 0.0
        self._showing = asyncio.Lock()
        self._paths = 0

    def start(self, log: Log) -> None:
        """Write the counts from now on."""
        threading.Thread(target=self._write_all, args=(log,), name="metrics", daemon=True).start()

    def stop(self) -> None:
        """Write no more."""
        self._stop.set()

    async def scraped(self) -> bytes:
        """Return the metrics of all workers, made in a thread, and again only after a while, so
        that frequent scrapes take no time from reviews."""
        async with self._showing:
            begun = time.monotonic()
            if begun >= self._is_shown_until:
                self._shown = await asyncio.to_thread(self.text)
                ended = time.monotonic()
                self._is_shown_until = ended + _SHARE * (ended - begun)
            return self._shown

    def text(self) -> bytes:
        """Return the metrics of all workers in the format of Prometheus."""
        text: bytes = self._generate(self)
        return text

    def collect(self) -> Iterator[Any]:
        """Yield the families of all workers, as prometheus-client asks for them."""
        from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

        series: Series = {key: [*entry] for key, entry in self._series.copy().items()}
        for file in self._folder.glob("*.json"):
            if file != self._own:
                for number, values, entry in json.loads(file.read_text("utf-8")):
                    key = (number, tuple(values))
                    entry_before = series.get(key)
                    series[key] = (
                        entry
                        if entry_before is None
                        else [left + other for left, other in zip(entry_before, entry, strict=True)]
                    )
        for number, family in enumerate(_ALL):
            own = [(values, entry) for (of, values), entry in series.items() if of == number]
            counter = CounterMetricFamily(family.name, family.text, labels=family.labels)
            for values, entry in own:
                counter.add_metric(values, entry[0])
            yield counter
            if family.durations:
                text = f"Seconds of {family.text.lower()}"
                seconds = HistogramMetricFamily(family.durations, text, labels=family.labels)
                for values, entry in own:
                    bounds = [*(str(float(bucket)) for bucket in _BUCKETS), "+Inf"]
                    cumulative = list(zip(bounds, accumulate(entry[2:]), strict=True))
                    seconds.add_metric(values, cumulative, entry[1])
                yield seconds

    def _write_all(self, log: Log) -> None:
        pause = _EVERY
        while not self._stop.wait(pause):
            begun = time.monotonic()
            with log.guarded("metrics", "metrics are not written"):
                if not self._is_written:
                    self._is_written = True
                    entries = [[*key, entry] for key, entry in self._series.copy().items()]
                    with replacing(self._own) as file:
                        file.write(json.dumps(entries).encode("utf-8"))
            pause = max(_EVERY, _SHARE * (time.monotonic() - begun))

    def http(self, method: str, path: str, seconds: float) -> None:
        """Count an HTTP request."""
        self._count(_HTTP, (method, path), seconds)

    def refused(self, status: int) -> None:
        """Count a request that was not judged."""
        self._count(_REFUSED, (str(status),), 0)

    def reloaded(self, is_used: bool) -> None:
        """Count a new set of policies."""
        self._count(_RELOADS, ("success" if is_used else "failure",), 0)
        # They would keep the policies of before.
        self._facts.clear()
        self._repeated.clear()

    def failed(self, part: str) -> None:
        """Count an error of a part of the server that fails no review."""
        self._count(_FAILURES, (part,), 0)

    def review(self, review: Review, webhook: Webhook, verdict: Verdict, seconds: float) -> None:
        """Count a review and the results of its rules."""
        operation = review.operation.lower()
        allowed = "true" if verdict.answer.allowed else "false"
        of_object = review.kind.kind, review.namespace, operation
        self._count(_REVIEWS, (*of_object, allowed, webhook.value), seconds)
        dry_run = "true" if review.is_dry_run else "false"
        for findings in verdict.findings:
            if findings.is_shared:
                self._repeat((findings, *of_object, dry_run))
            else:
                for evaluated, family, values in self._results(findings, of_object, dry_run):
                    self._count(family, values, evaluated.seconds)

    def _repeat(self, key: _Repeated) -> None:
        """Count results of an equal review, which took no time."""
        entries = self._repeated.get(key)
        if entries is None:
            if len(self._repeated) >= _MOST_REPEATED:
                self._repeated.clear()
            findings, kind, namespace, operation, dry_run = key
            results = self._results(findings, (kind, namespace, operation), dry_run)
            entries = [self._entry(family, values) for _, family, values in results]
            self._repeated[key] = entries
        for entry in entries:
            entry[0] += 1
            entry[_FASTEST] += 1
        self._is_written = False

    def _results(
        self, findings: Findings, of_object: tuple[str, str, str], dry_run: str
    ) -> Iterator[tuple[Evaluated, int, tuple[str, ...]]]:
        """Yield the family and the labels of each result that has a metric."""
        for evaluated in findings.evaluated:
            policy = evaluated.policy
            facts = self._facts.get(id(policy))
            if facts is None:
                if len(self._facts) >= _MOST_POLICIES:
                    self._facts.clear()
                facts = self._facts[id(policy)] = _facts_of(policy)
            if facts.family is None:
                continue
            for result in evaluated.results:
                said: tuple[str, ...] = (_CAUSE, result.status.value)
                if facts.family == _RULES:
                    kind = _TYPES.get(result.type, "")
                    said = (result.rule, result.status.value, kind, _CAUSE, dry_run)
                yield evaluated, facts.family, (*facts.values, *of_object, *said)

    def _count(self, family: int, values: tuple[str, ...], seconds: float) -> None:
        entry = self._entry(family, values)
        entry[0] += 1
        entry[1] += seconds
        entry[_FASTEST + bisect_left(_BUCKETS, seconds)] += 1
        self._is_written = False

    def _entry(self, family: int, values: tuple[str, ...]) -> list[float]:
        """Return a series; where there are too many, the series for whatever is not counted."""
        entry = self._series.get((family, values))
        if entry is None:
            if family in _FROM_USERS and not self._has_room(family):
                return self._entry(_UNCOUNTED, ())
            entry = self._series[family, values] = [0.0] * (len(_BUCKETS) + 3)
        return entry

    def _has_room(self, family: int) -> bool:
        if family == _HTTP:
            self._paths += 1
            return self._paths <= _MOST_PATHS
        return len(self._series) < _MOST_SERIES


def _facts_of(policy: RunnablePolicy) -> _Facts:
    own = policy.policy
    background = "true" if own.background else "false"
    labels = background, own.namespace or "-", own.name
    if isinstance(own, CelPolicy):
        mode = "Deny" if not own.actions or "Deny" in own.actions else "Audit"
        return _Facts(policy, _OF_CEL.get(own.kind), (mode, *labels))
    mode = "enforce" if enforces(policy) else "audit"
    kind = "namespaced" if own.namespace else "cluster"
    return _Facts(policy, _RULES, (kind, mode, *labels))
