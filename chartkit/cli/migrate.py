"""`chartkit migrate`: leave ClusterPolicy and the other policies of kyverno.io behind."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import click

from chartkit.cli.options.groups import takes
from chartkit.cli.options.helm import helm_option
from chartkit.cli.options.output import output_option
from chartkit.cli.values import migrate_values
from chartkit.migration.options import InventoryOptions


@click.group()
def migrate() -> None:
    """Migrate policies of kyverno.io to policies.kyverno.io, and values of older charts."""


migrate.add_command(migrate_values, "values")


@migrate.command("plan", short_help="List the policies of kyverno.io, and what to do about each.")
@takes(
    InventoryOptions,
    click.argument("paths", nargs=-1, metavar="PATH…"),
    click.option(
        "-f",
        "--values",
        multiple=True,
        type=click.Path(path_type=Path),
        help="A values file for the charts among the paths; the last one wins; repeatable.",
    ),
    click.option(
        "-n",
        "--namespace",
        "named_namespace",
        help="The namespace that charts are rendered for. Of a cluster, the only namespace to "
        "read. Default: default.",
    ),
    click.option(
        "--release", default="release", show_default=True, help="The charts' release name."
    ),
    click.option("--kube-version", help="The Kubernetes version that charts are rendered for."),
    click.option(
        "--cluster",
        is_flag=True,
        help="Read a live cluster, read-only, instead of PATH. A PATH that --record wrote is read "
        "as a cluster without this option.",
    ),
    click.option(
        "--context", metavar="NAME", help="The kubeconfig's context; the current one if not given."
    ),
    click.option(
        "--record",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Write everything that is read to DIR, to take as PATH without the cluster.",
    ),
    helm_option(),
)
@output_option("text", "markdown", "json")
def plan_migration(options: InventoryOptions, output: str) -> None:
    """List the policies of kyverno.io, which Kyverno 1.20's chart refuses, and what to do about
    each rule. PATH is a manifest, a folder, a chart, - (stdin), or a recording of a cluster;
    --cluster reads a live one.

    Exits 1 if there is any, or if something of a cluster cannot be read, 2 for files that cannot be
    read, Helm code outside charts, and policies that Kyverno refuses.
    """
    from chartkit.migration.inventory import read_inventory
    from chartkit.migration.plan import make_plan
    from chartkit.migration.plan_report import FORMATS

    stderr = partial(click.echo, err=True)
    inventory = read_inventory(options, sys.stdin, lambda note: stderr(str(note)))
    plan = make_plan(inventory)
    click.echo(FORMATS[output](plan), nl=False)
    for fault in plan.faults:
        stderr(str(fault))
    raise SystemExit(plan.exit_code)
