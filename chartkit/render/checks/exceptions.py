"""Checks of PolicyExceptions: what they come to, and whether Kyverno reads them."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.model import mapping_at
from chartkit.render.chart import CheckTarget
from chartkit.render.exceptions import CHECK, heeded
from chartkit.render.model import Outcome, Row, listed


def exceptions(subject: CheckTarget) -> Iterator[Row]:
    """Yield a row for each exception of chartkit.yaml, and for those that Kyverno does not read."""
    env, shipped = subject.environment, subject.exceptions
    if env.exceptions and subject.resolved is None:
        message = "upstream's chart has no exceptions: those of chartkit.yaml are not installed"
        place = env.exceptions[0].location
        hint = "apply the files, or render chartkit's own chart"
        yield Row(env.name, CHECK, Outcome.WARNING, message, place, hint)
    yield from shipped.rows
    if not shipped.bodies:
        return
    if subject.engine is None:
        namespaces = listed(sorted(shipped.namespaces))
        message = f"another chart installs Kyverno: it has to read exceptions in {namespaces}"
        hint = "features.policyExceptions: {enabled: true, namespace: …} in Kyverno's chart"
        yield Row(env.name, CHECK, Outcome.NOTE, message, env.exceptions[0].location, hint)
        return
    values = subject.engine.lint_subject()
    features = mapping_at(values.values, "features")
    for namespace in sorted(shipped.namespaces):
        if not heeded(features, namespace):
            message = f"Kyverno does not read exceptions in namespace {namespace}"
            place = values.locate(("features", "policyExceptions"))
            hint = "features.policyExceptions: enabled: true, and its namespace or '*'"
            yield Row(env.name, CHECK, Outcome.FAIL, message, place, hint)
