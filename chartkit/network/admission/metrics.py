"""Metrics with Kyverno's names and labels (`pkg/metrics`), kept by prometheus-client.

Several workers keep their counts in one folder, and each of them answers with the sum.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from chartkit.engine.cel_policies.policy import CelKind, CelPolicy
from chartkit.engine.policies import RunnablePolicy
from chartkit.model import RuleType
from chartkit.network.admission.judge import Verdict
from chartkit.network.admission.review import Review
from chartkit.network.admission.selection import Webhook
from chartkit.network.admission.served import enforces

FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable that prometheus-client takes the folder from."""
_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 20, 25, 30)
_MOST_POLICIES: Final = 5_000
_MOST_CHILDREN: Final = 20_000
"""The sets of labels that are counted; namespaces and kinds come from users."""
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
_FAMILIES: Final = {
    CelKind.VALIDATING: "validating_policy",
    CelKind.MUTATING: "mutating_policy",
    CelKind.IMAGE_VALIDATING: "image_validating_policy",
}
"""Kinds of CEL policies as their metrics name them."""


@dataclass(frozen=True, slots=True)
class _Family:
    """A counter, and a histogram with the same labels."""

    counter: Any
    histogram: Any


@dataclass(frozen=True, slots=True)
class _Facts:
    """The labels that a policy alone decides. policy: kept, so that its identity stays its own."""

    policy: RunnablePolicy
    family: _Family | None
    values: tuple[str, ...]
    is_cel: bool


class Metrics:
    """The metrics of one worker."""

    def __init__(self, folder: Path) -> None:
        """folder: where all workers of a server keep their counts."""
        os.environ[FOLDER] = str(folder)
        import prometheus_client
        from prometheus_client import CollectorRegistry, Counter, Histogram, multiprocess

        self._generate: Callable[[Any], bytes] = prometheus_client.generate_latest
        self.content_type: str = prometheus_client.CONTENT_TYPE_LATEST
        self._registry = CollectorRegistry()
        multiprocess.MultiProcessCollector(self._registry)
        own: dict[str, Any] = {"registry": None}

        def family(name: str, durations: str, text: str, labels: tuple[str, ...]) -> _Family:
            counter = Counter(f"kyverno_{name}", f"{text}.", labels, **own)
            seconds = Histogram(
                f"kyverno_{durations}_seconds",
                f"Seconds of {text.lower()}.",
                labels,
                buckets=_BUCKETS,
                **own,
            )
            return _Family(counter, seconds)

        self._reviews = family(
            "admission_requests", "admission_review_duration", "Admission requests", _REVIEW
        )
        self._http = family(
            "http_requests", "http_requests_duration", "HTTP requests", ("http_method", "http_url")
        )
        self._rules = family(
            "policy_results", "policy_execution_duration", "Results of rules", _RULE
        )
        self._cel = {
            kind: family(
                f"{name}_results", f"{name}_execution_duration", "Results of policies", _CEL
            )
            for kind, name in _FAMILIES.items()
        }
        self._refused = Counter(
            "chartkit_serve_requests_refused",
            "HTTP requests that were not judged, by status.",
            ("status",),
            **own,
        )
        self._reloads = Counter(
            "chartkit_serve_reloads", "Sets of policies that were loaded.", ("result",), **own
        )
        self._children: dict[tuple[Any, ...], tuple[Any, Any]] = {}
        self._facts: dict[int, _Facts] = {}

    def text(self) -> bytes:
        """Return the metrics of all workers in the format of Prometheus."""
        return self._generate(self._registry)

    def http(self, method: str, path: str, seconds: float) -> None:
        """Count an HTTP request."""
        self._count(self._http, (method, path), seconds)

    def refused(self, status: int) -> None:
        """Count a request that was not judged."""
        self._refused.labels(str(status)).inc()

    def reloaded(self, is_used: bool) -> None:
        """Count a new set of policies."""
        self._reloads.labels("success" if is_used else "failure").inc()

    def review(self, review: Review, webhook: Webhook, verdict: Verdict, seconds: float) -> None:
        """Count a review and the results of its rules."""
        operation = review.operation.lower()
        allowed = "true" if verdict.answer.allowed else "false"
        of_object = review.kind.kind, review.namespace, operation
        self._count(self._reviews, (*of_object, allowed, webhook.value), seconds)
        dry_run = "true" if review.is_dry_run else "false"
        for each in verdict.evaluated:
            facts = self._of(each.policy)
            if facts.family is None:
                continue
            for result in each.results:
                said: tuple[str, ...] = (_CAUSE, result.status.value)
                if not facts.is_cel:
                    kind = _TYPES.get(result.type, "")
                    said = (result.rule, result.status.value, kind, _CAUSE, dry_run)
                self._count(facts.family, (*facts.values, *of_object, *said), each.seconds)

    def _of(self, policy: RunnablePolicy) -> _Facts:
        facts = self._facts.get(id(policy))
        if facts is None:
            if len(self._facts) >= _MOST_POLICIES:
                self._facts.clear()
            facts = self._facts[id(policy)] = self._facts_of(policy)
        return facts

    def _facts_of(self, policy: RunnablePolicy) -> _Facts:
        own = policy.policy
        background = "true" if own.background else "false"
        place = background, own.namespace or "-", own.name
        if isinstance(own, CelPolicy):
            mode = "Deny" if not own.actions or "Deny" in own.actions else "Audit"
            return _Facts(policy, self._cel.get(own.kind), (mode, *place), is_cel=True)
        mode = "enforce" if enforces(policy) else "audit"
        kind = "namespaced" if own.namespace else "cluster"
        return _Facts(policy, self._rules, (kind, mode, *place), is_cel=False)

    def _count(self, family: _Family, values: tuple[str, ...], seconds: float) -> None:
        key = (id(family), *values)
        children = self._children.get(key)
        if children is None:
            if len(self._children) >= _MOST_CHILDREN:
                return
            children = family.counter.labels(*values), family.histogram.labels(*values)
            self._children[key] = children
        children[0].inc()
        children[1].observe(seconds)
