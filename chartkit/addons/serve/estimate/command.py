"""`chartkit estimate`: the load that policies put on a cluster."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from chartkit.cli.options import (
    context_option,
    environment_option,
    number_option,
    project_environment,
    project_option,
)
from chartkit.cli.options.output import Notes, OutputOptions, reports, show
from chartkit.cli.options.request import takes_request
from chartkit.errors import InputError

if TYPE_CHECKING:
    from chartkit.scan.requests import RequestOptions


@click.command()
@takes_request
@click.option("--cluster", is_flag=True, help="Count the objects of a live cluster, read-only.")
@context_option
@number_option(
    "--nodes",
    (1, 100_000),
    None,
    "The nodes of the cluster, for DaemonSets; those among the objects if not given.",
    unit="N",
)
@environment_option
@project_option
@reports()
def estimate(
    options: RequestOptions,
    output: OutputOptions,
    cluster: bool,
    context: str | None,
    nodes: int | None,
    env: str | None,
    path: Path,
) -> None:
    """Estimate the load of policies on a cluster with the objects at PATH: AdmissionReviews,
    PolicyReports, etcd and memory.

    Without PATH the objects are the workloads of --env. The engine counts requests and
    reports; etcd and memory follow from upstream's measurements. The report says which figures are
    measured, and names the values that reduce the load.

    Exits 1 if something of a cluster cannot be read, or if a policy cannot be compiled.
    """
    from chartkit.addons.serve.estimate.report import report
    from chartkit.addons.serve.estimate.run import estimate as estimated
    from chartkit.addons.serve.estimate.run import open_input
    from chartkit.scan.cluster_source import ClusterSource

    output.parsed()
    notes = Notes()
    if context is not None and not cluster:
        raise InputError("--context needs --cluster")
    environment = None
    if env is not None:
        options.policies.require_none_named()
        environment = project_environment(path, env)
        if not options.inputs.paths and not cluster:
            inputs = replace(options.inputs, paths=_workloads(path, env))
            options = replace(options, inputs=inputs)
    live = ClusterSource(context, namespace=options.inputs.only_namespace) if cluster else None
    with open_input(options, live, environment, nodes, sys.stdin, notes) as (given, unread):
        found = estimated(given)
    show(report(found), output)
    for line in unread:
        click.echo(line, err=True)
    raise SystemExit(notes.exit_code(bool(unread or given.policies.diagnostics)))


def _workloads(path: Path, env: str) -> tuple[str, ...]:
    """Return the paths of an environment's workloads."""
    from chartkit.project.project import read_project

    workloads = read_project(path).environment(env).workloads
    if not workloads:
        raise InputError(f"environment '{env}' has no workloads", hint="name PATHs, or --cluster")
    return tuple(str(workload.path) for workload in workloads)
