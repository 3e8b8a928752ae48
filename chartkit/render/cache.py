"""Results of `chartkit render` that are kept for the next run, by all that they depend on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from chartkit.cache_folder import Store
from chartkit.helm.kept import may_differ
from chartkit.model import Body, Json, Location
from chartkit.output import atomic_folder
from chartkit.project.environment import Environment
from chartkit.project.project import Project
from chartkit.render.inputs import environment_digest, inputs_digest, workload_files
from chartkit.render.manifests import is_repeatable
from chartkit.render.model import Outcome, RenderResult, Row, failed
from chartkit.scan.parallel.judged import KnownPlaces

if TYPE_CHECKING:
    from chartkit.render.chart import CheckTarget

_STORE: Final = "render"
_ENVIRONMENTS: Final = "environments"


def cached_result(
    project: Project,
    workloads: Sequence[Path],
    options: Mapping[str, Json],
    render: Callable[[], RenderResult],
) -> RenderResult:
    """Return the result of an earlier run with the same inputs, or render and keep the result.

    A result is kept only if the same inputs give it again: nothing was written, no check failed,
    and nothing depends on the clock or on chance. workloads: those of the command line;
    options: all others that the result depends on.
    """
    key = inputs_digest(project, workloads, options)
    if key is None:
        return render()
    store = Store(_STORE)
    known = _read(store.load(key))
    if known is not None:
        if not options.get("check"):
            # As one that renders would: another render may be writing.
            with atomic_folder.lock(project.root):
                return known
        return known
    result = render()
    if result.is_repeatable and not result.written and not failed(result.rows):
        files = workload_files(project.environments.values(), workloads)
        if files is not None and not may_differ(each.read_bytes() for each in files):
            now = inputs_digest(project, workloads, options)
            # A result is kept unless its inputs have changed meanwhile.
            if now == key:
                store.save(key, {"drift": result.drift, "rows": list(map(_row_body, result.rows))})
    return result


def cached_rows(subject: CheckTarget, check: Callable[[], Sequence[Row]]) -> Sequence[Row]:
    """Return the rows of an environment of an earlier run that checked the same, or check it and
    keep the rows, as `cached_result` keeps results."""
    key = _environment_key(subject)
    if key is None:
        return check()
    store = Store(_ENVIRONMENTS)
    known = store.load(key)
    if known is not None:
        return list(map(_row, known))
    found = check()
    if not failed(found) and is_repeatable([subject]):
        files = workload_files((subject.environment,), _further(subject))
        is_lasting = files is not None and not may_differ(each.read_bytes() for each in files)
        if is_lasting and _environment_key(subject) == key:
            store.save(key, list(map(_row_body, found)))
    return found


def _environment_key(subject: CheckTarget) -> str | None:
    charts = {each.name: each.files.folder for each in subject.charts}
    layers = [[each.source.text for each in one.layers] for one in subject.charts]
    env = subject.environment
    return environment_digest(subject.project, env, _further(subject), charts, layers)


def _further(subject: CheckTarget) -> list[Path]:
    return [each.path for each in subject.workloads]


def checked(project: Project, environments: Sequence[Environment]) -> RenderResult:
    """Return what `render --check` of environments gives, from an earlier run where it is known."""
    options = key_options(environments, check=True)

    def render() -> RenderResult:
        from chartkit.render.pipeline import RenderOptions, render_project

        return render_project(project, RenderOptions(tuple(environments), check=True))

    return cached_result(project, (), options, render)


def key_options(
    environments: Sequence[Environment],
    prefer: str | None = None,
    check: bool = False,
    kustomize: bool = False,
) -> Body:
    """Return the options that a result depends on, as `cached_result` takes them."""
    return {
        "environments": [each.name for each in environments],
        "prefer": prefer,
        "check": check,
        "kustomize": kustomize,
    }


def _row_body(row: Row) -> Json:
    place = row.location
    return {
        "environment": row.environment,
        "check": row.check,
        "outcome": str(row.outcome),
        "message": row.message,
        "hint": row.hint,
        "policy": row.policy,
        "subject": row.subject,
        "location": None if place is None else _place(place),
    }


def _place(place: Location) -> Json:
    first, lines = (0, ()) if place.places is None else place.places.excerpt(place.line)
    return [place.file, place.line, place.column, place.path, first, list(lines)]


def _read(body: Json) -> RenderResult | None:
    if body is None:
        return None
    rows = tuple(map(_row, body["rows"]))
    return RenderResult(rows, body["drift"], is_repeatable=True)


def _row(body: Body) -> Row:
    place: Location | None = None
    if body["location"]:
        file, line, column, path, first, lines = body["location"]
        known = KnownPlaces(file, {}, {line: (first, lines)}) if lines else None
        place = Location(file, line, column, path, known)
    outcome = Outcome(body["outcome"])
    text, hint = body["message"], body["hint"]
    about = body["policy"], body["subject"]
    return Row(body["environment"], body["check"], outcome, text, place, hint, *about)
