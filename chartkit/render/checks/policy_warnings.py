"""Kyverno's warnings about policies that it accepts, one row for all environments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from chartkit.engine.cleanup import CleanupPolicy
from chartkit.engine.cluster_policy.policy_check.warnings import deprecation
from chartkit.engine.kubernetes.definitions import WARNING_RULE
from chartkit.render.chart import CheckTarget
from chartkit.render.model import HELM_WARNINGS, POLICY_WARNINGS, Outcome, Row, findings
from chartkit.scan.policies import PolicySet

_NEWER: Final = "policyType: ValidatingPolicy gives the library's policies in the newer form"


def policy_warnings(subject: CheckTarget, compiled: PolicySet) -> Iterable[Row]:
    """Yield Kyverno's warnings about the policies."""
    place, name = subject.policies.values.location, subject.environment.name
    warned = [each for each in compiled.warnings if each.rule_id == WARNING_RULE]
    yield from findings(name, POLICY_WARNINGS, warned, place)
    cleaning = (one.resource for one in compiled.cleanup if isinstance(one, CleanupPolicy))
    known = (*(one.policy.resource for one in compiled.policies), *cleaning)
    for text in dict.fromkeys(map(deprecation, known)):
        if text:
            env = subject.environment
            yield Row(name, POLICY_WARNINGS, Outcome.NOTE, text, env.locate_policy_type(), _NEWER)


def merge_environments(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the rows, with one in place of several environments' equal warnings of policies or
    charts."""
    said: dict[Row, list[str]] = {}
    for row in rows:
        if row.check in (POLICY_WARNINGS, HELM_WARNINGS):
            said.setdefault(replace(row, environment=""), []).append(row.environment)
    for row in rows:
        environments = said.get(replace(row, environment=""))
        if environments is None:
            yield row
        elif row.environment == environments[0]:
            yield replace(row, environment=", ".join(environments))
