"""Checks and copies every chart before Helm loads it, without rights and within limits."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol

from chartkit.errors import RenderError
from chartkit.helm.kept import KeptResults
from chartkit.helm.model import ChartError, DryRun, Finding, HelmStoppedError, Target, Texts
from chartkit.helm.sandbox.process import FileAccess, Limits
from chartkit.helm.staging import Stage, StagedChart, require
from chartkit.model import Body
from chartkit.temporary import TemporaryFolder

_LIMITS: Final = Limits(seconds=5, cpu_seconds=2)
"""The most that a call may take that looks for a template, unless Helm has less."""
_MARK: Final = "chartkit reached this template"
_FAIL: Final = f'{{{{- fail "{_MARK}" -}}}}'
_TEMPLATES: Final = "templates"


class Backend(Protocol):
    """A Helm that is given checked copies of charts. Raises RenderError with Helm's text, and
    HelmStoppedError at a limit."""

    def within(self, limits: Limits) -> Backend:
        """The same with these limits of time and output, too."""
        ...

    def start(self) -> None:
        """Gets ready in parallel."""
        ...

    def close(self) -> None:
        """Ends what runs."""
        ...

    def render(self, chart: Path, values: Body, target: Target) -> Texts:
        """Return rendered texts, hooks and the chart's NOTES.txt among them; Chart.yaml's
        kubeVersion is not enforced."""
        ...

    def admit(self, chart: Path, target: Target) -> None:
        """Enforces the kubeVersion of a chart that has nothing but a Chart.yaml."""
        ...

    def dry_run(self, chart: Path, values: Body, target: Target) -> DryRun:
        """Return the result of a dry run of an installation; enforces Chart.yaml's kubeVersion."""
        ...

    def lint(self, chart: Path, values: Body, target: Target, schema: bool = True) -> list[Finding]:
        """Return the findings of `helm lint`; schema: whether it looks at values.schema.json."""
        ...


class Gateway:
    """Helm for charts of whomever, as a `Backend` is for checked copies. Every method raises
    RenderError with Helm's text, ChartError for a chart that leads out of its folder."""

    def __init__(self, backend: Callable[[FileAccess], Backend]) -> None:
        """backend: makes one that may read these files."""
        self._root = TemporaryFolder()
        root = Path(os.path.realpath(self._root.path))
        charts, temporary = root / "charts", root / "tmp"
        charts.mkdir()
        temporary.mkdir()
        self._charts = charts
        self._stage = Stage(charts)
        self._backend = backend(FileAccess((str(charts),), str(temporary)))

    def start(self) -> None:
        """Gets Helm ready in parallel."""
        self._backend.start()

    @contextmanager
    def kept(self, identity: str) -> Iterator[None]:
        """Use the results of earlier runs while this lasts, and keep the results of this one.
        identity: identifies the Helm in use."""
        own = self._backend
        self._backend = KeptResults(own, identity)
        try:
            yield
        finally:
            self._backend = own

    def stop(self) -> None:
        """Ends Helm's processes; calls that wait for one fail."""
        self._backend.close()

    def close(self) -> None:
        """Ends Helm's processes, and removes the copies."""
        self.stop()
        self._root.close()

    def check(self, chart: Path) -> None:
        """Check a chart and do nothing else."""
        self._stage.staged(chart)

    def render(self, chart: Path, values: Body, target: Target) -> Texts:
        with self._staged(chart, values, target) as staged:
            texts = self._backend.render(staged.folder, values, target)
        return Texts(texts.files, (*staged.warnings, *texts.warnings))

    def admit(self, chart: Path, target: Target) -> None:
        """Enforce Chart.yaml's kubeVersion as `dry_run` does, and render nothing; for a chart that
        names no dependencies."""
        with self._staged(chart, {}, target) as staged, self._bare(staged.folder) as bare:
            self._backend.admit(bare, target)

    def crds(self, chart: Path) -> dict[str, str]:
        """Return the texts below `crds/`, subcharts' among them, by `chart/crds/file`."""
        return dict(self._stage.staged(chart).crds)

    def dry_run(self, chart: Path, values: Body, target: Target) -> DryRun:
        with self._staged(chart, values, target) as staged:
            return self._backend.dry_run(staged.folder, values, target)

    def lint(self, chart: Path, values: Body, target: Target, schema: bool = True) -> list[Finding]:
        with self._staged(chart, values, target) as staged:
            return self._backend.lint(staged.folder, values, target, schema)

    @contextmanager
    def _staged(self, chart: Path, values: Body, target: Target) -> Iterator[StagedChart]:
        """A copy to work on; messages of Helm speak of the chart."""
        staged = self._stage.staged(chart)
        require(chart, staged.missing, staged.defaults, values)
        try:
            yield staged
        except HelmStoppedError as error:
            limited = self._backend.within(_LIMITS)
            file = stopped_at(staged.folder, lambda copy: limited.render(copy, values, target))
            raise ChartError(f"Helm was stopped: {error.message}", file) from None
        except RenderError as error:
            message = error.message.replace(str(staged.folder), str(chart))
            raise RenderError(message, error.location, error.hint) from None

    @contextmanager
    def _bare(self, chart: Path) -> Iterator[Path]:
        """A chart of the same metadata and nothing else: its range is all that Helm can refuse."""
        with tempfile.TemporaryDirectory(dir=self._charts) as folder:
            shutil.copyfile(chart / "Chart.yaml", Path(folder) / "Chart.yaml")
            yield Path(folder)


def stopped_at(chart: Path, render: Callable[[Path], object]) -> str:
    """Return the path of the template at which Helm was stopped, empty where it is unknown.

    Helm runs templates in an order of its own (pkg/engine/engine.go, sortTemplates): a call that
    fails at the start of one of them has run all before it. The template that runs for too long is
    the last one whose start is reached. chart: a copy that may be copied again; render: renders one
    within limits.
    """
    # The templates that Helm runs, in its order: deeper ones first, then backwards by name, without
    # the templates of packed subcharts.
    files = (file for file in chart.rglob("*") if file.is_file())
    names = (file.relative_to(chart).as_posix() for file in files)
    ordered_templates = [name for name in names if _is_template(name)]
    templates = sorted(ordered_templates, key=lambda name: (name.count("/"), name), reverse=True)
    reached, unreached = -1, len(templates)
    while unreached - reached > 1:
        middle = (reached + unreached) // 2
        if _reaches(chart, render, templates[middle]):
            reached = middle
        else:
            unreached = middle
    # The next one may be part of a subchart that is off: then this one comes to its end.
    if reached < 0 or _reaches(chart, render, templates[reached], end=True):
        return ""
    return templates[reached]


def _is_template(name: str) -> bool:
    *folders, file = name.split("/")
    while folders[:1] == ["charts"]:
        folders = folders[2:]
    return folders[:1] == [_TEMPLATES] and not file.startswith("_")


def _reaches(
    chart: Path, render: Callable[[Path], object], template: str, end: bool = False
) -> bool:
    """Render a copy of the chart that fails at the start of a template, or at its end, and return
    true where it fails there."""
    with tempfile.TemporaryDirectory(dir=chart.parent) as parent:
        copy = Path(shutil.copytree(chart, Path(parent) / chart.name))
        file = copy / template
        text, mark = file.read_bytes(), _FAIL.encode()
        file.write_bytes(text + mark if end else mark + text)
        try:
            render(copy)
        except HelmStoppedError:
            return False
        except RenderError as error:
            return _MARK in error.message
    return False
