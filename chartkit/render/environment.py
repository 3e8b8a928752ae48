"""What is checked of one environment: its charts as they are to be written, and their values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from chartkit.charts.engine.chart import NAMESPACE
from chartkit.documents.reader import Document, Source, read_text
from chartkit.errors import RenderError
from chartkit.helm.model import DryRun
from chartkit.helm.render import Rendered, ValuesSource, admit, dry_run, lint_chart, render_chart
from chartkit.library.profiles import Resolved
from chartkit.model import Body, Diagnostic, Resource
from chartkit.output.write import Tree
from chartkit.project.project import Environment, Project, Workload
from chartkit.values.lint import Subject as LintSubject

ALL = "all"
"""The environment column of rows that speak of every environment."""
SCHEMA_FILE = "values.schema.json"


@dataclass(frozen=True)
class Chart:
    """One chart of an environment.

    tree: its files; folder: where they stand for Helm to read; executor: what runs Helm while
    others go on; foreign: whether it is upstream's own; installed: whether what an installation
    does is to be written. Messages speak of the folder that the tree is meant for.
    """

    name: str
    tree: Tree
    folder: Path
    environment: Environment
    executor: Executor
    foreign: bool = False
    installed: bool = False

    def start(self) -> list[Future[Any]]:
        """Sets Helm to work on all that the checks will ask of it."""
        admitting = self._dry_running if self._whole else self._admitting
        return [self.rendering, admitting, self._linting]

    @property
    def release(self) -> str:
        """The release's name, which is the chart's."""
        return self.name

    @cached_property
    def defaults(self) -> Document:
        """The chart's values.yaml."""
        return _document(self.tree, "values.yaml")

    @cached_property
    def values(self) -> Document:
        """The environment's values file."""
        return _document(self.tree, f"values_{self.environment.name}.yaml")

    @cached_property
    def schema(self) -> Body | None:
        """values.schema.json, None where the chart has none.

        A foreign one is empty here: its draft, its patterns and what it refers to elsewhere are
        for Helm to judge, which refuses to render what it refuses.
        """
        text = self.tree.files.get(SCHEMA_FILE)
        if text is not None and self.foreign:
            return {}
        return _json(text) if text is not None else None

    @property
    def rendered(self) -> Rendered:
        """What Helm renders for the environment; raises RenderError."""
        return self.rendering.result()

    @property
    def dry_run(self) -> DryRun:
        """What an installation does; raises RenderError where the cluster is not admitted."""
        return self._dry_running.result()

    @property
    def notes(self) -> str:
        """What an installation prints; raises RenderError where the cluster is not admitted."""
        if self._whole:
            return self.dry_run.notes
        self._admitting.result()
        return self.rendered.notes

    @property
    def helm_lint(self) -> list[Diagnostic]:
        """What `helm lint` says."""
        return self._linting.result()

    def render(self, *over: Body, part: Path | None = None) -> Future[Rendered]:
        """What Helm renders with further values laid over the environment's.

        part: a folder with as much of the chart as matters. What Helm refuses there is said of the
        whole chart.
        """
        return self.executor.submit(self._rendered, over, part)

    def _rendered(self, over: Sequence[Body], part: Path | None) -> Rendered:
        values: list[ValuesSource] = [self.values, *over]
        if part is not None:
            with suppress(RenderError):
                return render_chart(part, values, **self._target())
        return render_chart(self.folder, values, **self._target())

    def lint_subject(self, resources: Sequence[Resource] = ()) -> LintSubject:
        """The chart as the values checks want it."""
        apis = self.environment.apis
        return LintSubject(self.defaults, (self.values,), self.schema, apis, resources)

    @cached_property
    def rendering(self) -> Future[Rendered]:
        """Helm at work on `rendered`."""
        return self.render()

    @cached_property
    def _dry_running(self) -> Future[DryRun]:
        return self.executor.submit(dry_run, self.folder, [self.values], **self._target())

    @property
    def _whole(self) -> bool:
        """Whether it takes a dry run to tell the notes: rendering ours tells them as well."""
        return self.installed or self.foreign

    @cached_property
    def _admitting(self) -> Future[None]:
        kube_version = self.environment.kube_version
        return self.executor.submit(
            admit,
            self.folder,
            namespace=NAMESPACE,
            kube_version=kube_version,
            shown=self.tree.folder,
        )

    @cached_property
    def _linting(self) -> Future[list[Diagnostic]]:
        # Helm holds the values against the schema when it renders: once is enough.
        return self.executor.submit(
            lint_chart,
            self.folder,
            [self.values],
            namespace=NAMESPACE,
            kube_version=self.environment.kube_version,
            shown=self.tree.folder,
            schema=False,
        )

    def _target(self) -> dict[str, Any]:
        env = self.environment
        return {
            "release": self.release,
            "namespace": NAMESPACE,
            "kube_version": env.kube_version,
            "api_versions": [api for api, there in env.apis.items() if there],
            "shown": self.tree.folder,
        }


@dataclass(frozen=True, slots=True)
class Subject:
    """One environment to check.

    engine: None where the project does not install Kyverno there; resolved: what the environment
    gets of policies, None where they are upstream's; others: further charts that are vendored.
    """

    project: Project
    environment: Environment
    policies: Chart
    engine: Chart | None
    others: tuple[Chart, ...] = ()
    workloads: tuple[Workload, ...] = field(default=())
    resolved: Resolved | None = None

    @property
    def charts(self) -> list[Chart]:
        """The environment's charts, the engine's first."""
        charts = (self.engine, self.policies, *self.others)
        return [chart for chart in charts if chart is not None]


def _document(tree: Tree, name: str) -> Document:
    return _read(tree.files[name], str(tree.folder / name))


@lru_cache(maxsize=64)
def _read(text: str, file: str) -> Document:
    documents = read_text(text, file)
    return documents[0] if documents else Document({}, Source(file, text), 1, 0, len(text))


@lru_cache(maxsize=8)
def _json(text: str) -> Body:
    body: Body = json.loads(text)
    return body
