"""The questions that chartkit asks of Helm, and the answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from chartkit.errors import RenderError
from chartkit.model import Body


@dataclass(frozen=True, slots=True)
class Target:
    """The release and cluster of a render; empty kube_version: the newest that Helm knows."""

    release: str
    namespace: str
    kube_version: str = ""
    api_versions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One message of `helm lint`; severity 0: a warning of Helm's log, 1: info, 2: warning,
    3: error."""

    severity: int
    path: str
    message: str


def logged(warnings: Iterable[str]) -> list[Finding]:
    """Return warnings of Helm's log as findings."""
    return [Finding(0, "", text) for text in warnings]


@dataclass(frozen=True, slots=True)
class Texts:
    """Rendered texts by `chart/templates/file`; warnings: those that Helm logged, as
    lines to be shown."""

    files: Mapping[str, str]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DryRun:
    """The result of an installation that was only simulated.

    notes: what it prints; manifest: what it installs, in Helm's order, hooks and CRDs left out.
    """

    notes: str
    manifest: str


class ChartError(RenderError):
    """A chart is refused for one of its files, or Helm was stopped at one of its templates.

    file: its path in the chart, empty where it is the whole chart.
    """

    def __init__(self, message: str, file: str = "", hint: str | None = None) -> None:
        super().__init__(message, None, hint)
        self.file = file


class HelmStoppedError(RenderError):
    """Helm reached a limit, or crashed; the message is the reason, as part of a sentence."""


class Helm(Protocol):
    """Helm for charts in folders; every method raises RenderError with Helm's text."""

    def check(self, chart: Path) -> None:
        """Raises ChartError for a chart that leads out of its folder, as all others do."""
        ...

    def render(self, chart: Path, values: Body, target: Target) -> Texts:
        """Rendered texts, hooks and the chart's NOTES.txt among them;
        Chart.yaml's kubeVersion is not enforced."""
        ...

    def admit(self, chart: Path, target: Target) -> None:
        """Enforces Chart.yaml's kubeVersion as `dry_run` does, and renders nothing; for a chart
        that names no dependencies."""
        ...

    def crds(self, chart: Path) -> dict[str, str]:
        """The texts below `crds/`, subcharts' among them, by `chart/crds/file`."""
        ...

    def dry_run(self, chart: Path, values: Body, target: Target) -> DryRun:
        """Return what an installation would do; enforces Chart.yaml's kubeVersion."""
        ...

    def lint(self, chart: Path, values: Body, target: Target, schema: bool = True) -> list[Finding]:
        """Return the findings of `helm lint`; schema: whether it looks at values.schema.json."""
        ...
