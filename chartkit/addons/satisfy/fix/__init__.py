"""`chartkit scan --fix`: the objects of a scan are fixed before they are judged and reported.

`solving` finds the changes of each object, which the engine confirms; `files`, `charts` and
patches of kustomizations write them where the object comes from: manifests, values files and
templates, kustomizations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from io import StringIO
from typing import Final, TextIO

from chartkit.addons.satisfy.changes import DELETE
from chartkit.addons.satisfy.fix.charts import ChartEdits
from chartkit.addons.satisfy.fix.files import (
    SourceFiles,
    diff,
    documents_of,
    manifest_batches,
    with_documents,
    write,
)
from chartkit.addons.satisfy.fix.model import (
    Batch,
    FileText,
    Reason,
    Steps,
    Subject,
    edited,
    most_of,
)
from chartkit.addons.satisfy.fix.solving import FIXABLE, Judging, solve
from chartkit.addons.satisfy.wants import key_of
from chartkit.documents.reader import Document
from chartkit.documents.streams import read_stdin
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.engine.kubernetes.kinds import kind_of
from chartkit.errors import InputError
from chartkit.helm.kustomize.build import build
from chartkit.helm.kustomize.kustomization import Kustomization
from chartkit.helm.kustomize.places import BuiltPlaces
from chartkit.helm.template_places import TemplatePlaces
from chartkit.model import (
    Body,
    Json,
    Location,
    Resource,
    gathered,
    item_number,
    pointed_at,
    pointer_of,
    same,
    single_line,
)
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

_UNFIT = "a patch in the kustomization does not change it as wanted, or changes other objects"


def kustomization_batches(
    objects: Sequence[Resource], subjects: Sequence[Subject], files: SourceFiles
) -> Iterator[Batch]:
    """Yield the edits of each kustomization; objects: all of the scan; subjects: those that are
    built. Edits that cannot be made are left out, and open."""
    builds: dict[tuple[int, str], _Build] = {}
    for number, resource in enumerate(objects):
        places = resource.location.places
        if isinstance(places, BuiltPlaces):
            key = id(places.tree), places.closure[0].folder
            builds.setdefault(key, _Build(places, objects, files)).numbers.append(number)
    for built in builds.values():
        yield built.batch([subject for subject in subjects if subject.number in built.numbers])


@dataclass(slots=True)
class _Build:
    """One build. places: of an object of it; numbers: of its objects in the scan; _fitting: the
    subjects whose edits were tried last, if they fit."""

    places: BuiltPlaces
    objects: Sequence[Resource]
    files: SourceFiles
    numbers: list[int] = field(default_factory=list)
    _why: str = ""
    _file: FileText | None = None
    _made: dict[int, Resource] = field(default_factory=dict)
    _fitting: Sequence[Subject] = ()

    @property
    def _kustomization(self) -> Kustomization:
        return self.places.closure[0]

    def batch(self, subjects: Sequence[Subject]) -> Batch:
        """Return the edits of the kustomization's file."""
        with_edits = [subject for subject in subjects if subject.edits]
        kept = most_of(with_edits, self._works)
        for subject in with_edits:
            if subject not in kept:
                subject.give_up(Reason(self._why, self._kustomization.document.location))
        fits = bool(kept) and (kept == self._fitting or self._works(kept))
        if not fits or self._file is None:
            return Batch(subjects, (), {})
        return Batch(subjects, [self._file], self._made)

    def _works(self, subjects: Sequence[Subject]) -> bool:
        """Report whether patches change the objects as wanted, and no other object."""
        document = self._kustomization.document
        patches = document.body.get("patches") or []
        if not isinstance(patches, list):
            return False
        body = {**document.body, "patches": [*patches, *map(_patch, subjects)]}
        name = document.source.file
        try:
            path, text = self.files.text(document.source)
            after = with_documents(text, name, {0: body})
            [new] = documents_of(after, name)
        except InputError as error:
            self._why = f"the file {error.message}"
            return False
        self._why, self._fitting = _UNFIT, ()
        objects, _ = build(self.places.tree.rewritten(self._kustomization, new))
        old = [self.objects[number] for number in self.numbers]
        if list(map(resource_id, objects)) != list(map(resource_id, old)):
            return False
        wanted = {subject.number: edited(subject.given, subject.edits).body for subject in subjects}
        self._made = {}
        for number, built in zip(self.numbers, objects, strict=True):
            if not same(built.body, wanted.get(number, self.objects[number].body)):
                return False
            if number in wanted:
                self._made[number] = built
        self._file = FileText(name, path, text, after)
        self._fitting = list(subjects)
        return True


