"""Upstream's own charts in `vendor/charts/`, which `render` uses in place of ours.

A chart that is there is used: that it is shows in the summary of `render`. `charts/NAME/` is then
upstream's files, owned by chartkit, and values files with what chartkit.yaml says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from chartkit.charts.plan import ENGINE, NAMES, POLICIES, ChartPlan, layered, values_file
from chartkit.charts.upstream.chart_files import VALUES, ChartFiles, plain_version, read_chart
from chartkit.charts.upstream.values import Said, environment_values
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.errors import InputError
from chartkit.kyverno.versions import Version, parse_version
from chartkit.model import Body, Location
from chartkit.network.downloads.lockfile import (
    CHARTS,
    LOCK_FILE,
    VENDOR,
    Lock,
    read_lock,
    require_unchanged,
)
from chartkit.project.environment import Environment

_OF_KYVERNO: Final = (ENGINE, POLICIES)
"""Those whose appVersion is Kyverno's."""


@dataclass(frozen=True, slots=True)
class Vendored:
    """A vendored chart: where it stands, what is locked, and what it is."""

    folder: Path
    lock: Lock
    chart: ChartFiles

    @property
    def name(self) -> str:
        """The chart's name."""
        return self.chart.name

    @property
    def source(self) -> str:
        """Return its source, for people."""
        return self.lock.origin.shown

    @property
    def lock_place(self) -> Location:
        """Return the place of its source in its lock file."""
        return Location(str(self.folder / LOCK_FILE), 1)


def folder_of(root: Path, name: str) -> Path:
    """Return the folder of a vendored chart; root: the project's folder."""
    return root / VENDOR / CHARTS / name


def read_vendored(root: Path) -> Mapping[str, Vendored]:
    """The vendored charts of a project by name; root: its folder.

    Raises InputError for one that is not as its lock file has it, or that is none.
    """
    folder = root / VENDOR / CHARTS
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    names = [each.name for each in found if not each.name.startswith(".")]
    for name in names:
        if name not in NAMES:
            hint = f"remove it; there can be {', '.join(NAMES)}"
            raise InputError("is no chart that is vendored", Location(str(folder / name)), hint)
    ordered = {name: _read(folder / name) for name in NAMES if name in names}
    return MappingProxyType(ordered)


def _read(folder: Path) -> Vendored:
    lock = read_lock(folder)
    require_unchanged(folder)
    chart = read_chart({name: (folder / name).read_bytes() for name in lock.files}, str(folder))
    if (chart.name, chart.version) != (folder.name, plain_version(lock.origin.ref)):
        what = f"is {chart.name} {chart.version}, and was vendored as {folder.name}"
        raise InputError(f"{what} {lock.origin.ref}", Location(str(folder)), "vendor it again")
    return Vendored(folder, lock, chart)


def kyverno_of(chart: ChartFiles, place: Location) -> Version | None:
    """The Kyverno that a chart is for; None where it is for no particular one."""
    if chart.name not in _OF_KYVERNO:
        return None
    return parse_version(chart.app_version, "Kyverno", place)


def require_kyverno(found: Vendored, environment: Environment) -> None:
    """Raises InputError where an environment runs another Kyverno than the chart is for."""
    own = kyverno_of(found.chart, found.lock_place)
    if own is None or own == environment.kyverno:
        return
    verb = "installs" if found.name == ENGINE else "is for"
    what = f"the vendored chart {found.name} {found.chart.version} {verb} Kyverno {own}"
    hint = f'set kyverno: "{own}", or vendor another version of the chart'
    if found.name == ENGINE:
        hint += "; or engine: false where another chart installs Kyverno"
    place = environment.locate("kyverno")
    raise InputError(f"{what}, not {environment.kyverno}", place, hint)


def plan(found: Vendored, environments: Iterable[Environment], root: Path) -> ChartPlan:
    """The chart for these environments; root: the project's folder. Raises InputError."""
    files = {name: text for name, text in found.chart.files.items() if name != VALUES}
    values = {VALUES: found.chart.files.get(VALUES, "")}
    own: dict[str, Body] = {}
    for environment in environments:
        require_kyverno(found, environment)
        own[environment.name] = said(found, environment, root).values
    for environment_name, body in layered(own).items():
        name = values_file(environment_name)
        if name in files:
            what = f"has a file {name} of its own, and the environment needs that name"
            raise InputError(what, Location(str(found.folder)), "rename the environment")
        values[name] = _values_text(found, environment_name, body)
    return ChartPlan(found.name, files, values)


def said(found: Vendored, environment: Environment, root: Path) -> Said:
    """Return the values from chartkit.yaml for the chart of an environment; raises InputError."""
    return environment_values(found.chart, environment, root)


def _values_text(found: Vendored, environment: str, values: Body) -> str:
    head = f"# What chartkit.yaml says of {environment} to upstream's chart {found.name}.\n"
    return head + (dump_yaml(values) if values else "")
