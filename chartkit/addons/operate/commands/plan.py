"""`chartkit plan`: the order in which to upgrade Kyverno and Kubernetes, and its rehearsal."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from chartkit.addons.migrate.command import INVENTORY_OPTIONS
from chartkit.addons.migrate.options import InventoryOptions
from chartkit.cli.options import Choice, matrix_option, project_option, takes
from chartkit.cli.options.output import OutputOptions, reports, show
from chartkit.cli.terminal import progress
from chartkit.errors import InputError
from chartkit.scan.gate import Threshold

if TYPE_CHECKING:
    from chartkit.addons.operate.rehearsal import Values
    from chartkit.addons.operate.upgrade import Pair
    from chartkit.kyverno.releases import ReleaseData
    from chartkit.kyverno.versions import Release

_ENDS = "KYVERNO/KUBERNETES"


@click.command()
@click.argument("environment", required=False)
@click.option("--from", "start", metavar=_ENDS, help="As 1.12/1.27.")
@click.option(
    "--to",
    "target",
    metavar="KYVERNO[/KUBERNETES]",
    help="As 1.18/1.34. For an environment the release that chartkit installs, if not given.",
)
@click.option("--skip-minors", is_flag=True, help="Let a step of Kyverno skip minor versions.")
@click.option("--eks", is_flag=True, help="Show when EKS ends its support of each cluster version.")
@project_option
@matrix_option
@takes(
    InventoryOptions,
    click.option(
        "--rehearse",
        "paths",
        multiple=True,
        metavar="PATH",
        help="Ask what each step changes of these objects: manifests, a folder, a chart, - (stdin) "
        "or a recording of a cluster; repeatable.",
    ),
    *INVENTORY_OPTIONS,
)
@click.option(
    "--fail-on",
    type=Choice([str(level) for level in Threshold]),
    help="The least severity of what a rehearsal finds that makes it exit 1. Default: all.",
)
@reports()
def plan(
    inputs: InventoryOptions,
    options: OutputOptions,
    environment: str | None,
    start: str | None,
    target: str | None,
    skip_minors: bool,
    eks: bool,
    path: Path,
    matrix: Path | None,
    fail_on: str | None,
) -> None:
    """Print the shortest order of upgrades in which every step is a supported pair.

    It starts from an ENVIRONMENT of the project, or from a pair (--from).
    Kubernetes is upgraded by one minor version at a time, and so is Kyverno without --skip-minors.
    Each step of Kyverno names the release, the version of its Helm chart, and what it changes.
    --rehearse PATH, or --cluster, asks every change and known fault of these objects instead, and
    names those that one concerns, with what to do first; also for a Kyverno that is announced.
    Exits 1 where there is no such order or the rehearsal finds something, 2 for a version that is
    not known and for input that cannot be read.
    """
    from chartkit.addons.operate.upgrade import Plan, report, shortest
    from chartkit.kyverno.releases import today

    options.parsed()
    first, release, data, values = _start(environment, start, path, matrix)
    last = _target(target, first, environment, data)
    route = shortest(first, last, skip_minors, data)
    shortcut = None
    if not route.exists and not skip_minors:
        skipping = shortest(first, last, skip_minors=True, data=data)
        shortcut = len(skipping.steps) if skipping.exists else None
    if inputs.paths or inputs.cluster:
        from chartkit.addons.operate.rehearsal import rehearse, steps_between
        from chartkit.addons.operate.rehearsal.report import report as rehearsal_report

        stderr, converting = partial(click.echo, err=True), partial(progress, "converting")
        steps = steps_between(first.kyverno, release, last.kyverno, data)
        running = f"{first.kyverno}/{first.kubernetes}"
        rehearsal = rehearse(
            environment or "", running, steps, values, inputs, sys.stdin, stderr, converting
        )
        show(rehearsal_report(rehearsal), options)
        for fault in rehearsal.faults:
            stderr(fault)
        raise SystemExit(rehearsal.exit_code(fail_on))
    if fail_on or inputs.values or inputs.context or inputs.record:
        message = "--fail-on, -f, --context and --record are for a rehearsal"
        raise InputError(message, hint="add --rehearse PATH or --cluster")
    show(report(Plan(first, last, route, shortcut, eks, today(), release, data)), options)
    raise SystemExit(0 if route.exists else 1)


def _start(
    environment: str | None, start: str | None, path: Path, matrix: Path | None
) -> tuple[Pair, Release | None, ReleaseData, Values]:
    """Return the pair that a plan starts from, Kyverno's release in it, what is known, and the
    values of the environment's engine."""
    from chartkit.addons.operate.rehearsal import environment_values
    from chartkit.addons.operate.upgrade import Pair, parse_pair
    from chartkit.kyverno.releases import read_matrix
    from chartkit.kyverno.versions import parse_release
    from chartkit.project.project import read_project

    if (environment is None) == (start is None):
        given = "both an environment and --from" if start else "neither an environment nor --from"
        hint = f"name an environment of the project, or write --from {_ENDS}"
        raise InputError(f"there is {given}", None, hint)
    if start is not None:
        release = parse_release(start.partition("/")[0])
        return parse_pair(start), release, read_matrix(matrix), ()
    project = read_project(path)
    chosen = project.environment(environment or "")
    pair = Pair(chosen.kyverno, chosen.kubernetes)
    values = environment_values(project, chosen)
    return pair, chosen.release, read_matrix(matrix, chosen.versions), values


def _target(target: str | None, first: Pair, environment: str | None, data: ReleaseData) -> Pair:
    """Return the pair that a plan leads to. Without Kubernetes in it: the oldest cluster that this
    Kyverno supports and that is no older than the first; without a target the Kyverno that chartkit
    installs, for an environment."""
    from chartkit.addons.operate.upgrade import Pair, parse_pair
    from chartkit.kyverno.matrix import matrix
    from chartkit.kyverno.releases import current
    from chartkit.kyverno.versions import parse_version

    if target is not None and "/" in target:
        return parse_pair(target)
    if target is not None:
        kyverno = parse_version(target, "Kyverno")
    elif environment is None:
        raise InputError("--to is missing", None, f"write --to {_ENDS}")
    else:
        kyverno = max(first.kyverno, current().version)
    row = matrix(data).get(kyverno)
    return Pair(kyverno, first.kubernetes if row is None else max(first.kubernetes, row.oldest))
