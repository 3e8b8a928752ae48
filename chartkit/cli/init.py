"""`chartkit init`: start a project."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from chartkit.cli.options import Choice


@click.command()
@click.argument("folder", required=False, type=click.Path(path_type=Path), default=Path())
@click.option(
    "--profile",
    "profiles",
    multiple=True,
    default=("pss-restricted",),
    show_default=True,
    help="A built-in profile; repeatable.",
)
@click.option("--kubernetes", metavar="VERSION", help="The clusters' version, such as 1.34.")
@click.option("--eks", metavar="VERSION", help="The clusters' version, where they are on EKS.")
@click.option(
    "--monitoring",
    type=Choice(["prometheus-operator", "nodeport", "loadbalancer"]),
    help="How Prometheus comes to the metrics of all controllers.",
)
def init(
    folder: Path,
    profiles: Sequence[str],
    kubernetes: str | None,
    eks: str | None,
    monitoring: str | None,
) -> None:
    """Write chartkit.yaml and a first workload to FOLDER (the current one if not given).

    Nothing is overwritten: exits 2 where a file is there already, and for a cluster that the
    engine chart's Kyverno does not support.
    """
    from chartkit.charts.new_project import project_files, write_project
    from chartkit.errors import InputError
    from chartkit.kyverno import matrix as compat
    from chartkit.kyverno import releases
    from chartkit.kyverno.releases import today
    from chartkit.kyverno.versions import parse_version
    from chartkit.project.monitoring import Mode

    if kubernetes is not None and eks is not None:
        raise click.UsageError("give --kubernetes or --eks, not both")
    given = eks if eks is not None else kubernetes
    kyverno = releases.current().version
    supported = compat.compatibility(kyverno)
    cluster = parse_version(given, "Kubernetes") if given is not None else supported.newest
    verdict = compat.judge(kyverno, cluster, today())
    if not verdict.supported:
        diagnostic = compat.diagnostics(verdict, None)[0]
        raise InputError(diagnostic.message, hint=diagnostic.hint)
    mode = Mode(monitoring) if monitoring is not None else None
    files = project_files(profiles, cluster, eks is not None, mode)
    for file in write_project(folder, files):
        click.echo(f"wrote {file}")
    click.echo("next: chartkit render")
