"""Runs compiled policies over objects and hands every object's results on as they come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from chartkit.engine.compile import CompiledPolicy
from chartkit.engine.evaluate import evaluate
from chartkit.engine.lookups import OFFLINE, Lookups
from chartkit.engine.request import Request
from chartkit.model import Resource, RuleResult, Status
from chartkit.scan.inputs import in_namespace

Sink = Callable[[Resource, Sequence[RuleResult]], None]

DEFAULT_NAMESPACE = "default"


def run_scan(
    policies: Sequence[CompiledPolicy],
    found: Iterable[Resource],
    sink: Sink,
    namespaces: Mapping[str, Mapping[str, str]],
    *,
    lookups: Lookups = OFFLINE,
    audit_warn: bool = False,
) -> Counter[Status]:
    """Evaluates every object, calls sink with it and its results, and counts the statuses.

    namespaces: the labels of each namespace, for namespace selectors. audit_warn: a failure of a
    policy that only audits is a warning.
    """
    audits = {p.policy.key for p in policies if p.policy.failure_action == "Audit"}
    counts: Counter[Status] = Counter()
    for given in found:
        resource = in_namespace(given, DEFAULT_NAMESPACE)
        request = Request(resource, namespace_labels=namespaces.get(resource.namespace, {}))
        results: Sequence[RuleResult] = evaluate(policies, request, lookups)
        if audit_warn:
            results = [
                _as_warning(result) if result.policy in audits else result for result in results
            ]
        counts.update([result.status for result in results])
        sink(resource, results)
    return counts


def namespace_labels(found: Iterable[Resource]) -> dict[str, dict[str, str]]:
    """The labels of the Namespace objects among what was found, by name."""
    labels: dict[str, dict[str, str]] = {}
    for resource in found:
        if resource.kind == "Namespace" and resource.api_version == "v1":
            own = (resource.body.get("metadata") or {}).get("labels")
            labels[resource.name] = {
                "kubernetes.io/metadata.name": resource.name,
                **(own if isinstance(own, dict) else {}),
            }
    return labels


def _as_warning(result: RuleResult) -> RuleResult:
    return replace(result, status=Status.WARN) if result.status is Status.FAIL else result
