"""The policies that judge the objects of a file, their verdicts, and problems in files with their
ranges in the texts that editors have."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Final

from chartkit.documents.input_files import read_text
from chartkit.engine.kubernetes.field_faults import minor_of
from chartkit.errors import InputError
from chartkit.model import Diagnostic, Location, Resource, RuleResult, Severity, Status, gathered
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
MOST: Final = 500
"""The problems of one file that are sent to the editor."""
_CONTENT: Final = re.compile(r"\S.*?(?=\s+#|\s*$)")


class CancelledError(Exception):
    """A newer version of a file makes its check useless."""


@dataclass(slots=True)
class Token:
    """The right of a check to go on. late: whether its time is over."""

    cancelled: Event = field(default_factory=Event)
    late: bool = False
    _end: float = 0.0

    def goes_on(self) -> bool:
        """Report whether there is time left; raise CancelledError for a cancelled request."""
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
    """The policies that judge objects. environment: their environment, None for a profile or files;
    notes: remarks about them."""

    set: PolicySet
    environment: ProjectEnvironment | None = None
    notes: Sequence[Diagnostic] = ()
    _context: tuple[Requests, ScanContext] | None = None

    @property
    def allows_suppressions(self) -> bool:
        """True if annotations of objects suppress findings."""
        return self.environment is None or self.environment.suppressions

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
        problems: list[Problem] = []

        def sink(resource: Resource, results: Sequence[RuleResult]) -> None:
            results = completion(resource, results)
            accepted = acceptor.accepted(resource, results)
            for at, result in enumerate(results):
                if result.status in FAILED and at not in accepted:
                    problems.append(violation_problem(Violation(given, result, self, requests)))

        context = self.context(requests)
        for given in objects:
            if not token.goes_on():
                return
            problems, faults = [], ObjectFaults(minor)
            faults.add([given])
            run_scan(policies, [given], sink, context)
            notes, acceptor.notes = [*faults.diagnostics(), *acceptor.notes], []
            problems += (problem_of(note, given.location.file) for note in notes)
            yield given, problems


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


@dataclass(frozen=True, slots=True)
class Violation:
    """A failure of an object. policies, requests: that it was judged by and with."""

    resource: Resource
    result: RuleResult
    policies: Policies
    requests: Requests


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem at a place of a file. code: the ID of a diagnostic, or `policy/rule`; others:
    further fields of a violation with their places; violation: None for what no policy says."""

    location: Location
    severity: Severity
    code: str
    message: str
    others: Sequence[tuple[Location, str]] = ()
    violation: Violation | None = field(default=None, compare=False)


def problem_of(diagnostic: Diagnostic, file: str) -> Problem:
    """Return a diagnostic as a problem; file: where it is shown if it names no other."""
    location = diagnostic.location or Location(file)
    message = diagnostic.message + (f" ({diagnostic.hint})" if diagnostic.hint else "")
    return Problem(location, diagnostic.severity, diagnostic.rule_id, message)


def note(code: str, message: str, file: str) -> Problem:
    """Return a note about a whole file."""
    return Problem(Location(file, 1), Severity.NOTE, code, message)


def by_file(problems_found: Iterable[Problem], file: str) -> dict[str, list[Problem]]:
    """Return problems by their files, each once. file: the checked file, which also gets the
    problems without a file."""
    names = gathered((problem.location.file, problem) for problem in dict.fromkeys(problems_found))
    files: dict[str, list[Problem]] = {file: []}
    for name, problems in names.items():
        is_file = not name.startswith("<") and Path(name).is_file()
        files.setdefault(str(Path(name).resolve()) if is_file else file, []).extend(problems)
    return files


def span_of(location: Location, lines: Sequence[str]) -> tuple[int, int, int]:
    """Return the line of what stands at a location, and its columns in characters, all from 0: up
    to the end of the line's content, comments aside."""
    number = min(max(location.line - 1, 0), max(len(lines) - 1, 0))
    text = lines[number] if lines else ""
    start = max(location.column - 1, 0)
    match = _CONTENT.search(text, start) if start < len(text) else _CONTENT.search(text)
    return (number, match.start(), match.end()) if match else (number, 0, len(text))


def lines_of(path: str) -> list[str]:
    """Return the lines of a file as the editor has it; none for one that cannot be read."""
    with suppress(InputError):
        return read_text(path).split("\n")
    return []
