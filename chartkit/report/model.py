"""What every report format is given: facts of the policies, then each resource with its results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, Generic, Protocol, TypeVar

from chartkit.model import Body, Resource, RuleResult, Status

T = TypeVar("T")

KYVERNO: Final = "kyverno"
"""The source of results of policies with rules."""


@dataclass(frozen=True, slots=True)
class PolicyFacts:
    """What a report says of a policy beside its results.

    action: `Enforce` or `Audit` for a rule's name and an object's namespace; severity and
    category: the policy's annotations, empty if missing; scored: false where its failures are
    warnings; source: as Kyverno's reports name where results of its kind come from.
    """

    name: str
    action: Callable[[str, str], str]
    severity: str = ""
    category: str = ""
    scored: bool = True
    source: str = KYVERNO


class ReportPer(StrEnum):
    """What one PolicyReport is about."""

    NAMESPACE = "namespace"
    OBJECT = "object"


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """policies: facts by what tells policies apart (`RuleResult.policy_id`); detailed: passes and
    skips too; colour: ANSI colours; now: the time that reports carry; per: of formats that are
    several reports, what each is about; deletions: what cleanup policies and TTL labels delete,
    None where that was not asked."""

    policies: Mapping[str, PolicyFacts] = field(default_factory=dict)
    detailed: bool = False
    colour: bool = False
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    per: ReportPer = ReportPer.NAMESPACE
    deletions: Sequence[Body] | None = None

    def facts(self, result: RuleResult) -> PolicyFacts:
        """The facts of the policy that said something."""
        known = self.policies.get(result.policy_id)
        return known or PolicyFacts(result.policy, lambda _rule, _namespace: "Audit")

    def action(self, resource: Resource, result: RuleResult) -> str:
        """What a failure of this rule does to this object: `Enforce` or `Audit`."""
        return self.facts(result).action(result.rule, resource.namespace)


class Writer(Protocol):
    """Takes results as they come; `finish` gives the report's text, piece by piece."""

    def add(self, resource: Resource, results: Sequence[RuleResult]) -> None:
        """Takes one resource's results."""

    def finish(self, counts: Counter[Status]) -> Iterator[str]:
        """The report, ending with a newline."""
        ...


class Remembered(Generic[T]):
    """What a format makes of a result, made once for results that say the same of objects.

    make may look at the policy, the rule, the status and the message, and at nothing else.
    """

    _LIMIT: Final = 4096

    def __init__(self, make: Callable[[RuleResult], T]) -> None:
        self._make = make
        self._made: dict[tuple[str, ...], T] = {}

    def __call__(self, result: RuleResult) -> T:
        """What was made of an equal result, or is made now."""
        key = (result.kind, result.policy, result.rule, result.status, result.message)
        found = self._made.get(key)
        if found is None:
            if len(self._made) >= self._LIMIT:
                self._made.clear()
            found = self._made[key] = self._make(result)
        return found


def resource_id(resource: Resource) -> str:
    """`kind/namespace/name`, or `kind/name` for an object without a namespace; of what is no
    Kubernetes object the place."""
    if not resource.kind:
        return str(resource.location)
    return "/".join(part for part in (resource.kind, resource.namespace, resource.name) if part)


def rule_id(result: RuleResult) -> str:
    """`policy/rule`, or the policy alone where it has no rules."""
    return f"{result.policy}/{result.rule}" if result.rule else result.policy


def summary(counts: Counter[Status]) -> dict[str, int]:
    """How many results there are of each status, zeros included."""
    return {str(status): counts[status] for status in Status}
