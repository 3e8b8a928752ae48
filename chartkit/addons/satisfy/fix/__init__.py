"""`chartkit scan --fix`: the objects of a scan are fixed before they are judged and reported.

`solving` finds the changes of each object, which the engine confirms; `files`, `charts` and
`kustomizations` write them where the object comes from: manifests, values files and templates,
kustomizations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from io import StringIO
from typing import Final, TextIO

from chartkit.addons.satisfy.fix.charts import ChartEdits
from chartkit.addons.satisfy.fix.files import SourceFiles, diff, manifest_batches, write
from chartkit.addons.satisfy.fix.kustomizations import kustomization_batches
from chartkit.addons.satisfy.fix.model import Batch, Reason, Subject, edited, most_of
from chartkit.addons.satisfy.fix.solving import FIXABLE, Judging, solve
from chartkit.addons.satisfy.wants import key_of
from chartkit.documents.reader import Document
from chartkit.documents.streams import read_stdin
from chartkit.errors import InputError
from chartkit.helm.kustomize.places import BuiltPlaces
from chartkit.helm.template_places import TemplatePlaces
from chartkit.model import Location, gathered, single_line
from chartkit.report.model import resource_id
from chartkit.report.outputs import Output
from chartkit.safe_text import shown
from chartkit.scan.cluster_source import recordings_among
from chartkit.scan.environment import ProjectEnvironment
from chartkit.scan.gate.baseline import open_baseline
from chartkit.scan.gate.gate import Gate
from chartkit.scan.gate.selection import PolicyTraits
from chartkit.scan.inputs import STDIN, is_remote, matching
from chartkit.scan.options import ScanOptions
from chartkit.scan.reporting import Console, Reporting
from chartkit.scan.requests import Requests
from chartkit.scan.run import ScanContext, namespaces_among
from chartkit.wording import counted

_MOST: Final = 1_000
"""The most lines of reasons."""
_MOST_ALONE: Final = 2
"""The violations with one reason that have lines of their own."""


def prepare(
    options: ScanOptions, console: Console, stderr: TextIO, is_diff: bool
) -> tuple[Console, Fixer]:
    """Return the streams of a scan that fixes, and what fixes its objects. Standard output is for
    the diff, or for the fixed text of standard input: reports go to stderr then. Raise InputError
    for options that do not go together with it."""
    run, inputs = options.run, options.request.inputs
    others = {
        "--cluster": options.cluster.cluster,
        "a recording of a cluster": bool(recordings_among(inputs.paths)),
        "--api-defaults": inputs.api_defaults,
        "--json": run.is_json,
        "--changed-since": run.changed_since is not None,
        "--executor": run.executor is not None,
        "--update-baseline": options.gate.update_baseline,
    }
    for name, is_given in others.items():
        if is_given:
            raise InputError(f"--fix and {name} do not go together", hint="leave one of them out")
    out, stdin = console.stdout, ""
    if STDIN in options.request.inputs.paths:
        stdin = read_stdin(console.stdin)
        console = replace(console, stdin=StringIO(stdin))
    if is_diff or STDIN in options.request.inputs.paths:
        screen = replace(console.screen, colour=False)
        console = replace(console, stdout=stderr, screen=screen)
    return console, Fixer(options, out, stdin, is_diff)


@dataclass(frozen=True, slots=True)
class Fixer:
    """The fix of the objects of a scan. out: standard output; stdin: the text that was read from
    standard input; is_diff: whether changes are printed, and nothing is written."""

    options: ScanOptions
    out: TextIO
    stdin: str
    is_diff: bool

    def __call__(
        self,
        requests: Requests,
        reporting: Reporting,
        environment: ProjectEnvironment | None,
        context_of: Callable[[Requests], ScanContext],
    ) -> Requests:
        """Fix the objects of a scan, and return them as they are then; raise InputError where a
        file cannot be written."""
        run = FixRun(self._files(), requests, environment, context_of)
        subjects = run.subjects(reporting)
        batches = run.batches(subjects)
        files = [file for batch in batches for file in batch.files if file.before != file.after]
        if self.is_diff:
            self.out.writelines(diff(files))
        else:
            write(files)
            if STDIN in self.options.request.inputs.paths:
                texts = (file.after for file in files if file.path is None)
                self.out.write(next(texts, self.stdin))
        verb = "would fix" if self.is_diff else "fixed"
        lines = [*_batch_lines(batches, verb), *_open_lines(subjects)]
        is_text = Output("text") in reporting.outputs and not reporting.console.quiet
        for line in lines:
            if is_text:
                reporting.console.stdout.write(f"{line}\n")
            else:
                reporting.console.remark(line)
        return run.after(batches)

    def _files(self) -> SourceFiles:
        request = self.options.request
        paths = [path for path in request.inputs.paths if not is_remote(path)]
        named = [path for path in matching(paths) if path != STDIN]
        values = [path for path in request.world.values if not is_remote(path)]
        return SourceFiles([*named, *values], self.stdin, not self.is_diff)


class FixRun:
    """The fix of objects that are judged together, from the objects as they are to those that come
    of the edits."""

    def __init__(
        self,
        files: SourceFiles,
        requests: Requests,
        environment: ProjectEnvironment | None,
        context_of: Callable[[Requests], ScanContext],
    ) -> None:
        self._files = files
        self._requests = requests
        self._environment = environment
        self._context_of = context_of
        self._judging = self._judging_of(requests)
        self._verdicts = self._judging.all(requests.objects)
        self._bad = [verdict.bad for verdict in self._verdicts]

    def subjects(self, reporting: Reporting) -> list[Subject]:
        """Return the objects with violations, with the edits that end them."""
        requests, today = self._requests, datetime.now(UTC).date()
        running, facts = requests.policies.policies, requests.facts()
        traits, matcher = PolicyTraits(running, facts), open_baseline(reporting.gate, today)
        gate = Gate(reporting.gate, traits, facts, reporting.selection, matcher, today)
        subjects: list[Subject] = []
        for number, verdict in enumerate(self._verdicts):
            given = requests.objects[number]
            results, accepted = gate.judge(verdict.resource, verdict.results)
            violations = frozenset(
                key_of(result)
                for position, result in enumerate(results)
                if result.status in FIXABLE and position not in accepted
            )
            if violations and gate.looks_at(given):
                subjects.append(Subject(number, given, violations))
        with reporting.console.progress(len(subjects)) as step:
            for subject in subjects:
                self.solve(subject)
                step()
        return subjects

    def solve(self, subject: Subject) -> None:
        """Find the edits of an object that end its violations."""
        running = self._requests.policies.policies
        solve(subject, self._judging, {policy.policy.id: policy for policy in running})

    def batches(self, subjects: Sequence[Subject]) -> list[Batch]:
        """Return the edits by what is written together, without those that cannot be made."""
        by_places = gathered((type(subject.given.location.places), subject) for subject in subjects)
        files, objects = self._files, self._requests.objects
        plain = by_places.pop(Document, [])
        rendered = by_places.pop(TemplatePlaces, [])
        built = by_places.pop(BuiltPlaces, [])
        batches = [*manifest_batches(plain, files, self._is_fixed)]
        if rendered:
            charts = ChartEdits(objects, self._bad, self._judging, files)
            batches.append(charts.batch(rendered))
        if built:
            batches += kustomization_batches(objects, built, files)
        for subject in (subject for others in by_places.values() for subject in others):
            subject.give_up(
                Reason("does not come from a file that can be edited", subject.given.location)
            )
        return self._compatible([batch for batch in batches if batch.files])

    def after(self, batches: Sequence[Batch]) -> Requests:
        """Return the requests of the scan with the objects as edits make them."""
        objects = list(self._requests.objects)
        for batch in batches:
            for number, resource in batch.objects.items():
                objects[number] = resource
        namespaces = namespaces_among(objects)
        return replace(self._requests, objects=objects, namespace_objects=namespaces)

    def _compatible(self, batches: Sequence[Batch]) -> list[Batch]:
        """Return the edits that make no object worse: policies may look at other objects, and at
        labels of namespaces."""
        requests = self._requests
        changed = (resource for batch in batches for resource in batch.objects.values())
        is_isolated = requests.inputs.is_isolated(requests.policies.policies)
        if is_isolated and not any(resource.kind == "Namespace" for resource in changed):
            return list(batches)

        def works(taken: Sequence[Batch]) -> bool:
            after = self.after(taken)
            verdicts = self._judging_of(after).all(after.objects)
            pairs = zip(verdicts, self._bad, strict=True)
            return not any(verdict.bad - before for verdict, before in pairs)

        kept = most_of(batches, works)
        for batch in batches:
            for subject in batch.subjects if batch not in kept else ():
                subject.give_up(Reason("its fix makes another object fail", subject.given.location))
        return kept

    def _is_fixed(self, subject: Subject) -> bool:
        """Report whether the edits of an object end the violations that they are to end, and bring
        none."""
        verdict = self._judging(edited(subject.given, subject.edits))
        ended = subject.violations - subject.open.keys()
        return not (verdict.bad - self._bad[subject.number]) and ended.isdisjoint(verdict.failing)

    def _judging_of(self, requests: Requests) -> Judging:
        completion = requests.completion(self._environment)
        return Judging(requests.policies.policies, self._context_of(requests), completion)


def _batch_lines(batches: Sequence[Batch], verb: str) -> Iterator[str]:
    """Yield the fixed objects and the files, by batch; verb: `fixed` or `would fix`."""
    for batch in batches:
        fixed = [subject for subject in batch.subjects if subject.edits]
        violations = counted(sum(subject.fixed for subject in fixed), "violation")
        fields = counted(sum(len(subject.edits) for subject in fixed), "field")
        counts = f"{violations} of {counted(len(fixed), 'object')}, {fields}"
        names = [shown(file.name) for file in batch.files]
        if len(names) == 1:
            yield f"{verb} {names[0]}: {counts}"
        elif names:
            yield f"{verb} {len(names)} files: {counts}"
            yield from (f"  {name}" for name in names)


def _open_lines(subjects: Sequence[Subject]) -> Iterator[str]:
    """Yield the decisions for a person, then the open violations; if many stay for one reason,
    their number in each file."""
    for title, is_decision in (("a person decides:", True), ("not fixed:", False)):
        lines = [*_lines(subjects, is_decision)]
        if lines:
            yield title
            yield from lines[:_MOST]
            if len(lines) > _MOST:
                yield f"  and {counted(len(lines) - _MOST, 'more line')}"


def _lines(subjects: Sequence[Subject], is_decision: bool) -> Iterator[str]:
    kinds: dict[str, list[tuple[str, str, Location]]] = {}
    for subject in subjects:
        name = shown(resource_id(subject.given))
        for (policy, rule), reason in subject.open.items():
            if reason.is_decision is is_decision:
                of_rule = f"{policy.rpartition('/')[2]}/{rule}".rstrip("/")
                row = (name, of_rule, reason.location)
                kinds.setdefault(single_line(reason.text), []).append(row)
    for text, rows in kinds.items():
        if len(rows) > _MOST_ALONE:
            yield f"  {text}:"
            yield from _by_file(rows)
            continue
        for name, of_rule, location in rows:
            yield f"  {name} {of_rule}: {text}"
            yield f"    {location}"


def _by_file(rows: Sequence[tuple[str, str, Location]]) -> Iterator[str]:
    files = gathered((location.file, name) for name, _, location in rows)
    for file, names in files.items():
        objects = counted(len(set(names)), "object")
        yield f"    {shown(file)}: {counted(len(names), 'violation')} of {objects}"
