"""Checks of PolicyExceptions: what they come to, and whether Kyverno reads them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, time
from typing import Final

from chartkit.model import Severity, mapping_at
from chartkit.render.chart import CheckTarget
from chartkit.render.exceptions import CHECK, heeded
from chartkit.render.model import Outcome, Row, findings
from chartkit.scan.exceptions.lifetime import EXPIRED, lifetime
from chartkit.wording import abridged

_MILD: Final = {EXPIRED: Severity.WARNING}


def exceptions(subject: CheckTarget, today: date) -> Iterator[Row]:
    """Yield a row for each exception of chartkit.yaml, for those that Kyverno does not read, and
    for what the project wants of them. One that has ended fails nothing: time alone would."""
    env, shipped = subject.environment, subject.exceptions
    if env.exceptions and subject.resolved is None:
        message = "upstream's chart has no exceptions: those of chartkit.yaml are not installed"
        place = env.exceptions[0].location
        hint = "apply the files, or render chartkit's own chart"
        yield Row(env.name, CHECK, Outcome.WARNING, message, place, hint)
    yield from shipped.rows
    now, rules = datetime.combine(today, time.min, UTC), subject.project.exception_rules
    for each in shipped.filed:
        found = lifetime(each, rules, now, 0)
        mild = (replace(one, severity=_MILD.get(one.rule_id, one.severity)) for one in found)
        yield from findings(env.name, CHECK, mild, each.resource.location)
    if not shipped.bodies:
        return
    if subject.engine is None:
        namespaces = abridged(sorted(shipped.namespaces))
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
