"""Accepted violations of an environment's workloads: known, or suppressed at the object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from datetime import date
from typing import Final

from chartkit.model import Diagnostic, Resource, RuleResult, Severity
from chartkit.project.environment import Environment
from chartkit.render.model import Outcome, Row, findings
from chartkit.report.findings import Accepted, AcceptedAs
from chartkit.report.model import resource_id, rule_id
from chartkit.scan.gate.acceptance import Acceptor
from chartkit.scan.gate.baseline import open_baseline
from chartkit.scan.gate.options import GateOptions
from chartkit.scan.gate.outcome import about_baseline, update
from chartkit.wording import counted

CHECK: Final = "baseline"
SUPPRESSED: Final = "suppressed"


class AcceptedViolations:
    """The accepted violations of one environment."""

    def __init__(
        self,
        environment: Environment,
        policies: Collection[str],
        today: date,
        updates: bool = False,
    ) -> None:
        """policies: the names of the environment's; updates: whether its baseline is written.
        Raise InputError for a baseline that cannot be read."""
        self._environment = environment
        options = GateOptions(baseline=environment.baseline, update_baseline=updates)
        self._matcher = open_baseline(options, today)
        self._acceptor = Acceptor(self._matcher, today, policies, environment.suppressions)
        self._known: Counter[bool] = Counter()
        self._suppressed: list[Diagnostic] = []

    def take(
        self, resource: Resource, results: Sequence[RuleResult], refused: Collection[int]
    ) -> Accepted:
        """Return the accepted ones among the results of an object; refused: the positions of those
        for which Kyverno refuses the object."""
        accepted = self._acceptor.accepted(resource, results)
        for position, acceptance in accepted.items():
            if acceptance.state is AcceptedAs.KNOWN:
                self._known[position in refused] += 1
                continue
            rule = rule_id(results[position])
            message = f"{resource_id(resource)}: {rule}: {acceptance}"
            note = Diagnostic(rule, Severity.NOTE, message, resource.location)
            self._suppressed.append(note)
        return accepted

    def rows(self, has_unread: bool = False) -> Iterator[Row]:
        """Yield a note on the number of known violations, and the findings about suppressions and
        the baseline; write the baseline if it is to be updated.

        has_unread: whether objects were not read, whose entries stay.
        """
        looked_at = _nothing if has_unread else _everything
        env = self._environment
        said = (*self._suppressed, *self._acceptor.notes)
        yield from findings(env.name, SUPPRESSED, said, env.locate())
        if self._matcher is None:
            return
        place = env.locate("baseline")
        if self._matcher.updates and update(self._matcher, looked_at):
            yield Row(env.name, CHECK, Outcome.NOTE, f"wrote {self._matcher.baseline.path}", place)
        known = self._known.total()
        message = counted(known, "known violation", "known violations")
        if self._known[True]:
            message += f"; Kyverno refuses the objects of {self._known[True]} of them (Enforce)"
        yield Row(env.name, CHECK, Outcome.NOTE, message, place)
        yield from findings(env.name, CHECK, about_baseline(self._matcher, looked_at), place)


def _everything(_violation: object) -> bool:
    return True


def _nothing(_violation: object) -> bool:
    return False
