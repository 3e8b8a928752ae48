"""The stages of `chartkit scan`: load policies and objects, evaluate them, report; Ctrl-C and
SIGTERM end the work, and what was found is still reported."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from chartkit.documents.input_files import is_folder
from chartkit.errors import TerminatedError
from chartkit.model import Resource
from chartkit.scan.gate import require_baseline
from chartkit.scan.gate.selection import Selection
from chartkit.scan.inputs import STDIN
from chartkit.scan.options import ScanOptions
from chartkit.scan.reporting import (
    CLEANUP,
    Console,
    Reporting,
    ScanReport,
    parse_outputs,
    require_policies,
)
from chartkit.scan.requests import Requests, load_judges, read_requests, require_paths
from chartkit.scan.run import ObjectScan, RunOptions, ScanContext
from chartkit.wording import counted

if TYPE_CHECKING:
    from chartkit.engine.cleanup import Deletion
    from chartkit.scan.changes import Changes, Past
    from chartkit.scan.environment import ProjectEnvironment
    from chartkit.scan.gate.selectors import Standards
    from chartkit.scan.installed import InstalledPolicies

    Fixer = Callable[
        [Requests, Reporting, ProjectEnvironment | None, Callable[[Requests], ScanContext]],
        Requests,
    ]
    """A port: fixes the objects of a scan, and returns those to judge. The last argument gives the
    settings of requests."""

_SMALL: Final = 1 << 16
"""The bytes of inputs below which they are not scanned in parts, even where they are compressed."""
_CODES: Final = {signal.SIGINT: KeyboardInterrupt, signal.SIGTERM: TerminatedError}


def scan(
    options: ScanOptions,
    console: Console,
    standards: Callable[[], Standards],
    environment: ProjectEnvironment | None = None,
    past: Past | None = None,
    fixer: Fixer | None = None,
) -> int:
    """Scan files, or a cluster where the options name one, and write the reports.

    standards: gives those whose controls selectors may name; environment: the one whose policies
    judge files, in place of policies that the options name; past: files as they were, where only
    what has changed since is judged; fixer: None where the objects are judged as they are.

    Return the exit code: 2 where a file, folder or chart could not be read, 1 where anything fails,
    is in error, or could not be read of a cluster. Raise InputError and SourceError.
    """
    require_baseline(options.gate)
    console = replace(console, unread=[])
    if environment is not None:
        honoured = options.gate.suppressions and environment.suppressions
        options = replace(options, gate=replace(options.gate, suppressions=honoured))
    inputs, run, cluster = options.request.inputs, options.run, options.cluster
    recordings: list[Path] = []
    if any(map(is_folder, inputs.paths)):
        from chartkit.scan.cluster_source import recordings_among

        recordings = recordings_among(inputs.paths)
    options.require_combinable(environment is not None, recordings)
    policies = (options.request.policies.named_policies, cluster.policies_from)
    is_default = environment is None and not any((*policies, cluster.cluster_policies, run.is_json))
    gate, outputs, selection = options.gate, options.outputs, Selection((), ())
    if gate.select or gate.skip:
        from chartkit.scan.gate.selectors import SelectorReader

        selection = SelectorReader(standards()).selection(gate.select, gate.skip)
    reporting = Reporting(gate, outputs, parse_outputs(outputs), console, selection, is_default)
    if run.executor is not None:
        from chartkit.scan.parallel.dask_executor import scheduler_address

        scheduler_address(run.executor)
    time = None if run.at is None else _time(run.at)
    if cluster.policies_from is not None:
        return _scan_by_cluster(options, reporting, time, fixer)
    if not cluster.cluster and not recordings:
        changes = _changes(options, environment, past)
        return _scan_files(options, reporting, time, environment, changes, fixer=fixer)
    from chartkit.scan.cluster import open_cluster, scan_cluster

    recording = recordings[0] if recordings else None
    with open_cluster(cluster.source(recording, inputs.only_namespace)) as reader:
        if cluster.record is not None and cluster.cluster_policies:
            # For scans of files by the policies of the recording.
            from chartkit.scan.installed import keep_engine

            keep_engine(reader)
        return scan_cluster(options.request, cluster, reader, reporting, run.audit_warn)


def _scan_by_cluster(
    options: ScanOptions, reporting: Reporting, time: datetime | None, fixer: Fixer | None
) -> int:
    """Scan files by the policies of a cluster, or of a recording of one."""
    from chartkit.scan.installed import open_installed

    console = reporting.console
    source = options.cluster.policies_source()
    with open_installed(source, options.request, console.note) as policies:
        for diagnostic in policies.diagnostics:
            console.note(diagnostic)
        around = policies.environment
        code = _scan_files(options, reporting, time, around, None, policies, fixer)
        unread = policies.unread()
        for line in unread:
            console.stderr(line)
    return code or (1 if unread or policies.diagnostics else 0)


def _scan_files(
    options: ScanOptions,
    reporting: Reporting,
    time: datetime | None,
    environment: ProjectEnvironment | None,
    changes: Changes | None,
    installed: InstalledPolicies | None = None,
    fixer: Fixer | None = None,
) -> int:
    request, run, console = options.request, options.run, reporting.console
    is_timed = options.outputs.timings or options.outputs.why
    require_paths(request.inputs)
    with console.grouping() as note:
        judges = load_judges(request, note, environment)
    is_whole = is_timed or any(part is not None for part in (installed, changes, time, fixer))
    if not is_whole and (run.executor is not None or not _are_small(request.inputs.paths)):
        from chartkit.scan.parallel.scanning import scan_stream
        from chartkit.scan.parallel.streaming import Copies

        copies = Copies()
        if STDIN in request.inputs.paths and not run.is_json:
            # Standard input can be read only once.
            console = replace(console, stdin=copies.read_stdin(console.stdin))
            reporting = reporting._replace(console=console)
        code = scan_stream(request, run, reporting, environment, judges, copies)
        if code is not None:
            return code
    if run.executor is not None:
        console.remark("--executor: the input is read as a whole, and judged here")
    with console.grouping() as note:
        requests = read_requests(
            judges, request, console.stdin, note, run.is_json, environment, changes
        )
    if installed is not None:
        requests = installed.completed(requests)
    require_policies(requests.policies, console, run.is_json)
    context_of = partial(_context, run, installed)
    if fixer is not None:
        requests = fixer(requests, reporting, environment, context_of)
    deletions = None if time is None else _plan_deletions(requests, time, console)
    if time is None and requests.policies.cleanup:
        console.remark(CLEANUP)
    report = ScanReport(reporting, requests, deletions)
    objects = _judged(filter(report.looks_at, requests.objects), changes, console)
    completion = requests.completion(environment)
    asks = installed is not None or requests.inputs.asks_others
    jobs = 1 if asks or is_timed else run.jobs
    context = report.timed(context_of(requests))
    scan = ObjectScan(report.running, context, completion, jobs, report.shown)
    with Interrupts() as interrupts, console.progress(len(objects)) as step:
        scan.run(objects, report.add, step, interrupts.whole)
    for line in completion.lines():
        console.remark(line)
    planned = () if deletions is None or time is None else _lines(deletions, time)
    # Whether it is no news that policies matched nothing: cleanup policies judge nothing, and
    # what has not changed is not judged.
    judging = any(policy.judges_json is run.is_json for policy in requests.policies.policies)
    is_partial = not judging or (changes is not None and not changes.reason)
    is_broken = bool(requests.policies.diagnostics)
    return report.finish(is_broken, planned, is_partial, interrupts.exit_code)


def _are_small(paths: Sequence[str]) -> bool:
    """Report whether paths are files too small to scan in parts, even where they are compressed."""
    try:
        sizes = [Path(path).stat().st_size if Path(path).is_file() else _SMALL for path in paths]
    except (OSError, ValueError):
        return False
    return sum(sizes) < _SMALL


def _context(
    run: RunOptions, installed: InstalledPolicies | None, requests: Requests
) -> ScanContext:
    """Return the settings of requests, in the world of the inputs or of a cluster."""
    if installed is not None:
        world = installed.world(requests)
    else:
        judged = () if run.is_json else requests.objects
        world = requests.inputs.world(requests.policies.policies, judged, requests.names)
    return replace(requests.context(world), audit_warn=run.audit_warn, is_json=run.is_json)


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
    """The changes of `--changed-since`, or those since a time; raise InputError."""
    revision = options.run.changed_since
    if revision is None and past is None:
        return None
    options.require_changes()
    from chartkit.scan.changes import Changes

    deciding = (*options.deciding(), *(environment.sources if environment is not None else ()))
    return Changes(options.request.inputs.paths, deciding, revision, past)


def _time(text: str) -> datetime:
    from chartkit.scan.deletions import parse_time

    return parse_time(text, datetime.now(UTC))


def _lines(deletions: Sequence[Deletion], time: datetime) -> Iterable[str]:
    from chartkit.scan.deletions import as_lines

    return as_lines(deletions, time)


def _plan_deletions(requests: Requests, time: datetime, console: Console) -> Sequence[Deletion]:
    from chartkit.scan.deletions import planned_deletions

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


class Interrupts:
    """A block that Ctrl-C and SIGTERM end at once, but for the steps that are written whole. cause:
    what ended it, None as long as nothing did. A second one ends the process as ever."""

    def __init__(self) -> None:
        self.cause: KeyboardInterrupt | None = None
        self.exit_code = 0
        """128 and the number of the signal, as shells count."""
        self._is_shielded = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in _CODES:
                before = signal.getsignal(number)
                if before is not signal.SIG_IGN:
                    self._before[number] = before
                    signal.signal(number, self._interrupt)
        return self

    def __exit__(self, _type: object, error: BaseException | None, _trace: object) -> bool:
        for number, before in self._before.items():
            signal.signal(number, before)
        return error is not None and error is self.cause

    def _interrupt(self, number: int, _frame: FrameType | None) -> None:
        for number_, before in self._before.items():
            signal.signal(number_, before)
        self.cause = _CODES[signal.Signals(number)]()
        self.exit_code = 128 + number
        if not self._is_shielded:
            raise self.cause

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Give a block that is carried out whole; what came meanwhile ends the block around it."""
        self._is_shielded = True
        try:
            yield
        finally:
            self._is_shielded = False
        if self.cause is not None:
            raise self.cause
