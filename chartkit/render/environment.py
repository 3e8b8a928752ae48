"""An environment's charts as Helm renders them, now or at a revision of the project, or a folder of
manifests: for comparisons, and as policies for scans of other objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from chartkit.charts.engine.chart import NAMESPACE
from chartkit.charts.plan import ENGINE, POLICIES, REPORTER
from chartkit.charts.policies import chart as policies_chart
from chartkit.charts.policies.installed import InstalledPolicy
from chartkit.documents.unread import is_unread
from chartkit.errors import InputError
from chartkit.helm.kustomize.kustomization import Tree
from chartkit.helm.render import RenderedChart, render_chart
from chartkit.kyverno.controllers import allows_http
from chartkit.model import Body, Diagnostic, Location, Resource, Severity
from chartkit.network.downloads.checkout import is_checkout, read_checkout
from chartkit.network.downloads.lockfile import DEFAULT
from chartkit.output.atomic_folder import write_below
from chartkit.project.environment import Environment
from chartkit.project.project import FILE_NAME, Project, read_project
from chartkit.render.exceptions import NO_EXCEPTIONS, ShippedExceptions, shipped_exceptions
from chartkit.scan.environment import ProjectEnvironment, configuration
from chartkit.scan.ineffective import RULE
from chartkit.scan.inputs import read_inputs
from chartkit.scan.inputs.folders import walk
from chartkit.temporary import temporary_folder
from chartkit.wording import abridged, counted


@dataclass(frozen=True, slots=True)
class Side:
    """name: for the report; resources: all installed objects, including CRDs; warnings: Helm's
    warnings about the charts."""

    name: str
    resources: tuple[Resource, ...]
    warnings: tuple[Diagnostic, ...] = ()


def of_environment(
    project: Project, environment: Environment, name: str, hooks: bool = True
) -> Side:
    """Render an environment from the project's charts on disk. hooks: whether to include hooks.
    Raise InputError if the charts were not written, RenderError if they do not render."""
    resources: list[Resource] = []
    warnings: list[Diagnostic] = []
    for chart in installed_charts(project, environment):
        rendered = written_chart(project.charts / chart, environment)
        resources += [*rendered.crds, *rendered.resources, *(rendered.hooks if hooks else ())]
        warnings += rendered.warnings
    return Side(name, tuple(resources), tuple(warnings))


def installed_charts(project: Project, environment: Environment) -> list[str]:
    """Return the names of the charts on disk that an environment has."""
    names = [ENGINE] if environment.engine else []
    names += [POLICIES]
    return names + [name for name in (REPORTER,) if (project.charts / name).is_dir()]


def written_chart(folder: Path, environment: Environment) -> RenderedChart:
    """Render a chart on disk for an environment; raise InputError where it was not written for it,
    RenderError where it does not render."""
    return render_chart(
        folder,
        written_values(folder, environment),
        release=folder.name,
        namespace=NAMESPACE,
        kube_version=environment.kube_version,
        api_versions=[api for api, there in environment.apis.items() if there],
    )


def written_values(folder: Path, environment: Environment) -> list[Path]:
    """Return an environment's values files of a chart; raise InputError for a missing one."""
    files = [folder / name for name in environment.values_files]
    for file in files:
        if not file.is_file():
            hint = "`chartkit render` writes the charts"
            raise InputError("there is no such values file", Location(str(file)), hint)
    return files


@contextmanager
def earlier(project: Project, against: str) -> Iterator[Project | Path]:
    """Yield the side that REV|DIR names: a project, or a folder of manifests. An existing folder
    takes precedence over a revision of that name. The project of a revision is in a temporary
    folder. Raise InputError."""
    folder = Path(against)
    if folder.is_dir():
        yield read_project(folder) if (folder / FILE_NAME).is_file() else folder
        return
    with temporary_folder() as parent:
        # A temporary folder with the project file and the charts of a revision.
        root = project.root.resolve()
        checkout = next((file for file in (root, *root.parents) if is_checkout(file)), None)
        if checkout is None:
            hint = "give a folder, or run it in a git checkout"
            raise InputError(f"'{against}' is not a folder", None, hint)
        inside = [
            path.resolve().relative_to(checkout).as_posix()
            for path in (project.file, project.charts)
        ]
        _, files = read_checkout(checkout, against, DEFAULT, inside)
        if inside[0] not in files:
            raise InputError(f"there is no {inside[0]} at revision '{against}'")
        below = root.relative_to(checkout).as_posix()
        start = "" if below == "." else f"{below}/"
        write_below(parent, {name.removeprefix(start): text for name, text in files.items()})
        yield read_project(parent / project.file.name)


def of_folder(folder: Path, environment: str) -> Side:
    """Return an environment's manifests below a folder: from a subfolder of its name (as in
    rendered/, without hooks) or from the folder itself. Files without objects, such as values,
    are passed over with a warning, those that cannot be read with a row. Raise InputError for a
    folder without objects."""
    own = folder / environment
    where = own if own.is_dir() else folder
    notes: list[Diagnostic] = []
    files = list(walk(where, lambda _: None))  # `read_inputs` has the rows.
    if not files:
        hint = f"give a folder of manifests, or one with {FILE_NAME}"
        raise InputError("holds no manifests", Location(str(where)), hint)
    resources = read_inputs([str(where)], StringIO(), notes.append)
    unread = {note.location.file for note in filter(is_unread, notes) if note.location}
    read = unread | {resource.location.file for resource in resources}
    passed = [str(file) for file in files if not file.is_dir() and str(file) not in read]
    tree = Tree.of(where, files)
    if passed := [name for name in passed if not tree.takes(Path(name))]:
        message = f"{counted(len(passed), 'file')} without Kubernetes objects: {abridged(passed)}"
        notes.append(Diagnostic(RULE, Severity.NOTE, message, Location(str(where))))
    return Side(str(where), tuple(resources), tuple(notes))


def project_exceptions(project: Project, environment: Environment) -> ShippedExceptions:
    """Return the exceptions of an environment, in the kinds of its policies; raise InputError."""
    shipped = NO_EXCEPTIONS

    def exceptions_of(env: Environment, policies: Mapping[str, InstalledPolicy]) -> Sequence[Body]:
        nonlocal shipped
        if env.name == environment.name:
            shipped = shipped_exceptions(env, policies)
        return ()

    policies_chart.plan(project, exceptions_of)
    return shipped


def project_environment(project: Project, environment: Environment) -> ProjectEnvironment:
    """Render an environment's charts; raise InputError where they were not written, RenderError
    where they do not render."""
    policies = written_chart(project.charts / POLICIES, environment)
    engine: Sequence[Resource] = ()
    if environment.engine:
        engine = written_chart(project.charts / ENGINE, environment).resources
    config, _ = configuration(engine)

    return ProjectEnvironment(
        name=environment.name,
        resources=policies.resources,
        configuration=config,
        kube_version=environment.kube_version,
        api_versions=tuple(api for api, is_there in environment.apis.items() if is_there),
        allows_http=allows_http(engine),
        suppressions=environment.suppressions,
        sources=(project.charts / POLICIES, project.charts / ENGINE),
        engine=engine,
    )
