"""The adopted project rendered once, before it is written: what the charts would change of what is
in use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from os.path import relpath
from pathlib import Path
from typing import Final

from chartkit.addons.operate.adopt.model import Estate, Outcome, Row, plain
from chartkit.addons.operate.adopt.project_files import AdoptedProject
from chartkit.documents.unread import UNREAD
from chartkit.engine import is_exception, is_policy
from chartkit.engine.kubernetes.kinds import is_binding
from chartkit.errors import ChartkitError
from chartkit.model import Location, Resource, RuleResult, Track, mappings_at
from chartkit.network.cluster.source import SourceError
from chartkit.output.atomic_folder import write_below
from chartkit.project.project import read_project
from chartkit.project.settings import below_root
from chartkit.render.checks.engine import compiled_set
from chartkit.render.compare.fields import What
from chartkit.render.compare.report import RatedChange, comparison
from chartkit.render.compare.risk import Level
from chartkit.render.environment import Side, of_environment
from chartkit.render.model import Outcome as Check
from chartkit.render.pipeline import RenderOptions, render_project
from chartkit.scan.gate import VIOLATIONS
from chartkit.scan.gate.baseline import (
    Baseline,
    BaselineMatcher,
    KnownViolation,
    baseline_text,
    read_baseline,
)
from chartkit.scan.gate.violation import Violation, object_name, violations_of
from chartkit.scan.run import run_scan
from chartkit.temporary import temporary_folder
from chartkit.wording import abridged, counted

_METADATA: Final = (("metadata", "labels"), ("metadata", "annotations"))
_SHOWN: Final = 6
_WORDS: Final = {
    What.ADDED: "is not in use, and the charts have it",
    What.REMOVED: "is in use, and the charts do not have it",
    What.CHANGED: "is otherwise in the charts",
}


def is_made(resource: Resource) -> bool:
    """Report whether a controller made an object."""
    owners = mappings_at(resource.body, "metadata", "ownerReferences")
    return any(owner.get("controller") for owner in owners)


def baseline_of(
    estate: Estate, installed: Sequence[Resource], rendered: Iterable[KnownViolation], track: Track
) -> tuple[str, list[Row]]:
    """Return the text of the baseline of an environment, empty without violations, with a row about
    it; installed: the policies, bindings and exceptions of its charts; rendered: the violations
    that a render finds; track: shows how many kinds of a cluster are read."""
    counts: dict[Violation, int] = {violation.violation: violation.count for violation in rendered}
    made = {object_name(resource) for resource in filter(is_made, estate.objects)}
    matcher = BaselineMatcher(Baseline(Path()), date.max, updates=True)

    def sink(resource: Resource, results: Sequence[RuleResult]) -> None:
        if is_made(resource):
            made.add(object_name(resource))
        for result in results:
            if result.status in VIOLATIONS:
                matcher.match(list(violations_of(resource, result)))

    if (survey := estate.survey) is not None:
        compiled = compiled_set(installed)
        judged = survey.objects(compiled.policies, track=track)
        run_scan(compiled.policies, judged, sink, survey.context(compiled))
        for violation in matcher.updated(lambda _: True):
            counts[violation.violation] = max(violation.count, counts.get(violation.violation, 0))
    if not counts:
        return "", []
    objects = {count.object for count in counts}
    total = counted(sum(counts.values()), "violation")
    of = f" of {counted(len(objects), 'object')}" if len(counts) > 1 else ""
    message = f"{total}{of} added to the baseline"
    hint = ""
    if made_objects := objects & made:
        message += f"; {len(made_objects)} of the objects are made by controllers"
        hint = "their names change: fix what makes them first"
    row = Row(Outcome.TAKEN, "baseline", message, None, hint, estate.name)
    entries = [KnownViolation(count, counts[count]) for count in sorted(counts)]
    return baseline_text(Baseline(Path()), entries), [row]


def try_out(
    adopted: AdoptedProject, estates: Sequence[Estate], folder: Path, track: Callable[[str], Track]
) -> list[Row]:
    """Render a project, give each of its environments a baseline of what violates the policies of
    its charts, and compare these policies and exceptions with what is in use; folder: in which the
    project will be; track: shows the progress, by its label.

    Return a row for each baseline, each difference, and what `chartkit render` refuses.
    """
    adopted.set_baselines({estate.name: "" for estate in estates if estate.workloads})
    with temporary_folder() as parent:
        root = parent / "project"  # The folder above is locked while this runs.
        write_below(root, adopted.files(lambda path: str(Path(path).absolute())))
        baselines: dict[str, str] = {}
        try:
            return list(_rows(root, estates, folder, baselines, track))
        except SourceError:
            raise
        except ChartkitError as error:
            location = _relative(error.location, root)
            message = f"does not render: {_without(error.message, root)}"
            return [Row(Outcome.LEFT, "project", message, location, error.hint or "")]
        finally:
            adopted.set_baselines({name: text for name, text in baselines.items() if text})


def _rows(
    root: Path,
    estates: Sequence[Estate],
    folder: Path,
    baselines: dict[str, str],
    track: Callable[[str], Track],
) -> Iterator[Row]:
    project = read_project(root)
    environments = project.environments
    tracked = track("rendering")
    options = RenderOptions(tuple(environments.values()), update_baseline=True, track=tracked)
    result = render_project(project, options)
    failed = [row for row in result.rows if row.outcome is Check.FAIL]
    for row in (miss for miss in failed if miss.check != UNREAD):  # These have rows already.
        message = f"`chartkit render` refuses it: {_without(row.message, root)}"
        location = _relative(row.location, root)
        subject = f"check {row.check}"
        yield Row(Outcome.LEFT, subject, message, location, row.hint or "", row.environment or "")
    for estate in estates:
        environment = environments[estate.name]
        after = Side("", tuple(_in_use(estate)))
        if not failed:
            after = of_environment(project, environment, estate.name, hooks=False)
        kept = tuple(filter(_is_compared, after.resources))
        violations = _known(environment.baseline, estate, folder)
        baselines[estate.name], about = baseline_of(estate, kept, violations, track("reading"))
        yield from about
        if not failed:
            before = Side("in use", tuple(_in_use(estate)))
            changes = comparison(before, replace(after, resources=kept)).changes
            if estate.chart_values:
                new = [change for change in changes if change.change.what is What.ADDED]
                changes = tuple(change for change in changes if change not in new)
                # The row about policies that values of upstream's chart of policies select.
                if new:
                    noun = "policy comes" if len(new) == 1 else "policies come"
                    message = f"{len(new)} {noun} from chartkit's library, in place of upstream's"
                    hint = "`chartkit policies show NAME` and docs/policies say what each refuses"
                    yield Row(Outcome.CHANGED, "kyverno-policies", message, None, hint, estate.name)
            yield from _changes(changes, estate.name)
            if environment.engine and (estate.engine or estate.values):
                rest = tuple(resource for resource in after.resources if not _is_compared(resource))
                yield from _engine_changes(estate, replace(after, resources=rest))
    if failed and all(row.check == UNREAD for row in failed):
        message = "what the charts would change was not compared: workloads cannot be read"
        yield Row(Outcome.NOTE, "project", message)


def _known(file: Path | None, estate: Estate, folder: Path) -> Iterator[KnownViolation]:
    """The violations of a render; nameless objects have the path of the next render."""
    for violation in read_baseline(file).entries if file is not None and file.exists() else ():
        name = violation.violation.object
        for path in estate.workloads:
            there, later = str(Path(path).absolute()), relpath(path, folder)
            name = name.replace(
                f" in {below_root(folder, there)}", f" in {below_root(folder, later)}"
            )
        yield replace(violation, violation=replace(violation.violation, object=name))


def _engine_changes(estate: Estate, after: Side) -> Iterator[Row]:
    """Yield a row for each change of high risk of Kyverno itself, and one for all others."""
    subject, hint = "Kyverno", f"`chartkit diff {estate.name} --against release` shows each field"
    if estate.release is None:
        message = "what the chart changes of it is not known: no Helm release of it was read"
        yield Row(Outcome.NOTE, subject, message, None, hint, estate.name)
        return
    compared = comparison(Side("in use", tuple(estate.release)), after)
    risky = [change for change in compared.changes if change.risk.level is Level.HIGH]
    yield from _changes(risky, estate.name)
    kinds = Counter(diff.change.identity.kind for diff in compared.changes if diff not in risky)
    if kinds:
        shown = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        message = f"objects that the chart changes, adds or removes otherwise: {shown}"
        yield Row(Outcome.CHANGED, subject, message, None, hint, estate.name)


def _relative(location: Location | None, root: Path) -> Location | None:
    if location is None:
        return None
    return Location(_without(location.file, root), location.line, location.column)


def _without(text: str, root: Path) -> str:
    """Return a text with paths of the trial's project and of the working directory relative."""
    return text.replace(f"{root}/", "").replace(f"{Path.cwd()}/", "")


