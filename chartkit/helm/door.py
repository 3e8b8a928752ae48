"""The one way to Helm: every chart is checked and copied before Helm loads it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from chartkit.errors import RenderError
from chartkit.helm.model import ChartError, DryRun, Finding, HelmStoppedError, Target, Texts
from chartkit.helm.sandbox.limits import Limits
from chartkit.helm.sandbox.process import Place
from chartkit.helm.staging import Stage, StagedChart
from chartkit.helm.stopped import Probe, stopped_at
from chartkit.model import Body
from chartkit.temporary import TemporaryFolder


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
        """As `Helm.render`."""
        ...

    def admit(self, chart: Path, target: Target) -> None:
        """Enforces the kubeVersion of a chart that has nothing but a Chart.yaml."""
        ...

    def dry_run(self, chart: Path, values: Body, target: Target) -> DryRun:
        """As `Helm.dry_run`."""
        ...

    def lint(self, chart: Path, values: Body, target: Target, schema: bool = True) -> list[Finding]:
        """As `Helm.lint`."""
        ...


class Door:
    """Helm for charts of whomever; it is a `Helm`."""

    def __init__(self, backend: Callable[[Place], Backend]) -> None:
        """backend: makes one for a place."""
        self._root = TemporaryFolder()
        root = Path(os.path.realpath(self._root.path))
        charts, temporary = root / "charts", root / "tmp"
        charts.mkdir()
        temporary.mkdir()
        self._charts = charts
        self._stage = Stage(charts)
        self._backend = backend(Place((str(charts),), str(temporary)))

    def start(self) -> None:
        """Gets Helm ready in parallel."""
        self._backend.start()

    def stop(self) -> None:
        """Ends Helm's processes; calls that wait for one fail."""
        self._backend.close()

    def close(self) -> None:
        """Ends Helm's processes, and removes the copies."""
        self.stop()
        self._root.close()

    def check(self, chart: Path) -> None:
        """Raises ChartError for a chart that leads out of its folder."""
        self._stage.staged(chart)

    def render(self, chart: Path, values: Body, target: Target) -> Texts:
        with self._staged(chart, values, target) as staged:
            texts = self._backend.render(staged.folder, values, target)
        return Texts(texts.files, (*staged.warnings, *texts.warnings))

    def admit(self, chart: Path, target: Target) -> None:
        with self._staged(chart, {}, target) as staged, self._bare(staged.folder) as bare:
            self._backend.admit(bare, target)

    def crds(self, chart: Path) -> dict[str, str]:
        return dict(self._stage.staged(chart).crds)

    def dry_run(self, chart: Path, values: Body, target: Target) -> DryRun:
        with self._staged(chart, values, target) as staged:
            return self._backend.dry_run(staged.folder, values, target)

    def lint(self, chart: Path, values: Body, target: Target, schema: bool = True) -> list[Finding]:
        with self._staged(chart, values, target) as staged:
            return self._backend.lint(staged.folder, values, target, schema)

    @contextmanager
    def _staged(self, chart: Path, values: Body, target: Target) -> Iterator[StagedChart]:
        """A copy to work on; where Helm is stopped, the template is found, and messages speak of
        the chart."""
        staged = self._stage.staged(chart)
        try:
            yield staged
        except HelmStoppedError as error:
            probe = Probe(self._backend, staged.folder, values, target)
            reason = f"Helm was stopped: {error.message}"
            raise ChartError(reason, stopped_at(probe)) from None
        except RenderError as error:
            message = error.message.replace(str(staged.folder), str(chart))
            raise RenderError(message, error.location, error.hint) from None

    @contextmanager
    def _bare(self, chart: Path) -> Iterator[Path]:
        """A chart of the same metadata and nothing else: its range is all that Helm can refuse."""
        with tempfile.TemporaryDirectory(dir=self._charts) as folder:
            shutil.copyfile(chart / "Chart.yaml", Path(folder) / "Chart.yaml")
            yield Path(folder)
