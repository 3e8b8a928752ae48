"""Objects judged again and again, as a scan judges them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.addons.satisfy.wants.rules import RuleKey, key_of
from chartkit.engine import RunnablePolicy
from chartkit.engine.kubernetes.field_faults import type_faults
from chartkit.model import Resource, RuleResult, Status
from chartkit.scan.environment import Completed
from chartkit.scan.gate.violation import VIOLATIONS
from chartkit.scan.run import ScanContext, as_changed, run_scan

FIXABLE: Final = frozenset({Status.FAIL, Status.WARN})


@dataclass(frozen=True, slots=True)
class Verdict:
    """The results of an object. resource: as mutations leave it; bad: the rules that it violates or
    that are in error, and the fields that an API server refuses."""

    resource: Resource
    results: Sequence[RuleResult]
    bad: frozenset[RuleKey]

    @property
    def failing(self) -> dict[RuleKey, RuleResult]:
        """The results that a change of the object may end."""
        return {key_of(each): each for each in self.results if each.status in FIXABLE}


@dataclass(frozen=True, slots=True)
class Judging:
    """The policies and the world of a scan. completed: gives the results that count."""

    policies: Sequence[RunnablePolicy]
    context: ScanContext
    completed: Completed

    def __call__(self, resource: Resource) -> Verdict:
        """Return the verdict on an object."""
        return self.all([resource])[0]

    def all(self, resources: Sequence[Resource]) -> list[Verdict]:
        """Return the verdicts on objects, in their order."""
        verdicts: list[Verdict] = []

        def sink(resource: Resource, results: Sequence[RuleResult]) -> None:
            results = self.completed(resource, results)
            bad = {key_of(result) for result in results if result.status in VIOLATIONS}
            bad |= {("", fault) for fault in type_faults(resource.body)}
            verdicts.append(Verdict(as_changed(resource, results), results, frozenset(bad)))

        run_scan(self.policies, resources, sink, self.context)
        return verdicts
