"""The reports of a scan, the messages next to them, and the deletions that `--at TIME` plans."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, date, datetime
from functools import cache, partial
from io import StringIO
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TextIO

from chartkit.documents.unread import EXIT_CODE, is_unread
from chartkit.engine import OFFLINE
from chartkit.errors import InputError
from chartkit.model import Body, Diagnostic, Resource, RuleResult, Severity, Status
from chartkit.report import PolicyFacts, ReportOptions, ReportPer
from chartkit.report.formats import FORMATS
from chartkit.report.model import COMMENT_LIMIT, Guidance
from chartkit.report.outputs import Output, Outputs, parse_all, with_query
from chartkit.report.text import PLACES
from chartkit.report.text.layout import Screen, grouping
from chartkit.scan import DEFAULT_PROFILE
from chartkit.scan.gate import GateOptions
from chartkit.scan.gate.gate import Gate, conclude
from chartkit.scan.gate.selection import PolicyTraits, Selection
from chartkit.scan.inputs import is_stored
from chartkit.scan.parallel.reported import ReportedPart, Reports, Shown
from chartkit.scan.policies import PolicySet
from chartkit.scan.requests import Requests
from chartkit.scan.run import ScanContext
from chartkit.wording import abridged

if TYPE_CHECKING:
    from chartkit.engine.cleanup import Deletion
    from chartkit.engine.ports.timings import Timings
    from chartkit.scan.gate.baseline import BaselineMatcher
    from chartkit.scan.why.report import ScanReasons

CLEANUP: Final = "cleanup policies: --at TIME says what they delete"
_GUIDING: Final = frozenset({"html", "sarif"})
_WITHOUT_EXCERPTS: Final = FORMATS.keys() - {"html"}
"""The formats that show no lines around findings."""
_PLACES: Final = {"text": PLACES} | dict.fromkeys(
    ("policyreport", "openreports", "github", "azure", "gitlab", "csv"), 1
)
"""The most fields of a failure whose places formats show; those that are not here show all."""
_SPLIT: Final = frozenset({"policyreport", "openreports"})


@dataclass(frozen=True, slots=True)
class Console:
    """The standard streams of a scan. screen: what shows standard output; progress: called with
    the number of objects, gives a function to call after each; quiet: whether only failures are
    shown; guide: gives guidance for policies by their names, for formats that show it; detailed:
    whether all notes have a line; unread: rows
    about inputs that could not be read, because of which the scan exits with 2."""

    stdin: TextIO
    stdout: TextIO
    stderr: Callable[[str], None]
    screen: Screen
    progress: Callable[[int], AbstractContextManager[Callable[[], None]]]
    quiet: bool = False
    guide: Callable[[Collection[str]], Mapping[str, Guidance]] | None = None
    detailed: bool = False
    unread: list[Diagnostic] = field(default_factory=list)

    def grouping(self) -> AbstractContextManager[Callable[[Diagnostic], None]]:
        """Give a function that takes notes; those of one kind become one line at the end."""
        return grouping(self.note, self.detailed)

    def note(self, diagnostic: Diagnostic) -> None:
        """Write a finding to standard error, and keep one about an input that cannot be read."""
        self.unread.extend(filter(is_unread, (diagnostic,)))
        if not self.quiet or diagnostic.severity is Severity.ERROR:
            self.stderr(str(diagnostic))

    def remark(self, line: str) -> None:
        """Write a line to standard error, unless only failures are wanted there."""
        if not self.quiet:
            self.stderr(line)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """Options of reports.

    outputs: `FORMAT` or `FORMAT=FILE`; query: a JMESPath expression over the JSON report;
    owner_label: the label of objects by which HTML counts; timings: whether to measure what
    policies take; why: whether results have their reasons; playground: the address of a page that
    the findings of HTML open.
    """

    outputs: tuple[str, ...]
    query: str | None
    owner_label: str
    report_per: str
    detailed: bool
    timings: bool = False
    why: bool = False
    playground: str = ""


class Reporting(NamedTuple):
    """All that the reports of a scan need besides its results; outputs: the reports;
    uses_default: whether the default profile judges."""

    gate: GateOptions
    options: OutputOptions
    outputs: Sequence[Output]
    console: Console
    selection: Selection
    uses_default: bool


def parse_outputs(options: OutputOptions) -> list[Output]:
    """Return the reports that the options name; raise InputError."""
    outputs = parse_all(with_query(options.outputs, options.query), is_stored)
    if options.report_per == "object" and not {output.format for output in outputs} & _SPLIT:
        raise InputError("--report-per takes -o policyreport or -o openreports")
    if options.playground and not options.playground.startswith(("https://", "http://")):
        raise InputError("--playground takes an address that begins with https:// or http://")
    return outputs


class ReportRecipe(NamedTuple):
    """The reports of a scan as data, for all processes that write parts of them. options: without
    the facts of policies; guidance: by the names of policies."""

    gate: GateOptions
    selection: Selection
    outputs: Sequence[Output]
    options: ReportOptions
    query: str | None
    guidance: Mapping[str, Guidance]
    today: date

    def guided(self, facts: Mapping[str, PolicyFacts]) -> Mapping[str, PolicyFacts]:
        """Return facts with what to change, pages and controls."""
        about = self.guidance
        return {
            policy: replace(own, **_members(about[own.name])) if own.name in about else own
            for policy, own in facts.items()
        }

    def begin(
        self,
        traits: PolicyTraits,
        facts: Mapping[str, PolicyFacts],
        matcher: BaselineMatcher | None = None,
        stdout: TextIO | None = None,
        is_live: bool = False,
    ) -> Reports:
        """Return the reports with nothing in them; stdout: None in a process that writes parts."""
        gate = Gate(self.gate, traits, facts, self.selection, matcher, self.today)
        options = replace(self.options, policies=facts)
        stdout = stdout or StringIO()
        return Reports(gate, Outputs(self.outputs, options, stdout, self.query, is_live, _upload))


class ScanReport:
    """All reports of one scan."""

    def __init__(
        self,
        reporting: Reporting,
        requests: Requests,
        deletions: Sequence[Deletion] | None = None,
        is_live: bool = True,
    ) -> None:
        """is_live: whether reports on standard output may begin before all objects are judged.
        Raise InputError for a baseline that cannot be read, and for selectors of policies that
        match none."""
        options, outputs, console = reporting.options, reporting.outputs, reporting.console
        selection, policies = reporting.selection, requests.policies.policies
        now = datetime.now(UTC)
        report_options = ReportOptions(
            detailed=options.detailed,
            colour=console.screen.colour,
            now=now,
            width=console.screen.width,
            per=ReportPer(options.report_per),
            quiet=reporting.gate.quiet,
            fail_on=reporting.gate.fail_on,
            owner_label=options.owner_label,
            playground=options.playground,
            advice=_advice,
            comment_limit=COMMENT_LIMIT,
            deletions=_rows(deletions),
        )
        facts = requests.facts()
        guidance: Mapping[str, Guidance] = {}
        if console.guide is not None and any(output.format in _GUIDING for output in outputs):
            guidance = console.guide({policy_facts.name for policy_facts in facts.values()})
        self.recipe = ReportRecipe(
            reporting.gate, selection, outputs, report_options, options.query, guidance, now.date()
        )
        facts = self.recipe.guided(facts)
        self.options = replace(report_options, policies=facts)
        traits = PolicyTraits(policies, facts)
        today = now.date()
        if reporting.gate.baseline is None:
            matcher: BaselineMatcher | None = None
        else:
            from chartkit.scan.gate.baseline import open_baseline

            matcher = open_baseline(reporting.gate, today)
        self._gate_options = reporting.gate
        self.running = [item for item in policies if not selection or selection.runs(traits, item)]
        self._context = requests.context(OFFLINE)
        self._begin = partial(self.recipe.begin, traits, facts)
        self._reports = self._begin(matcher, console.stdout, is_live)
        self._gate = self._reports.gate
        self._console = console
        self.shown = _shown_places({output.format for output in outputs})
        self._uses_default = reporting.uses_default
        self._has_text = Output("text") in outputs
        self._files = [str(output.file or output.url) for output in outputs]
        self._asks_registries = requests.inputs.registry is not None
        self._timings = _timings() if options.timings else None
        self._reasons = _reasons() if options.why else None
        self._deprecations = requests.policies.deprecations if options.detailed else ()

    def looks_at(self, resource: Resource) -> bool:
        """Report whether the results of an object count."""
        return self._gate.looks_at(resource)

    def add(self, resource: Resource, results: Sequence[RuleResult]) -> None:
        """Add the results of one object to every report, as far as they are selected."""
        self._note(self._reports.add(resource, results))

    def divided(self) -> Callable[[], Reports] | None:
        """Return what begins the reports of a process that writes parts of these, once in each
        process; None where one process has to write all."""
        return cache(self._begin) if self.are_divisible else None

    @property
    def are_divisible(self) -> bool:
        """Report whether several processes can write the reports."""
        return self._reports.are_divisible

    def append(self, part: ReportedPart) -> None:
        """Add what another process found and wrote, after what was added before."""
        self._reports.append(part)
        self._note(part.notes)

    def _note(self, notes: Iterable[Diagnostic]) -> None:
        for note in notes:
            self._console.note(note)

    def finish(
        self,
        is_broken: bool,
        planned: Iterable[str] = (),
        is_partial: bool = False,
        interrupted: int = 0,
    ) -> int:
        """Write the reports, and after them the deletions that are planned, the kinds of policies
        that Kyverno will remove (with `--detailed`), the option that asks registries, if a policy
        would have needed them, and what the gate finds.

        is_broken: whether a policy does not compile, or something could not be read; is_partial:
        whether only some of the objects were judged; interrupted: the exit code where the scan was
        ended before all were. Return the exit code; raise InputError for a selector of objects that
        matches none.
        """
        if interrupted:
            # Write what was found up to an interrupt; nothing is said of what was not judged.
            rows = self._timing_rows()
            tally, count = self._gate.tally, self._reports.judged
            self._reports.outputs.finish(tally.statuses, True, rows, self._console.unread)
            noun = "object was" if count == 1 else "objects were"
            self._console.stderr(f"interrupted: {count} {noun} judged; the report is incomplete")
            return interrupted
        unread = bool(self._console.unread)
        is_broken, is_partial = is_broken or unread, is_partial or unread
        if not is_partial:
            self._gate.require_objects()
        outcome = conclude(
            self._gate, self._gate_options, is_broken, is_partial, self._nearest_miss
        )
        timings = self._timing_rows()
        self._reports.outputs.finish(
            self._gate.tally.statuses, timings=timings, unread=self._console.unread
        )
        if all(self._files):
            totals = self._gate.tally.statuses
            counts = ", ".join(f"{status}: {totals[status]}" for status in Status)
            self._console.remark(f"{counts} ({abridged(self._files)})")
        if self._uses_default and self._has_text and not self._console.quiet:
            line = f"policies: {DEFAULT_PROFILE} (default); -p names others"
            self._console.stdout.write(f"{line}\n")
        if timings:
            from chartkit.report.text.timings import timing_lines

            self._write_below(timing_lines(timings, self.options.width))
        if self._reasons is not None:
            self._write_below(self._reasons.lines())
        self._write_below(map(str, self._deprecations))
        if (unasked := self._reports.unasked) and not self._asks_registries:
            noun = "error" if unasked == 1 else "errors"
            text = f"{unasked} {noun} of image verification: --registry asks the registries"
            self._console.remark(text)
        self._write_below(planned)
        for diagnostic in outcome.diagnostics:
            self._console.note(diagnostic)
        return EXIT_CODE if unread else outcome.exit_code

    def _nearest_miss(self, objects: Sequence[Resource]) -> str:
        from chartkit.scan.why.asking import nearest_miss

        return nearest_miss(self.running, self._context, objects)

    def timed(self, context: ScanContext) -> ScanContext:
        """Return a context that measures what policies take, and asks why, if that is wanted."""
        context = replace(context, reasons=self._reasons)
        if self._timings is None:
            return context
        return replace(context, world=replace(context.world, timings=self._timings))

    def _timing_rows(self) -> list[Body] | None:
        if self._timings is None:
            return None
        from chartkit.report.text.timings import timing_rows

        return timing_rows(
            ((part.policy, part.rule, part.entry), (timing.count, timing.nanoseconds))
            for part, timing in self._timings
        )

    def _write_below(self, lines: Iterable[str]) -> None:
        """Write lines below a text report, or to standard error beside another report."""
        for line in lines:
            if self._has_text and not self._console.quiet:
                self._console.stdout.write(f"{line}\n")
            else:
                self._console.remark(line)


def _timings() -> Timings:
    from chartkit.engine.ports.timings import Timings

    return Timings()


def _rows(deletions: Sequence[Deletion] | None) -> Sequence[Body] | None:
    if deletions is None:
        return None
    from chartkit.scan.deletions import as_rows

    return as_rows(deletions)


def _advice(message: str) -> str | None:
    from chartkit.engine.jmespath.advice import advice

    return advice(message)


def _reasons() -> ScanReasons:
    from chartkit.scan.why.report import ScanReasons

    return ScanReasons()


def _shown_places(formats: Collection[str]) -> Shown:
    """Return the places that reports in some formats show."""
    all_of = [_PLACES.get(format_, 0) for format_ in formats]
    return Shown(not _WITHOUT_EXCERPTS.issuperset(formats), max(all_of) if all(all_of) else None)


def _upload(url: str, pieces: Iterable[str]) -> None:
    from chartkit.network.downloads.remote import upload

    upload(url, pieces)


def _members(guidance: Guidance) -> dict[str, Any]:
    return {item.name: getattr(guidance, item.name) for item in fields(guidance)}


def require_policies(policies: PolicySet, console: Console, is_json: bool = False) -> None:
    """Note the policies for plain JSON that a scan of objects leaves out. Raise InputError where
    plain JSON is scanned and no policy is for it."""
    for_json = [policy.policy.key for policy in policies.policies if policy.judges_json]
    if is_json and not for_json:
        raise InputError("no policy is of evaluation mode JSON", hint="name one with --policies")
    if for_json and not is_json:
        console.remark(f"policies of evaluation mode JSON need --json: {', '.join(for_json)}")
