"""Finds the template at which Helm was stopped.

Helm runs templates in an order of its own: a call that fails at the start of one of them has run
all before it. The template that runs for too long is the last one whose start is reached.

Source: Helm, pkg/engine/engine.go, sortTemplates.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from chartkit.errors import RenderError
from chartkit.helm.model import HelmStoppedError, Target, Texts
from chartkit.helm.sandbox.limits import Limits
from chartkit.model import Body

_LIMITS: Final = Limits(seconds=5, cpu_seconds=2)
"""The most that a call may take that looks for a template, unless Helm has less."""
_MARK: Final = "chartkit reached this template"
_FAIL: Final = f'{{{{- fail "{_MARK}" -}}}}'
_TEMPLATES: Final = "templates"


class Renderer(Protocol):
    """The part of Helm that renders."""

    def within(self, limits: Limits) -> Renderer:
        """The same with other limits."""
        ...

    def render(self, chart: Path, values: Body, target: Target) -> Texts:
        """Raises RenderError where a template fails."""
        ...


@dataclass(frozen=True, slots=True)
class Probe:
    """The work of Helm when it was stopped; chart: a copy that may be copied again."""

    renderer: Renderer
    chart: Path
    values: Body
    target: Target


def stopped_at(probe: Probe) -> str:
    """The path of the template in the chart, empty where it cannot be told."""
    templates = _in_order(probe.chart)
    reached, unreached = -1, len(templates)
    while unreached - reached > 1:
        middle = (reached + unreached) // 2
        if _reaches(probe, templates[middle]):
            reached = middle
        else:
            unreached = middle
    # The next one may be part of a subchart that is off: then this one comes to its end.
    if reached < 0 or _reaches(probe, templates[reached], end=True):
        return ""
    return templates[reached]


def _in_order(chart: Path) -> list[str]:
    """The templates that Helm runs, in its order: those farther below first, backwards by name.

    Those of packed subcharts are missing.
    """
    files = (file for file in chart.rglob("*") if file.is_file())
    names = (file.relative_to(chart).as_posix() for file in files)
    templates = [name for name in names if _is_template(name)]
    return sorted(templates, key=lambda name: (name.count("/"), name), reverse=True)


def _is_template(name: str) -> bool:
    *folders, file = name.split("/")
    while folders[:1] == ["charts"]:
        folders = folders[2:]
    return folders[:1] == [_TEMPLATES] and not file.startswith("_")


def _reaches(probe: Probe, template: str, end: bool = False) -> bool:
    """Render a copy of the chart that fails at the start of a template, or at its end, and return
    true where it fails there."""
    with tempfile.TemporaryDirectory(dir=probe.chart.parent) as parent:
        copy = Path(shutil.copytree(probe.chart, Path(parent) / probe.chart.name))
        file = copy / template
        text, mark = file.read_bytes(), _FAIL.encode()
        file.write_bytes(text + mark if end else mark + text)
        try:
            probe.renderer.within(_LIMITS).render(copy, probe.values, probe.target)
        except HelmStoppedError:
            return False
        except RenderError as error:
            return _MARK in error.message
    return False