def _patch(subject: Subject) -> Body:
    """Return the entry of a kustomization that makes the edits of an object: operations of JSON
    6902, with a test of the name of each item that one of them goes through."""
    places = subject.given.location.places
    assert isinstance(places, BuiltPlaces)
    base = places.base or subject.given
    kind = kind_of(subject.given)
    target = {
        "group": kind.group,
        "version": kind.version,
        "kind": kind.kind,
        "name": base.name,
        "namespace": base.namespace,
    }
    given = subject.given
    tests = (test for edit in subject.edits for test in _tests(given.body, edit.steps))
    operations = [*{test["path"]: test for test in tests}.values()]
    for edit in subject.edits:
        operations.append(_operation(given.body, edit.steps, edit.value))
        given = edited(given, [edit])
    text = dump_yaml(operations)
    return {"target": {key: value for key, value in target.items() if value}, "patch": text}


def _tests(body: Json, steps: Steps) -> Iterator[Body]:
    """Yield tests that the items on a path are still those with these names."""
    for depth, step in enumerate(steps):
        item = pointed_at(body, steps[: depth + 1])
        name = item.get("name") if isinstance(item, dict) else None
        if item_number(step) is not None and isinstance(name, str):
            path = pointer_of(*steps[: depth + 1], "name")
            yield {"op": "test", "path": path, "value": name}


def _operation(body: Json, steps: Steps, value: Json) -> Body:
    """Return the operation that sets or removes a field; missing parents come with the value."""
    if value is DELETE:
        return {"op": "remove", "path": pointer_of(*steps)}
    depth = 1
    while depth < len(steps) and pointed_at(body, steps[:depth]) is not None:
        depth += 1
    for step in reversed(steps[depth:]):
        value = [value] if step in ("0", "-") else {step: value}
    is_there = pointed_at(body, steps[:depth]) is not None
    return {
        "op": "replace" if is_there else "add",
        "path": pointer_of(*steps[:depth]),
        "value": value,
    }


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
        screen = console.screen._replace(colour=False)
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
        """Return the edits that can be made, by what is written together."""
        by_places = gathered((type(subject.given.location.places), subject) for subject in subjects)
        files, objects = self._files, self._requests.objects
        in_manifests = by_places.pop(Document, [])
        rendered = by_places.pop(TemplatePlaces, [])
        built = by_places.pop(BuiltPlaces, [])
        batches = [*manifest_batches(in_manifests, files, self._is_fixed)]
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
        return self._requests._replace(objects=objects, namespace_objects=namespaces)

    def _compatible(self, batches: Sequence[Batch]) -> list[Batch]:
        """The edits that make no object worse: policies may look at others."""
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
        """Report whether the edits end the violations that they are to end, and bring none."""
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
    """The decisions for a person, then open violations: of many, the number in each file."""
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
            files = gathered((location.file, name) for name, _, location in rows)
            for file, names in files.items():
                objects = counted(len(set(names)), "object")
                yield f"    {shown(file)}: {counted(len(names), 'violation')} of {objects}"
            continue
        for name, of_rule, location in rows:
            yield f"  {name} {of_rule}: {text}"
            yield f"    {location}"
