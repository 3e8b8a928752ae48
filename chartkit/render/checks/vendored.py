"""Vendored charts, and settings of chartkit.yaml that have no effect on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from chartkit.charts.names import ENGINE
from chartkit.charts.upstream.vendored import Vendored, said
from chartkit.project.project import Environment, Project
from chartkit.render.environment import ALL
from chartkit.render.model import Outcome, Row

CHECK = "charts"


def vendored_rows(
    project: Project, taken: Mapping[str, Vendored], environments: Sequence[Environment]
) -> Iterator[Row]:
    """Yield a note for each vendored chart, and a warning for each setting of chartkit.yaml that
    has no effect on it; environments: those to check. Raise InputError."""
    for name, found in taken.items():
        used = name != ENGINE or any(env.engine for env in project.environments.values())
        message = f"{name} {found.chart.version} is upstream's own, from {found.source}"
        if not used:
            message = f"{name} is vendored, and no environment installs it (engine: false)"
        yield Row(ALL, CHECK, Outcome.NOTE, message, found.lock_place)
        for env in environments:
            if used and (env.engine or name != ENGINE):
                for each in said(found, env, project.root).left:
                    yield Row(
                        env.name, CHECK, Outcome.WARNING, each.message, each.location, each.hint
                    )
