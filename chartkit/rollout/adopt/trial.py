"""The adopted project rendered once, before it is written: what the charts would change of what is
in use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from chartkit.engine import is_exception, is_policy
from chartkit.engine.cel_policies.admission.bindings import is_binding
from chartkit.errors import ChartkitError
from chartkit.model import Location, Resource
from chartkit.output.folders import write_below
from chartkit.project.project import read_project
from chartkit.render.compare.fields import What
from chartkit.render.compare.report import RatedChange, comparison
from chartkit.render.compare.risk import Level
from chartkit.render.compare.sides import Side, of_environment
from chartkit.render.model import Outcome as Check
from chartkit.render.pipeline import RenderOptions, render_project
from chartkit.rollout.adopt.model import Estate, Outcome, Row, plain
from chartkit.temporary import temporary_folder
from chartkit.wording import abridged

_METADATA: Final = (("metadata", "labels"), ("metadata", "annotations"))
_SHOWN: Final = 6
_WORDS: Final = {
    What.ADDED: "is not in use, and the charts have it",
    What.REMOVED: "is in use, and the charts do not have it",
    What.CHANGED: "is otherwise in the charts",
}


def try_out(files: Mapping[str, str], estates: Sequence[Estate]) -> list[Row]:
    """Render a project from its files, with absolute paths of workloads, and compare the policies
    and exceptions of each environment with what is in use.

    Return a row for each difference, and for what `chartkit render` refuses.
    """
    with temporary_folder() as parent:
        root = parent / "project"  # The folder above is locked while this runs.
        write_below(root, files)
        try:
            return list(_rows(root, estates))
        except ChartkitError as error:
            place = _relative(error.location, root)
            message = f"does not render: {error.message.replace(f'{root}/', '')}"
            return [Row(Outcome.LEFT, "project", message, place, error.hint or "")]


def _rows(root: Path, estates: Sequence[Estate]) -> Iterator[Row]:
    project = read_project(root)
    environments = project.environments
    result = render_project(project, RenderOptions(tuple(environments.values())))
    refused = [row for row in result.rows if row.outcome is Check.FAIL]
    for row in refused:
        message = f"`chartkit render` refuses it: {row.message}"
        place = _relative(row.location, root)
        subject = f"check {row.check}"
        yield Row(Outcome.LEFT, subject, message, place, row.hint or "", row.environment or "")
    if refused:
        return
    for estate in estates:
        after = of_environment(project, environments[estate.name], estate.name, hooks=False)
        kept = tuple(filter(_is_compared, after.resources))
        before = Side("in use", tuple(_in_use(estate)))
        changes = comparison(before, replace(after, resources=kept)).changes
        if estate.chart_values:
            new = [each for each in changes if each.change.what is What.ADDED]
            changes = tuple(each for each in changes if each not in new)
            yield from _from_library(new, estate.name)
        yield from _changes(changes, estate.name)
        if environments[estate.name].engine and (estate.engine or estate.values):
            rest = tuple(each for each in after.resources if not _is_compared(each))
            yield from _engine_changes(estate, replace(after, resources=rest))


def _from_library(new: Sequence[RatedChange], environment: str) -> Iterator[Row]:
    """Yield the row about policies that values of upstream's chart of policies select."""
    if new:
        noun = "policy comes" if len(new) == 1 else "policies come"
        message = f"{len(new)} {noun} from chartkit's library, in place of upstream's"
        hint = "`chartkit policies show NAME` and docs/policies say what each refuses"
        yield Row(Outcome.CHANGED, "kyverno-policies", message, None, hint, environment)


def _engine_changes(estate: Estate, after: Side) -> Iterator[Row]:
    """Yield a row for each change of high risk of Kyverno itself, and one for all others."""
    subject, hint = "Kyverno", f"`chartkit diff {estate.name} --against release` shows each field"
    if estate.release is None:
        message = "what the chart changes of it is not known: no Helm release of it was read"
        yield Row(Outcome.NOTE, subject, message, None, hint, estate.name)
        return
    compared = comparison(Side("in use", tuple(estate.release)), after)
    risky = [each for each in compared.changes if each.risk.level is Level.HIGH]
    yield from _changes(risky, estate.name)
    kinds = Counter(each.change.identity.kind for each in compared.changes if each not in risky)
    if kinds:
        shown = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        message = f"objects that the chart changes, adds or removes otherwise: {shown}"
        yield Row(Outcome.CHANGED, subject, message, None, hint, estate.name)


def _relative(location: Location | None, root: Path) -> Location | None:
    if location is None:
        return None
    return Location(location.file.replace(f"{root}/", ""), location.line, location.column)


def _in_use(estate: Estate) -> Iterator[Resource]:
    for piece in (*estate.policies, *estate.exceptions):
        yield replace(piece.resource, body=plain(piece.resource.body))


def _is_compared(resource: Resource) -> bool:
    return is_policy(resource) or is_binding(resource) or is_exception(resource)


def _changes(changes: Iterable[RatedChange], environment: str) -> Iterator[Row]:
    """Yield a row for each change, and one for all that only get the chart's labels."""
    labelled: Counter[What] = Counter()
    for each in changes:
        change = each.change
        fields = [field for field in change.fields if field.path[:2] not in _METADATA]
        if change.what is What.CHANGED and not fields:
            labelled[change.what] += 1
            continue
        message = _WORDS[change.what]
        shown = abridged([field.name for field in fields], _SHOWN)
        message += f": {shown}" if shown else ""
        message += f" ({each.risk.reason})" if each.risk.reason else ""
        outcome = Outcome.LEFT if change.what is What.REMOVED else Outcome.CHANGED
        yield Row(outcome, str(change.identity), message, None, "", environment)
    if count := labelled.total():
        noun = "object gets" if count == 1 else "objects get"
        message = f"{count} {noun} the chart's labels and annotations, and nothing else"
        yield Row(Outcome.CHANGED, "metadata", message, None, "", environment)
