"""`chartkit install` and `chartkit uninstall`: manage an environment in a live cluster."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from chartkit.cli import boundary
from chartkit.cli.options import context_option, helm_option, number_option, project_option

if TYPE_CHECKING:
    from chartkit.addons.operate.install.releases import Releases
    from chartkit.addons.operate.install.run import Tools
    from chartkit.network.cluster.client import Cluster


def _options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of both commands."""
    for option in (
        click.option(
            "--yes",
            is_flag=True,
            help="Carry out the plan; without this option it is only printed.",
        ),
        number_option(
            "--timeout", (1, 7200), 300, "The time limit of each step that waits.", unit="SECONDS"
        ),
        project_option,
        helm_option(),
        context_option,
        click.argument("environment", metavar="ENV"),
    ):
        command = option(command)
    return command


@click.command()
@number_option(
    "--stale-after",
    (0, 7200),
    60,
    "The age at which an unfinished run of chartkit counts as interrupted and is repaired.",
    unit="SECONDS",
)
@click.option(
    "--allow-drift",
    is_flag=True,
    help="Install the charts as they are on disk, even if chartkit.yaml has changed since.",
)
@click.option(
    "--force-conflicts",
    is_flag=True,
    help="Take over fields that another program owns, such as `helm` run by hand.",
)
@click.option(
    "--take-ownership",
    is_flag=True,
    help="Take over objects that are there already, such as adopted policies.",
)
@_options
def install(
    environment: str,
    context: str | None,
    path: Path,
    timeout: int,
    yes: bool,
    stale_after: int,
    allow_drift: bool,
    force_conflicts: bool,
    take_ownership: bool,
) -> None:
    """Install or upgrade Kyverno and the policies of ENV in a cluster, and wait until they work.

    Prints the plan, and carries it out with --yes; it is safe to repeat. Exits 1 where the pair of
    versions is not supported, the charts have drifted or a step fails.
    """
    from chartkit.addons.operate.install import run
    from chartkit.addons.operate.install.plan import plan, plan_text
    from chartkit.project.project import read_project

    project = read_project(path)
    chosen = project.environment(environment)
    cluster, releases = connected(context, timeout, force_conflicts, take_ownership)
    planned = plan(project, chosen, cluster, releases, allow_drift)
    click.echo(plan_text(planned), nl=False)
    if planned.refusals:
        raise SystemExit(1)
    if not yes:
        click.echo("nothing was done: --yes does it" if planned.needed else "nothing is to be done")
        return
    force = force_conflicts or take_ownership
    _carry_out(partial(run.install, planned), cluster, releases, timeout, stale_after, force)
    click.echo(run.running_text(planned, cluster), nl=False)


@click.command()
@click.option(
    "--crds",
    is_flag=True,
    help="Remove the CRDs as well, and with them every policy, exception and report.",
)
@_options
def uninstall(
    environment: str, context: str | None, path: Path, timeout: int, yes: bool, crds: bool
) -> None:
    """Remove the policies and Kyverno of ENV from a cluster, and all their webhooks.

    Prints what is removed, and removes it with --yes; it is safe to repeat. Custom resource
    definitions stay without --crds. Exits 1 where a step fails.
    """
    from chartkit.addons.operate.install import run
    from chartkit.project.project import read_project

    chosen = read_project(path).environment(environment)
    cluster, releases = connected(context, timeout)
    removed = run.removal(chosen.name, chosen.engine, cluster, releases, crds)
    click.echo(run.removal_text(removed), nl=False)
    if not removed.needed or not yes:
        click.echo("nothing was done: --yes does it" if removed.needed else "nothing is to be done")
        return
    _carry_out(partial(run.uninstall, removed, chosen.engine), cluster, releases, timeout)


def connected(
    context: str | None, timeout: int, force_conflicts: bool = False, take_ownership: bool = False
) -> tuple[Cluster, Releases]:
    from chartkit.addons.operate.install.releases import Releases
    from chartkit.charts.engine.chart import NAMESPACE
    from chartkit.network.cluster.client import connect

    cluster = connect(context)
    return cluster, Releases(cluster, NAMESPACE, timeout, force_conflicts, take_ownership)


def _carry_out(
    act: Callable[[Tools], None],
    cluster: Cluster,
    releases: Releases,
    timeout: int,
    stale: float = 0,
    force: bool = False,
) -> None:
    from chartkit.addons.operate.install.run import Tools, failure_lines
    from chartkit.addons.operate.install.verify import Waiter
    from chartkit.network.cluster.source import CutShortError

    say: Callable[[str], Any] = partial(click.echo)
    try:
        context = click.get_current_context()
        given = ["chartkit", str(context.info_name), context.params["environment"]]
        for option in context.command.params:
            value = context.params.get(option.name or "")
            if isinstance(option, click.Option) and value not in (None, False, option.default):
                given += [option.opts[0]] if option.is_flag else [option.opts[0], str(value)]
        act(
            Tools(cluster, releases, Waiter(cluster, timeout), say, stale, shlex.join(given), force)
        )
    except CutShortError as error:
        for line in failure_lines(error):
            click.echo(line, err=True)
        raise SystemExit(
            error.exit_code if error.by is None else boundary.exit_code(error.by)
        ) from None
