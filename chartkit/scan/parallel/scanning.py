"""Large inputs judged in several processes, part by part."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from chartkit.engine.kubernetes.field_faults import minor_of
from chartkit.errors import InputError
from chartkit.model import Diagnostic, Resource, RuleResult
from chartkit.report.text.layout import grouped
from chartkit.scan.environment import ProjectEnvironment
from chartkit.scan.parallel.pool import can_fork, in_order
from chartkit.scan.parallel.streaming import (
    LEAST,
    READ_AGAIN,
    Answer,
    Copies,
    NotStreamable,
    PartJudge,
    Reading,
    Stream,
    open_stream,
)
from chartkit.scan.pipeline import Interrupts
from chartkit.scan.policies import PolicySet
from chartkit.scan.reporting import CLEANUP, Console, Reporting, ScanReport, require_policies
from chartkit.scan.requests import Judges, RequestOptions, Requests, kube_version
from chartkit.scan.run import Completion, RunOptions, Sink, uncompleted
from chartkit.scan.user_inputs import exception_objects


class _Held:
    """Standard error, held back until what comes before is known."""

    def __init__(self, stderr: Callable[[str], None]) -> None:
        self._stderr = stderr
        self._lines: list[str] | None = []

    def __call__(self, line: str) -> None:
        if self._lines is None:
            self._stderr(line)
        else:
            self._lines.append(line)

    def release(self) -> None:
        """Write what is held, and all lines from now on at once."""
        for line in self._lines or ():
            self._stderr(line)
        self._lines = None


def scan_stream(
    options: RequestOptions,
    run: RunOptions,
    reporting: Reporting,
    environment: ProjectEnvironment | None,
    judges: Judges,
    copies: Copies,
) -> int | None:
    """Scan large files part by part, and write the reports; None where they are small, or have to
    be read as a whole. copies: of inputs. Raise InputError."""
    policies, inputs, console = judges.policies, judges.inputs, reporting.console
    needs_all = run.is_json or inputs.chart_values or not inputs.is_isolated(policies.policies)
    least = 0 if run.executor else LEAST
    if needs_all or (stream := open_stream(options.inputs, copies, least)) is None:
        return None
    held = _Held(console.stderr)
    holding = replace(console, stderr=held)
    requests = Requests.of(policies, stream.shared, inputs, note=holding.note)
    requests, policies = requests._replace(objects=()), requests.policies
    judges = judges._replace(policies=policies)
    reading = Reading(stream)
    try:
        report = ScanReport(reporting._replace(console=holding), requests, is_live=False)
        completion = requests.completion(environment)
        there, here = completion.split()
        if run.executor and not report.are_divisible:
            there, here = here, there
        is_sent = run.executor is not None or (run.jobs > 1 and can_fork())
        judge = PartJudge(
            report.running,
            replace(requests.context(requests.world()), audit_warn=run.audit_warn),
            report.looks_at,
            environment is not None or bool(options.policies.exceptions),
            judges.identities,
            there,
            report.shown if is_sent else None,
            minor=minor_of(kube_version(options, environment)),
        )
        if judge.shown is not None and here is uncompleted and run.executor is None:
            judge = replace(judge, reports=report.divided())

        def sink(resource: Resource, results: Sequence[RuleResult]) -> None:
            report.add(resource, here(resource, results))

        with Interrupts() as interrupts, console.progress(len(stream.parts)) as step:
            answers = _answers(options, run, stream, judge, judges, report)
            _take(answers, report, sink, step, interrupts, reading)
        if not interrupts.exit_code:
            reading.require_objects()
    except NotStreamable:
        return None
    except InputError:
        # Inputs that are read as a whole report all their errors, in the order of the files.
        if stream.size > READ_AGAIN:
            raise
        return None
    _release(console, held, reading.notes, policies, completion)
    is_partial = all(policy.judges_json for policy in policies.policies)
    return report.finish(bool(policies.diagnostics), (), is_partial, interrupts.exit_code)


def _release(
    console: Console,
    held: _Held,
    notes: Iterable[Diagnostic],
    policies: PolicySet,
    completion: Completion,
) -> None:
    """Write the notes, what was held, and what completed the results."""
    for note in grouped(notes, console.detailed):
        console.note(note)
    require_policies(policies, console)
    if policies.cleanup:
        console.remark(CLEANUP)
    held.release()
    for line in completion.lines():
        console.remark(line)


def _answers(
    options: RequestOptions,
    run: RunOptions,
    stream: Stream,
    judge: PartJudge,
    judges: Judges,
    report: ScanReport,
) -> Generator[Answer]:
    """Return the answers to the parts of a stream in order, of processes here or elsewhere."""
    if run.executor is None:
        return in_order(run.jobs, judge, stream.parts)
    from chartkit.scan.parallel.dask_executor import Recipe, judged_by_dask, scheduler_address

    recipe = Recipe(
        judges.policies.found,
        exception_objects([Path(path) for path in options.policies.exceptions], lambda _: None),
        frozenset(policy.policy.id for policy in judge.policies),
        stream.shared,
        report.recipe.selection,
        frozenset(judges.identities),
        judges.inputs.user,
        run.audit_warn,
        options.world.network.allows_http,
        report.recipe if report.are_divisible else None,
        judge.minor,
    )
    return judged_by_dask(scheduler_address(run.executor), recipe, stream.parts)


def _take(
    answers: Generator[Answer],
    report: ScanReport,
    sink: Sink,
    step: Callable[[], None],
    interrupts: Interrupts,
    reading: Reading,
) -> None:
    """Call sink with the objects of a stream and their results in order, and step after each part;
    reading: gets what they say beside results. Raise NotStreamable and InputError."""
    with closing(answers):
        for answer in answers:
            reading.add(answer)
            if answer.reported is not None:
                with interrupts.whole():
                    report.append(answer.reported)
            for judged in answer.judged:
                with interrupts.whole():
                    sink(judged.restored(), judged.results)
            for version, kind, namespace in answer.left:
                metadata = {"namespace": namespace}
                report.looks_at(
                    Resource({"apiVersion": version, "kind": kind, "metadata": metadata})
                )
            step()
