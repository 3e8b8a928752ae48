"""The subject of the checks: one environment with its charts and workloads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chartkit.charts.names import ENGINE, POLICIES, REPORTER
from chartkit.library.profiles import Resolved
from chartkit.project.project import Environment, Project, Workload
from chartkit.render.chart import Chart

ALL = "all"
"""The environment column of rows that are about every environment."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One environment to check.

    engine: None where the project does not install Kyverno there; resolved: the environment's
    policies and their settings, None where they are upstream's; others: further vendored charts.
    """

    project: Project
    environment: Environment
    policies: Chart
    engine: Chart | None
    others: tuple[Chart, ...]
    workloads: tuple[Workload, ...]
    resolved: Resolved | None

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
    resolved: Resolved | None,
) -> Subject:
    """Gather what belongs to an environment; workloads: further ones, from the command line."""
    own = {chart.name: chart for chart in charts if chart.environment is environment}
    others = tuple(own[name] for name in (REPORTER,) if name in own)
    scanned = (*environment.workloads, *workloads)
    return Subject(project, environment, own[POLICIES], own.get(ENGINE), others, scanned, resolved)
