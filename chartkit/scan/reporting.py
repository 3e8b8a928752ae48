"""The reports of a scan, and the messages next to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, TextIO

from chartkit.engine import Deletion
from chartkit.errors import InputError
from chartkit.model import Diagnostic, Resource, RuleResult, RuleType, Status
from chartkit.report import ReportOptions, ReportPer
from chartkit.report.outputs import Output, Outputs, parse_all
from chartkit.scan.cleanup import as_rows
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

    def add(self, resource: Resource, results: Sequence[RuleResult]) -> None:
        """Add the results of one object to every report."""
        self._outputs.add(resource, results)
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
