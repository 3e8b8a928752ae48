"""The reports of a scan, the messages next to them, and the deletions that `--at TIME` plans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TextIO

from chartkit.engine import Cleaner, Deletion, World, as_submitted, plan_deletions
from chartkit.errors import InputError
from chartkit.model import Body, Diagnostic, Resource, RuleResult, RuleType, Status
from chartkit.report import ReportOptions, ReportPer
from chartkit.report.findings import NONE_ACCEPTED, Accepted
from chartkit.report.outputs import Output, Outputs, parse_all
from chartkit.scan.options import ScanOptions
from chartkit.scan.policies import PolicySet
from chartkit.scan.requests import Requests

_IMAGE_POLICY: Final = "ImageValidatingPolicy"
_SPLIT: Final = frozenset({"policyreport", "openreports"})


@dataclass(frozen=True, slots=True)
class Console:
    """The standard streams of a scan; progress: called with the number of objects, gives a
    function to call after each."""

    stdin: TextIO
    stdout: TextIO
    stderr: Callable[[str], None]
    colour: bool
    progress: Callable[[int], AbstractContextManager[Callable[[], None]]]

    def note(self, diagnostic: Diagnostic) -> None:
        """Write a finding to standard error."""
        self.stderr(str(diagnostic))


def parse_outputs(options: ScanOptions) -> list[Output]:
    """Return the reports that the options name; raise InputError."""
    outputs = parse_all(options.outputs)
    if options.report_per == "object" and not {each.format for each in outputs} & _SPLIT:
        raise InputError("--report-per takes -o policyreport or -o openreports")
    return outputs


class ScanReport:
    """All reports of one scan."""

    def __init__(
        self,
        options: ScanOptions,
        outputs: Sequence[Output],
        requests: Requests,
        console: Console,
        deletions: Sequence[Deletion] | None = None,
    ) -> None:
        self.options = ReportOptions(
            requests.policies.facts(requests.namespaces),
            options.detailed,
            colour=console.colour,
            per=ReportPer(options.report_per),
            deletions=None if deletions is None else as_rows(deletions),
        )
        self._outputs = Outputs(outputs, self.options, console.stdout)
        self._console = console
        self._has_text = Output("text") in outputs
        self._asks_registries = options.request.registry.asks_registries
        self._unasked = 0
        self._deprecations = requests.policies.deprecations if options.detailed else ()

    def add(
        self,
        resource: Resource,
        results: Sequence[RuleResult],
        accepted: Accepted = NONE_ACCEPTED,
    ) -> None:
        """Add the results of one object to every report; accepted: those that fail no scan."""
        self._outputs.add(resource, results, accepted)
        if not self._asks_registries:
            self._unasked += sum(map(_needs_registry, results))

    def finish(self, counts: Counter[Status]) -> None:
        """Write the reports, the kinds of policies that Kyverno will remove (with `--detailed`),
        and the option that asks registries, if a policy would have needed them."""
        self._outputs.finish(counts)
        self.append(map(str, self._deprecations))
        if self._unasked:
            noun = "error" if self._unasked == 1 else "errors"
            text = f"{self._unasked} {noun} of image verification: --registry asks the registries"
            self._console.stderr(text)

    def append(self, lines: Iterable[str]) -> None:
        """Write lines below a text report, or to standard error if standard output has another
        report."""
        for line in lines:
            if self._has_text:
                self._console.stdout.write(f"{line}\n")
            else:
                self._console.stderr(line)


def _needs_registry(result: RuleResult) -> bool:
    verifies = result.type is RuleType.IMAGE_VERIFY or result.kind.endswith(_IMAGE_POLICY)
    return verifies and result.status is Status.ERROR


def require_policies(policies: PolicySet, console: Console, is_json: bool = False) -> None:
    """Note the policies for plain JSON that a scan of objects leaves out.

    Raise InputError where plain JSON is scanned and no policy is for it.
    """
    for_json = [each.policy.key for each in policies.policies if each.judges_json]
    if is_json and not for_json:
        raise InputError("no policy is of evaluation mode JSON", hint="name one with --policies")
    if for_json and not is_json:
        console.stderr(f"policies of evaluation mode JSON need --json: {', '.join(for_json)}")


def is_good(counts: Counter[Status]) -> bool:
    """Return whether nothing failed or was in error."""
    return not counts[Status.FAIL] and not counts[Status.ERROR]


def parse_time(text: str, now: datetime) -> datetime:
    """Read `now`, a date or a time (RFC 3339; without a zone it is UTC); raise InputError."""
    if text == "now":
        return now
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        hint = "write now, 2030-01-31 or 2030-01-31T12:00:00Z"
        raise InputError(f"--at '{text}' is no time", hint=hint) from None


def planned_deletions(
    policies: Sequence[Cleaner],
    found: Sequence[Resource],
    at: datetime,
    namespaces: Mapping[str, Mapping[str, str]],
    world: World,
) -> tuple[list[Deletion], list[Diagnostic]]:
    """Return the planned deletions of objects, and diagnostics for what could not be decided."""
    resources = [as_submitted(one) for one in found]
    try:
        planned, diagnostics = plan_deletions(policies, resources, at, namespaces, world)
    except OverflowError:
        raise InputError(f"--at {at:%Y-%m-%d} is beyond the calendar") from None
    return planned, diagnostics


def as_rows(planned: Sequence[Deletion]) -> list[Body]:
    """Return the deletions for programs; `resource` as in other rows of a JSON report."""
    return [
        {
            "time": _shown(one.time),
            "resource": "/".join(
                (
                    one.resource.api_version,
                    one.resource.kind,
                    one.resource.namespace,
                    one.resource.name,
                )
            ),
            "cause": one.cause,
            "propagation": one.propagation,
        }
        for one in planned
    ]


def as_lines(planned: Sequence[Deletion], at: datetime) -> Iterator[str]:
    """Yield the deletions as text: their number, then a line for each."""
    yield f"deletions after {_shown(at)}: {len(planned)}"
    for one in planned:
        resource = one.resource
        names = (resource.namespace, resource.kind, resource.name)
        how = f" ({one.propagation})" if one.propagation else ""
        yield f"  {_shown(one.time)}  {'/'.join(filter(None, names))}  {one.cause}{how}"


def _shown(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
