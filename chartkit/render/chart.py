"""A chart of one environment: its files, and what Helm makes of them in child processes.

`start_chart` starts Helm on all that every check asks for. The methods of `Chart` wait for it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from chartkit.charts.engine.chart import NAMESPACE
from chartkit.charts.plan import ENGINE, POLICIES, REPORTER
from chartkit.charts.policies.chart import template_file
from chartkit.charts.policies.values_schema import SCHEMA_FILE, parameters_alone
from chartkit.documents.reader import Document, Source, empty_document, read_text
from chartkit.errors import RenderError
from chartkit.helm import backend as helm
from chartkit.helm.model import DryRun
from chartkit.helm.render import RenderedChart, admit, dry_run, lint_chart, render_chart
from chartkit.library.policies import LibraryPolicy
from chartkit.library.profiles import Selection
from chartkit.model import Body, Diagnostic, Resource
from chartkit.output.write import Tree
from chartkit.project.environment import Environment
from chartkit.project.project import Project
from chartkit.project.settings import Workload
from chartkit.render.exceptions import NO_EXCEPTIONS, ShippedExceptions
from chartkit.values.lint import ChartValues

_PROCESSES: Final = 4
"""The most processes of Helm at a time by default: the checks need them no faster."""
ALL = "all"
"""The environment column of rows that are about every environment."""
_PARTS: Final = "parts"
_ABOUT_ALL: Final = ("templates/NOTES.txt", "templates/permissions.yaml")
"""Templates that go through all policies of the chart."""


@contextmanager
def helm_threads(jobs: int | None = None, uses_cache: bool = False) -> Iterator[Executor]:
    """Threads that wait for Helm's child processes; an error or an interrupt ends both. jobs: the
    most of these processes at a time; uses_cache: whether Helm is asked only what earlier runs have
    not asked."""
    with helm.kept() if uses_cache else nullcontext():
        helm.start()
        executor = ThreadPoolExecutor(jobs or min(os.cpu_count() or 1, _PROCESSES))
        done = False
        try:
            yield executor
            done = True
        finally:
            if not done:
                helm.stop()
            executor.shutdown(cancel_futures=True)
            if not done:
                helm.close()


@dataclass(frozen=True, slots=True)
class ChartFiles:
    """A chart as it will be written, laid out for Helm to read.

    tree: its files, whose folder is the one that messages name; folder: the temporary folder with
    a copy of them; is_upstream: whether the chart is vendored.
    """

    tree: Tree
    folder: Path
    is_upstream: bool = False

    @property
    def name(self) -> str:
        """The name of the chart and of its release."""
        return self.tree.folder.name

    def document(self, file: str) -> Document:
        """Return one of the YAML files; equal texts are parsed once."""
        return _parse(self.tree.files[file], str(self.tree.folder / file))

    def schema(self) -> Body | None:
        """Return values.schema.json, None if the chart has none. Return an empty schema for a chart
        of upstream: Helm alone judges values against its draft, patterns and references."""
        text = self.tree.files.get(SCHEMA_FILE)
        if text is not None and self.is_upstream:
            return {}
        return _parse_json(text) if text is not None else None


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart with the values of one environment, and Helm's work on it.

    layers: the environment's values files, the last wins; linting: `helm lint`; admission: the dry
    run of an installation, or None for a chart whose rendering alone shows its notes.
    """

    files: ChartFiles
    environment: Environment
    layers: tuple[Document, ...]
    executor: Executor
    rendering: Future[RenderedChart]
    admission: Future[DryRun | None]
    linting: Future[list[Diagnostic]]

    @property
    def name(self) -> str:
        """The name of the chart and of its release."""
        return self.files.name

    @property
    def values(self) -> Document:
        """The environment's own values file."""
        return self.layers[-1]

    def rendered(self) -> RenderedChart:
        """Wait for `helm template` with the environment's values; raise RenderError."""
        return self.rendering.result()

    def manifest(self) -> str:
        """Wait for the manifest of an installation; raise RenderError."""
        installed = self.admission.result()
        return installed.manifest if installed is not None else ""

    def notes(self) -> str:
        """Wait for the notes; raise RenderError where the cluster's version is not admitted."""
        installed = self.admission.result()
        return (installed or self.rendered()).notes

    def start_rendering(self, *over: Body, part: Path | None = None) -> Future[RenderedChart]:
        """Start rendering with further values over the environment's. part: a folder with the part
        of the chart that matters. Where Helm refuses it, the whole chart is rendered, for the error
        to speak of that."""
        return self.executor.submit(self._render, over, part)

    def _render(self, over: Sequence[Body], part: Path | None) -> RenderedChart:
        target = _target(self.files, self.environment)
        if part is not None:
            with suppress(RenderError):
                return render_chart(part, [*self.layers, *over], **target)
        return render_chart(self.files.folder, [*self.layers, *over], **target)

    def lint_subject(self, resources: Sequence[Resource] = ()) -> ChartValues:
        """Return the chart as the rules for values take it."""
        defaults, schema = self.files.document("values.yaml"), self.files.schema()
        return ChartValues(defaults, self.layers, schema, self.environment.apis, resources)


