"""`chartkit serve`: answer an API server's admission reviews; `chartkit estimate`: the load that
policies put on a cluster."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from chartkit.cli.options import (
    Choice,
    context_option,
    environment_option,
    number_option,
    policies_from_option,
    project_environment,
    project_option,
    takes,
)
from chartkit.cli.options.output import Notes, OutputOptions, reports, show
from chartkit.cli.options.request import takes_request
from chartkit.errors import InputError

if TYPE_CHECKING:
    from chartkit.addons.serve.admission.judge import Source
    from chartkit.addons.serve.serving import ListenOptions
    from chartkit.scan.requests import RequestOptions


LISTEN_OPTIONS: Final = (
    policies_from_option(
        "Take the policies, exceptions, namespaces and roles of the live cluster, which is "
        "watched, or of a recording of one."
    ),
    click.option(
        "--host", default="127.0.0.1", show_default=True, help="The address to listen at."
    ),
    number_option("--port", (1, 65535), 9443, "The port to listen at."),
    number_option("--workers", (1, 64), 1, "The number of processes that judge."),
    click.option(
        "--tls-cert",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="The server's certificate with its chain (PEM), in place of one that is made.",
    ),
    click.option(
        "--tls-key",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="The key of --tls-cert (PEM).",
    ),
    click.option(
        "--tls-ca",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="The authority of --tls-cert for webhook configurations (PEM); the certificate "
        "itself if not given.",
    ),
    click.option(
        "--tls-folder",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Where a certificate that is made is kept (ca.crt, tls.crt, tls.key), for the next "
        "start to use it again. Default: nowhere.",
    ),
    click.option(
        "--name",
        "names",
        multiple=True,
        metavar="NAME",
        help="A further name or address that the certificate is made for, such as "
        "chartkit.default.svc; repeatable.",
    ),
    number_option(
        "--max-body",
        (1024, 1 << 28),
        7 << 20,
        "The longest review that is read; a longer one gets status 413.",
        unit="BYTES",
    ),
    number_option(
        "--max-in-flight",
        (1, 100_000),
        1000,
        "The reviews that a worker reads or judges at once; further ones get status 429.",
        unit="N",
    ),
    number_option(
        "--body-timeout",
        (0.1, 60),
        10.0,
        "How long a client may take to send a review, before status 408.",
        unit="SECONDS",
    ),
    number_option(
        "--drain",
        (1.0, 300),
        30.0,
        "How long reviews in flight may take to end after SIGTERM.",
        unit="SECONDS",
    ),
    click.option(
        "--log-level",
        type=Choice(["debug", "info", "warning", "error"]),
        default="info",
        show_default=True,
        help="The least level of log lines; info has every denial, debug every review.",
    ),
    click.option(
        "--reports",
        metavar="cluster|DIR",
        help="Write a PolicyReport for each object with results to the cluster, or to DIR.",
    ),
    click.option(
        "--traces",
        is_flag=True,
        help="Send spans to OpenTelemetry, as OTEL_EXPORTER_OTLP_ENDPOINT and the other variables "
        "of its SDK say.",
    ),
    click.option(
        "--print-webhooks",
        is_flag=True,
        help="Print the webhook configurations for the policies, and end.",
    ),
    click.option(
        "--apply-webhooks",
        is_flag=True,
        help="Write the webhook configurations to the cluster once the server answers, again when "
        "policies change, and delete them before it ends.",
    ),
    click.option(
        "--webhook-url",
        metavar="URL",
        help="Where the API server finds this server. Default: https://HOST:PORT.",
    ),
    click.option(
        "--webhook-service",
        metavar="NAMESPACE/NAME[:PORT]",
        help="The Service through which the API server finds this server, in place of a URL.",
    ),
    click.option(
        "--exclude-namespace",
        "excluded",
        multiple=True,
        default=("kube-system",),
        show_default=True,
        metavar="NAME",
        help="A namespace that webhooks leave out; repeatable.",
    ),
    context_option,
)


@click.command()
@takes_request
@takes("chartkit.addons.serve.serving:ListenOptions", *LISTEN_OPTIONS)
@environment_option
@project_option
def serve(options: RequestOptions, listen: ListenOptions, env: str | None, path: Path) -> None:
    """Answer the admission reviews of an API server over HTTPS, as Kyverno does: /validate and
    /mutate, for development clusters and
    tests. PATH: objects that policies see, such as
    Namespaces; files are read again when they change.

    Ends with SIGTERM or Ctrl-C.
    """
    from chartkit.addons.serve.admission.server import require_server
    from chartkit.addons.serve.admission.telemetry import require_spans
    from chartkit.addons.serve.serving import run

    given = {
        "--userinfo": (options.world.userinfo, "a review names its user"),
        "--api-defaults": (options.inputs.api_defaults, "an API server has set them"),
        "PATH -": ("-" in options.inputs.paths, "files are read again when they change"),
    }
    for name, (value, reason) in given.items():
        if value:
            raise InputError(f"{name} has no meaning for serve: {reason}")
    if not listen.print_webhooks:
        require_server()
    if listen.server.traces:
        require_spans()
    run(listen, _source(options, listen, env, path), partial(click.echo, nl=False))


def _source(
    options: RequestOptions, listen: ListenOptions, env: str | None, path: Path
) -> Callable[[], Source]:
    """A maker of the source of policies; InputError for options that exclude each other."""
    from chartkit.addons.serve.serving import ClusterPolicies, FileSource
    from chartkit.scan.cluster_source import LIVE, ClusterSource, recorded

    given = listen.policies_from
    if given is not None:
        options.policies.require_none_named("--policies-from")
        if env is not None:
            raise InputError("--policies-from and --env do not go together", hint="leave one out")
        source = ClusterSource(listen.context) if given == LIVE else recorded(given)
        return partial(ClusterPolicies, options, source)
    if env is None:
        return partial(FileSource, options)
    options.policies.require_none_named()
    return partial(FileSource, options, partial(project_environment, path, env))


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
    from chartkit.addons.serve.estimate import estimate as estimated
    from chartkit.addons.serve.estimate import open_input
    from chartkit.addons.serve.estimate.report import report
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
        load = estimated(given)
    show(report(load), output)
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