def _in_use(estate: Estate) -> Iterator[Resource]:
    for piece in (*estate.policies, *estate.exceptions):
        yield replace(piece.resource, body=plain(piece.resource.body))


def _is_compared(resource: Resource) -> bool:
    return is_policy(resource) or is_binding(resource) or is_exception(resource)


def _changes(changes: Iterable[RatedChange], environment: str) -> Iterator[Row]:
    """Yield a row for each change, and one for all that only get the chart's labels."""
    labelled: Counter[What] = Counter()
    for rated_change in changes:
        change = rated_change.change
        fields = [field for field in change.fields if field.path[:2] not in _METADATA]
        if change.what is What.CHANGED and not fields:
            labelled[change.what] += 1
            continue
        message = _WORDS[change.what]
        shown = abridged([field.name for field in fields], _SHOWN)
        message += f": {shown}" if shown else ""
        message += f" ({rated_change.risk.reason})" if rated_change.risk.reason else ""
        outcome = Outcome.LEFT if change.what is What.REMOVED else Outcome.CHANGED
        yield Row(outcome, str(change.identity), message, None, "", environment)
    if count := labelled.total():
        noun = "object gets" if count == 1 else "objects get"
        message = f"{count} {noun} the chart's labels and annotations, and nothing else"
        yield Row(Outcome.CHANGED, "metadata", message, None, "", environment)
