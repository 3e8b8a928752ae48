"""The stages of `chartkit scan`: load policies and objects, evaluate them, report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from chartkit.engine import RunnablePolicy, World
from chartkit.errors import InputError
from chartkit.model import Resource, RuleResult
from chartkit.report.outputs import Output
from chartkit.scan.cluster_source import cluster_source, policies_source
from chartkit.scan.environment import (
    Completed,
    Completion,
    ProjectEnvironment,
    require_no_named_policies,
    require_no_policies,
)
from chartkit.scan.gate.baseline import require_baseline
from chartkit.scan.gate.selection import Selection, SelectorReader, Standards
from chartkit.scan.inputs import STDIN, is_remote
from chartkit.scan.options import ScanOptions
from chartkit.scan.parallel.interrupt import Interrupts
from chartkit.scan.parallel.reported import Shown
from chartkit.scan.reporting import (
    CLEANUP,
    Console,
    ScanReport,
    as_lines,
    parse_outputs,
    parse_time,
    planned_deletions,
    require_policies,
)
from chartkit.scan.requests import Judges, Requests, load_judges, read_requests, require_paths
from chartkit.scan.run import ScanContext, Sink, run_scan
from chartkit.wording import counted

if TYPE_CHECKING:
    from chartkit.engine.cleanup import Deletion
    from chartkit.scan.changes import Changes, Past
    from chartkit.scan.installed.cluster import InstalledPolicies
    from chartkit.scan.parallel.judged import Judged

_SMALL: Final = 1 << 16
"""The bytes of inputs below which they are not scanned in parts, even where they are compressed."""
_LEAST: Final = 8_000
"""The policies times objects from which a second process is worth its start."""
_SPAN: Final = 200
"""The objects that a process judges at a time, at most."""
_TURNS: Final = 8
"""The times that each process gets objects, at least."""


def scan(
    options: ScanOptions,
    console: Console,
    standards: Standards,
    environment: ProjectEnvironment | None = None,
    past: Past | None = None,
) -> int:
    """Scan files, or a cluster where the options name one, and write the reports.

    standards: those whose controls selectors may name; environment: the one whose policies judge
    files, in place of policies that the options name; past: files as they were, where only what has
    changed since is judged.

    Return the exit code: 2 where a file, folder or chart could not be read, 1 where anything fails,
    is in error, or could not be read of a cluster. Raise InputError and SourceError.
    """
    require_baseline(options.gate)
    console = replace(console, unread=[])
    if environment is not None:
        require_no_policies(options)
        honoured = options.gate.suppressions and environment.suppressions
        options = replace(options, gate=replace(options.gate, suppressions=honoured))
    if options.is_json and options.at is not None:
        raise InputError("--at is about Kubernetes objects, and --json says that there are none")
    outputs = parse_outputs(options)
    time = None if options.at is None else parse_time(options.at, datetime.now(UTC))
    if options.changed_since is not None and options.cluster.cluster:
        raise InputError("--changed-since is about files, and --cluster about none")
    if options.executor is not None:
        from chartkit.scan.parallel.scanning import require_spreadable

        require_spreadable(options, environment)
    selection = SelectorReader(standards).selection(options.gate.select, options.gate.skip)
    source = cluster_source(options)
    if source is None and options.cluster.policies_from is not None:
        return _scan_by_cluster(options, outputs, time, console, selection, environment)
    if source is None:
        changes = _changes(options, environment, past)
        return _scan_files(options, outputs, time, console, selection, environment, changes)
    from chartkit.scan.cluster import open_cluster, scan_cluster

    with open_cluster(source) as reader:
        if source.record is not None and options.cluster.cluster_policies:
            # For scans of files by the policies of the recording.
            from chartkit.scan.installed.engine import keep_engine

            keep_engine(reader)
        return scan_cluster(options, outputs, reader, console, selection)


def _scan_by_cluster(
    options: ScanOptions,
    outputs: Sequence[Output],
    time: datetime | None,
    console: Console,
    selection: Selection,
    environment: ProjectEnvironment | None,
) -> int:
    """Scan files by the policies of a cluster, or of a recording of one."""
    if environment is not None:
        raise InputError("--policies-from and --env do not go together", hint="leave one out")
    require_no_named_policies(options.request, "--policies-from")
    if options.changed_since is not None or options.is_json:
        raise InputError("--policies-from does not go together with --changed-since and --json")
    from chartkit.scan.installed.cluster import open_installed

    with open_installed(policies_source(options), options, console.note) as found:
        for diagnostic in found.diagnostics:
            console.note(diagnostic)
        code = _scan_files(
            options, outputs, time, console, selection, found.environment, None, found
        )
        unread = found.unread()
        for line in unread:
            console.stderr(line)
    return code or (1 if unread or found.diagnostics else 0)


def _scan_files(
    options: ScanOptions,
    outputs: Sequence[Output],
    time: datetime | None,
    console: Console,
    selection: Selection,
    environment: ProjectEnvironment | None,
    changes: Changes | None,
    installed: InstalledPolicies | None = None,
) -> int:
    require_paths(options.request)
    with console.grouping() as note:
        judges = load_judges(options.request, note, environment)
    if installed is None and changes is None and time is None and not options.timings:
        code, console = _in_parts(options, outputs, console, selection, environment, judges)
        if code is not None:
            return code
    if options.executor is not None:
        console.remark("--executor: the input is read as a whole, and judged here")
    with console.grouping() as note:
        requests = read_requests(
            judges, options.request, console.stdin, note, options.is_json, environment, changes
        )
    if installed is not None:
        requests = installed.completed(requests)
    require_policies(requests.policies, console, options.is_json)
    deletions = None if time is None else _plan_deletions(requests, time, console)
    if time is None and requests.policies.cleanup:
        console.remark(CLEANUP)
    report = ScanReport(options, outputs, requests, console, selection, deletions)
    world = _world(requests, options.is_json) if installed is None else installed.world(requests)
    context = replace(
        requests.context(world), audit_warn=options.audit_warn, is_json=options.is_json
    )
    objects = _judged(filter(report.looks_at, requests.objects), changes, console)
    completion = requests.completion(environment)
    asks = installed is not None or requests.inputs.asks_others
    jobs = 1 if asks or options.timings else options.jobs
    run = ObjectScan(report.running, report.timed(context), completion, jobs, report.shown)
    with Interrupts() as interrupts, console.progress(len(objects)) as step:
        run.run(objects, report.add, step, interrupts)
    for line in completion.lines():
        console.remark(line)
    planned = () if deletions is None or time is None else as_lines(deletions, time)
    # Whether it is no news that policies matched nothing: cleanup policies judge nothing, and
    # what has not changed is not judged.
    judging = any(each.judges_json is options.is_json for each in requests.policies.policies)
    is_partial = not judging or (changes is not None and not changes.reason)
    is_broken = bool(requests.policies.diagnostics)
    return report.finish(is_broken, planned, is_partial, interrupts.exit_code)


def _in_parts(
    options: ScanOptions,
    outputs: Sequence[Output],
    console: Console,
    selection: Selection,
    environment: ProjectEnvironment | None,
    judges: Judges,
) -> tuple[int | None, Console]:
    """Scan large inputs part by part; return the exit code, None where they have to be read as a
    whole, from the console that is returned: standard input can be read only once."""
    if options.executor is None and _are_small(options.request.paths):
        return None, console
    from chartkit.scan.parallel.copies import Copies
    from chartkit.scan.parallel.scanning import scan_stream

    copies = Copies()
    if STDIN in options.request.paths and not options.is_json:
        console = replace(console, stdin=copies.read_stdin(console.stdin))
    code = scan_stream(options, outputs, console, selection, environment, judges, copies)
    return code, console


def _are_small(paths: Sequence[str]) -> bool:
    """Return whether paths are files too small to scan in parts, even where they are compressed."""
    try:
        sizes = [Path(path).stat().st_size if Path(path).is_file() else _SMALL for path in paths]
    except (OSError, ValueError):
        return False
    return sum(sizes) < _SMALL


def _world(requests: Requests, is_json: bool) -> World:
    """Return the world that policies see: the objects, and what the user gives."""
    judged = () if is_json else requests.objects
    return requests.inputs.world(requests.policies.policies, judged, requests.names)


def _judged(
    objects: Iterable[Resource], changes: Changes | None, console: Console
) -> list[Resource]:
    """Return the objects that are judged: with `--changed-since`, those that changed."""
    if changes is None:
        return list(objects)
    judged = list(filter(changes.judges, objects))
    count, reason = counted(len(judged), "object"), changes.reason
    scope = f"all {count}: {reason}" if reason else f"{count} of files that changed"
    console.remark(f"judged {scope}")
    return judged


def _changes(
    options: ScanOptions, environment: ProjectEnvironment | None, past: Past | None
) -> Changes | None:
    """Return the changes that `--changed-since` asks for, or those since a time; raise
    InputError."""
    if options.changed_since is None and past is None:
        return None
    if options.is_json or options.at is not None:
        raise InputError("--changed-since does not go together with --json and --at")
    request = options.request
    named = (*request.paths, *request.named_policies, *request.crds)
    if any(map(is_remote, (*named, *request.exceptions, *request.values))):
        raise InputError("--changed-since is about files, and a URL names none")
    from chartkit.scan.changes import Changes

    return Changes(options, environment.sources if environment is not None else (), past)


def _plan_deletions(requests: Requests, time: datetime, console: Console) -> Sequence[Deletion]:
    planned, diagnostics = planned_deletions(
        requests.policies.cleanup,
        requests.objects,
        time,
        requests.namespaces,
        requests.world(),
        requests.names,
    )
    for diagnostic in diagnostics:
        console.note(diagnostic)
    return planned


@dataclass(frozen=True, slots=True)
class _SpanJudge:
    """The judgement of spans of objects that this process and its forks have."""

    objects: Sequence[Resource]
    policies: Sequence[RunnablePolicy]
    context: ScanContext
    completed: Completed
    shown: Shown

    def __call__(self, span: range) -> list[Judged]:
        from chartkit.scan.parallel.judged import judged

        found: list[Judged] = []

        def sink(resource: Resource, results: Sequence[RuleResult]) -> None:
            results = self.completed(resource, results)
            given = self.objects[span.start + len(found)]
            found.append(judged(resource, results, self.shown, given))

        run_scan(self.policies, self.objects[span.start : span.stop], sink, self.context)
        return found


@dataclass(frozen=True, slots=True)
class ObjectScan:
    """The scan of objects that are in memory. jobs: processes; shown: what reports show of
    places."""

    policies: Sequence[RunnablePolicy]
    context: ScanContext
    completion: Completion
    jobs: int
    shown: Shown

    def run(
        self,
        objects: Sequence[Resource],
        sink: Sink,
        step: Callable[[], None],
        interrupts: Interrupts,
    ) -> None:
        """Call sink with the objects and their results in order, and step after each."""
        complete = self.completion
        if self.jobs < 2 or len(objects) * len(self.policies) < _LEAST:

            def completing(resource: Resource, results: Sequence[RuleResult]) -> None:
                with interrupts.whole():
                    sink(resource, complete(resource, results))
                step()

            run_scan(self.policies, objects, completing, self.context)
            return
        from chartkit.scan.parallel.pool import in_order

        there, here = complete.split()
        judge = _SpanJudge(objects, self.policies, self.context, there, self.shown)
        size = max(1, min(_SPAN, len(objects) // (self.jobs * _TURNS)))
        spans = [
            range(start, min(start + size, len(objects))) for start in range(0, len(objects), size)
        ]
        with closing(in_order(self.jobs, judge, spans)) as answers:
            for span, answer in zip(spans, answers, strict=True):
                for at, each in zip(span, answer, strict=True):
                    resource = each.restored(objects[at])
                    with interrupts.whole():
                        sink(resource, here(resource, each.results))
                    step()
