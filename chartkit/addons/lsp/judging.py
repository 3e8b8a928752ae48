"""The policies that judge the objects of a file, and their verdicts."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Event
from typing import Final

from chartkit.addons.lsp.problems import Problem, Violation, problem_of
from chartkit.engine.kubernetes.served import minor_of
from chartkit.model import Diagnostic, Resource, RuleResult, Severity, Status
from chartkit.report.finding import FAILED
from chartkit.report.model import field_text
from chartkit.scan.environment import ProjectEnvironment
from chartkit.scan.gate.gate import Acceptor
from chartkit.scan.ineffective import ObjectFaults
from chartkit.scan.policies import PolicySet
from chartkit.scan.requests import Requests
from chartkit.scan.run import ScanContext, run_scan

SECONDS: Final = 20.0
"""The time after which a check stops, and shows what it has found."""
_MOST_FIELDS: Final = 6


class CancelledError(Exception):
    """A newer version of a file makes its check useless."""


@dataclass(slots=True)
class Token:
    """The right of a check to go on. late: whether its time is over."""

    cancelled: Event = field(default_factory=Event)
    late: bool = False
    _end: float = 0.0

    def goes_on(self) -> bool:
        """Report whether there is time left; raise CancelledError where the editor has cancelled
        the request."""
        if self.cancelled.is_set():
            raise CancelledError
        self._end = self._end or time.monotonic() + SECONDS
        self.late = self.late or time.monotonic() > self._end
        return not self.late


def is_isolated(requests: Requests) -> bool:
    """Report whether the verdict on an object depends on no other object."""
    return requests.inputs.is_isolated(requests.policies.policies)


@dataclass(slots=True, eq=False)
class Policies:
    """The policies that judge objects. environment: the one that they are of, None for a profile or
    files; notes: what is to be said of them."""

    set: PolicySet
    environment: ProjectEnvironment | None = None
    notes: Sequence[Diagnostic] = ()
    _context: tuple[Requests, ScanContext] | None = None

    @property
    def allows_suppressions(self) -> bool:
        """True if annotations of objects let findings off."""
        return self.environment is None or self.environment.suppressions

    def requests(self, objects: Sequence[Resource]) -> Requests:
        """Return the requests of objects that a scan would judge together."""
        return Requests.of(self.set, objects)

    def context(self, requests: Requests) -> ScanContext:
        """Return the settings of requests; the ones of the last requests where these are alike, for
        they know verdicts."""
        if self._context is not None and is_isolated(requests):
            before, context = self._context
            same = before.policies is requests.policies and before.custom is requests.custom
            if same and before.namespace_objects == requests.namespace_objects:
                return context
        context = requests.context(requests.world())
        self._context = (requests, context)
        return context

    def judge(
        self, objects: Iterable[Resource], requests: Requests, token: Token
    ) -> Iterator[tuple[Resource, list[Problem]]]:
        """Yield objects with their problems; fewer where the time is over."""
        policies, completion = requests.policies.policies, requests.completion(self.environment)
        names = [policy.policy.key for policy in policies]
        acceptor = Acceptor(None, datetime.now(UTC).date(), names, self.allows_suppressions)
        minor = minor_of(self.environment.kube_version if self.environment else None)
        found: list[Problem] = []

        def sink(resource: Resource, results: Sequence[RuleResult]) -> None:
            results = completion(resource, results)
            accepted = acceptor.accepted(resource, results)
            for at, result in enumerate(results):
                if result.status in FAILED and at not in accepted:
                    found.append(violation_problem(Violation(given, result, self, requests)))

        context = self.context(requests)
        for given in objects:
            if not token.goes_on():
                return
            found, faults = [], ObjectFaults(minor)
            faults.add([given])
            run_scan(policies, [given], sink, context)
            notes, acceptor.notes = [*faults.diagnostics(), *acceptor.notes], []
            found += (problem_of(each, given.location.file) for each in notes)
            yield given, found


def violation_problem(violation: Violation) -> Problem:
    """Return a failure of a policy as a problem at its most telling field."""
    resource, result = violation.resource, violation.result
    places = [
        (resource.location.within(pointer), field_text(pointer, resource.body))
        for pointer in result.fields[:_MOST_FIELDS]
    ] or [(resource.location, "")]
    severity = Severity.WARNING if result.status is Status.WARN else Severity.ERROR
    code = "/".join(filter(None, (result.policy, result.rule)))
    return Problem(places[0][0], severity, code, result.message, tuple(places[1:]), violation)
