"""`chartkit plan`: the order in which to upgrade Kyverno and Kubernetes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from chartkit.cli.options.output import OutputOptions, reports, show
from chartkit.cli.options.project import matrix_option, project_option
from chartkit.errors import InputError

if TYPE_CHECKING:
    from chartkit.kyverno.releases import ReleaseData
    from chartkit.kyverno.upgrade import Pair
    from chartkit.kyverno.versions import Release

_ENDS = "KYVERNO/KUBERNETES"


@click.command()
@click.argument("environment", required=False)
@click.option("--from", "start", metavar=_ENDS, help="As 1.12/1.27.")
@click.option(
    "--to",
    "target",
    metavar=_ENDS,
    help="As 1.18/1.34. For an environment the release that chartkit installs, if not given.",
)
@click.option("--skip-minors", is_flag=True, help="Let a step of Kyverno skip minor versions.")
@click.option("--eks", is_flag=True, help="Show when EKS ends its support of each cluster version.")
@project_option
@matrix_option
@reports()
def plan(
    options: OutputOptions,
    environment: str | None,
    start: str | None,
    target: str | None,
    skip_minors: bool,
    eks: bool,
    path: Path,
    matrix: Path | None,
) -> None:
    """Print the shortest order of upgrades in which every step is a supported pair.

    It starts from an ENVIRONMENT of the project, or from a pair (--from).
    Kubernetes is upgraded by one minor version at a time, and so is Kyverno without --skip-minors.
    Each step of Kyverno names the release, the version of its Helm chart, and what it changes.
    Exits 1 where there is no such order, 2 for a version that is not known.
    """
    from datetime import date

    from chartkit.kyverno.upgrade import Plan, parse_pair, report, shortest

    options.parsed()
    first, release, data = _start(environment, start, path, matrix)
    last = parse_pair(target) if target is not None else _newest(first, environment, data)
    route = shortest(first, last, skip_minors, data)
    shortcut = None
    if not route.exists and not skip_minors:
        skipping = shortest(first, last, skip_minors=True, data=data)
        shortcut = len(skipping.steps) if skipping.exists else None
    found = Plan(first, last, route, shortcut, eks, date.today(), release, data)
    show(report(found), options)
    raise SystemExit(0 if route.exists else 1)


def _start(
    environment: str | None, start: str | None, path: Path, matrix: Path | None
) -> tuple[Pair, Release | None, ReleaseData]:
    """Return the pair that a plan starts from, Kyverno's release in it, and what is known."""
    from chartkit.kyverno.added_releases import read_matrix
    from chartkit.kyverno.upgrade import Pair, parse_pair
    from chartkit.kyverno.versions import parse_release
    from chartkit.project.project import read_project

    if (environment is None) == (start is None):
        given = "both an environment and --from" if start else "neither an environment nor --from"
        hint = f"name an environment of the project, or write --from {_ENDS}"
        raise InputError(f"there is {given}", None, hint)
    if start is not None:
        release = parse_release(start.partition("/")[0])
        return parse_pair(start), release, read_matrix(matrix)
    chosen = read_project(path).environment(environment or "")
    pair = Pair(chosen.kyverno, chosen.kubernetes)
    return pair, chosen.release, read_matrix(matrix, chosen.versions)


def _newest(first: Pair, environment: str | None, data: ReleaseData) -> Pair:
    """Return the pair that an environment's plan leads to: the Kyverno that chartkit installs, on
    the oldest cluster that it supports and that is no older than the environment's."""
    from chartkit.kyverno.matrix import compatibility
    from chartkit.kyverno.releases import current
    from chartkit.kyverno.upgrade import Pair

    if environment is None:
        raise InputError("--to is missing", None, f"write --to {_ENDS}")
    kyverno = max(first.kyverno, current().version)
    oldest = compatibility(kyverno, None, data).oldest
    return Pair(kyverno, max(first.kubernetes, oldest))
