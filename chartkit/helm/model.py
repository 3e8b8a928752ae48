"""The questions that chartkit asks of Helm, and the answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from chartkit.errors import RenderError


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
