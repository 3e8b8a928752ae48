"""What Kyverno and an API server export to Prometheus, and what a PromQL expression asks of it."""

import re
from collections.abc import Iterator, Mapping
from functools import cache

from tests.shared import ROOT

METRICS = ROOT / "tests" / "conformance" / "data" / "kyverno_metrics.tsv"
OTHERS: Mapping[str, frozenset[str]] = {
    "up": frozenset({"job", "instance"}),
    "apiserver_admission_webhook_rejection_count": frozenset(
        {"name", "type", "operation", "error_type", "rejection_code"}
    ),
    "apiserver_admission_webhook_fail_open_count": frozenset({"name", "type"}),
}
"""Prometheus' own, and those of Kubernetes' API server (pkg/admission/metrics)."""

_OF_TARGETS = frozenset({"job", "instance", "cluster"})
"""What Prometheus adds: the target's labels, and `cluster` where many clusters go to one place."""
_HISTOGRAM = ("_bucket", "_sum", "_count")
_METRIC = re.compile(r"\b(kyverno_\w+|apiserver_\w+|up)\b(?:\{([^}]*)\})?")
_MATCHER = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)")
_BY = re.compile(r"\bby \(([^)]*)\)")


@cache
def known() -> Mapping[str, frozenset[str]]:
    """Every series by name, with its labels."""
    found = dict(OTHERS)
    for line in METRICS.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            name, kind, labels = line.split("\t")
            for each in [name + end for end in _HISTOGRAM] if kind == "histogram" else [name]:
                more = {"le"} if each.endswith("_bucket") else set()
                found[each] = frozenset({*labels.split(), *more})
    return found


def mistakes(expression: str) -> Iterator[str]:
    """The series and labels of an expression that nothing exports."""
    there: set[str] = set(_OF_TARGETS)
    for name, matchers in _METRIC.findall(expression):
        if name not in known():
            yield name
            continue
        there |= known()[name]
        for label in _MATCHER.findall(re.sub(r'"[^"]*"', '""', matchers)):
            if label not in known()[name] | _OF_TARGETS:
                yield f"{name}{{{label}}}"
    for labels in _BY.findall(expression):
        yield from (f"by ({each})" for each in labels.split(", ") if each not in there)


def names(expression: str) -> set[str]:
    """The series that an expression asks for."""
    return {name for name, _ in _METRIC.findall(expression)}