def start_chart(
    files: ChartFiles, environment: Environment, executor: Executor, needs_manifest: bool
) -> Chart:
    """Start Helm on a chart: it renders, installs without a cluster, and lints. needs_manifest:
    whether the manifest of an installation is wanted. Charts of upstream are always installed: only
    that shows their notes."""
    layers = tuple(map(files.document, environment.values_files))
    target = _target(files, environment)
    rendering = executor.submit(render_chart, files.folder, layers, **target)
    installs = needs_manifest or files.is_upstream
    install: Callable[..., DryRun | None] = dry_run if installs else _admit
    admission = executor.submit(install, files.folder, layers, **target)
    linting = executor.submit(
        lint_chart,
        files.folder,
        layers,
        namespace=NAMESPACE,
        kube_version=environment.kube_version,
        shown=files.tree.folder,
        schema=False,  # Rendering checks the values against the schema.
    )
    return Chart(files, environment, layers, executor, rendering, admission, linting)


def _admit(
    folder: Path, _values: Sequence[Document], *, kube_version: str, shown: Path, **_rest: Any
) -> None:
    admit(folder, namespace=NAMESPACE, kube_version=kube_version, shown=shown)


def _target(files: ChartFiles, environment: Environment) -> dict[str, Any]:
    return {
        "release": files.name,
        "namespace": NAMESPACE,
        "kube_version": environment.kube_version,
        "api_versions": [api for api, there in environment.apis.items() if there],
        "shown": files.tree.folder,
    }


@lru_cache(maxsize=64)
def _parse(text: str, file: str) -> Document:
    documents = read_text(text, file)
    return documents[0] if documents else empty_document(Source(file, text))


@lru_cache(maxsize=8)
def _parse_json(text: str) -> Body:
    body: Body = json.loads(text)
    return body


@dataclass(frozen=True, slots=True)
class CheckTarget:
    """One environment to check.

    engine: None where the project does not install Kyverno there; resolved: the environment's
    policies and their settings, None where they are upstream's; others: further vendored charts;
    exceptions: those of chartkit.yaml that its chart installs.
    """

    project: Project
    environment: Environment
    policies: Chart
    engine: Chart | None
    others: tuple[Chart, ...]
    workloads: tuple[Workload, ...]
    resolved: Selection | None
    exceptions: ShippedExceptions = NO_EXCEPTIONS

    @property
    def charts(self) -> list[Chart]:
        """The environment's charts, the engine's first."""
        charts = (self.engine, self.policies, *self.others)
        return [chart for chart in charts if chart is not None]


def subject(
    project: Project,
    environment: Environment,
    charts: Sequence[Chart],
    workloads: Sequence[Workload],
    resolved: Selection | None,
    exceptions: ShippedExceptions = NO_EXCEPTIONS,
) -> CheckTarget:
    """Gather what belongs to an environment; workloads: further ones, from the command line."""
    own = {chart.name: chart for chart in charts if chart.environment is environment}
    others = tuple(own[name] for name in (REPORTER,) if name in own)
    scanned = (*environment.workloads, *workloads)
    return CheckTarget(
        project, environment, own[POLICIES], own.get(ENGINE), others, scanned, resolved, exceptions
    )


def part_of(chart: Chart, policies: Collection[LibraryPolicy]) -> Path:
    """Return a folder with the chart as it is laid out, without other policies' templates and
    templates about all policies; its schema has only the parameters of the policies. The rest was
    checked where the whole chart was rendered; Helm renders an example's own parameters faster so.

    The same policies give one and the same folder. Its files are the chart's own: not to be
    changed.
    """
    names = sorted(policy.name for policy in policies)
    digest = hashlib.sha256("\n".join(names).encode()).hexdigest()
    target = chart.files.folder.parent / _PARTS / digest / chart.files.folder.name
    if not target.is_dir():
        target.mkdir(parents=True)
        follows = os.link not in os.supports_follow_symlinks  # Windows has no choice.
        templates = {template_file(policy) for policy in policies}
        others = {
            name
            for name in chart.files.tree.files
            if (name.startswith("templates/") and name.count("/") > 1)
        }.difference(templates)
        left_out = {SCHEMA_FILE, *_ABOUT_ALL, *others}
        for path in chart.files.folder.rglob("*"):
            name = path.relative_to(chart.files.folder).as_posix()
            if name not in left_out and (path.is_symlink() or not path.is_dir()):
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                os.link(chart.files.folder / name, target / name, follow_symlinks=follows)
        schema = parameters_alone(chart.files.schema() or {}, names)
        (target / SCHEMA_FILE).write_text(json.dumps(schema), "utf-8", newline="\n")
    return target
