"""`chartkit scan`: what Kyverno would say of manifests, folders and charts."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from chartkit.errors import InputError
from chartkit.model import Json, Resource, RuleResult, Status


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option(
    "-p",
    "--policies",
    "sources",
    multiple=True,
    default=("pss-restricted",),
    show_default=True,
    metavar="PATH|PROFILE",
    help="A policy file, a folder with policies, a chart or a profile; repeatable.",
)
@click.option(
    "--param",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter of the profile's policies (NAME or POLICY.NAME); repeatable.",
)
@click.option(
    "-f",
    "--values",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A values file for the charts among the paths; repeatable, the last wins.",
)
@click.option(
    "-n", "--namespace", default="default", show_default=True, help="The charts' namespace."
)
@click.option("--release", default="release", show_default=True, help="The charts' release name.")
@click.option("--kube-version", help="The Kubernetes version that charts are rendered for.")
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    default=("text",),
    metavar="FORMAT[=FILE]",
    help="text, json or policyreport; repeatable; without =FILE to standard output.",
)
@click.option("--detailed", is_flag=True, help="Show passes and skips too.")
@click.option(
    "--audit-warn", is_flag=True, help="Failures of policies that only audit are warnings."
)
def scan(
    paths: Sequence[str],
    sources: Sequence[str],
    parameters: Sequence[str],
    outputs: Sequence[str],
    detailed: bool,
    audit_warn: bool,
    **chart: Any,
) -> None:
    """Say what Kyverno would say of the objects at PATH: manifests, folders, charts, or - (stdin).

    Exits 1 where anything fails, is in error, or a policy cannot be compiled.
    """
    from chartkit.report import ReportOptions
    from chartkit.report.outputs import Output, Outputs
    from chartkit.scan.inputs import ChartOptions, read_inputs
    from chartkit.scan.policies import load_policies
    from chartkit.scan.run import namespace_labels, run_scan

    wanted = [Output.parse(text) for text in outputs]
    policies = load_policies(sources, parse_parameters(parameters))
    for diagnostic in policies.diagnostics:
        click.echo(str(diagnostic), err=True)
    found = read_inputs(paths, sys.stdin, ChartOptions(**_chart_options(chart)))
    namespaces = namespace_labels(found)
    options = ReportOptions(policies.facts(namespaces), detailed, colour=sys.stdout.isatty())
    reports = Outputs(wanted, options, sys.stdout)
    with _progress(len(found)) as step:

        def sink(resource: Resource, results: Sequence[RuleResult]) -> None:
            reports.add(resource, results)
            step()

        counts = run_scan(policies.policies, found, sink, namespaces, audit_warn=audit_warn)
    reports.finish(counts)
    raise SystemExit(_exit_code(counts, bool(policies.diagnostics)))


def parse_parameters(texts: Sequence[str]) -> dict[str, Json]:
    """`NAME=VALUE` pairs, the value read as YAML; raises InputError for anything else."""
    from chartkit.documents import parse_yaml

    parameters: dict[str, Json] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise InputError(f"--param '{text}' is not NAME=VALUE")
        parameters[name] = parse_yaml(value)
    return parameters


def _chart_options(given: dict[str, Any]) -> dict[str, Any]:
    return {**given, "values": tuple(given["values"])}


def _exit_code(counts: Counter[Status], broken: bool) -> int:
    return 1 if counts[Status.FAIL] or counts[Status.ERROR] or broken else 0


@contextmanager
def _progress(total: int) -> Iterator[Any]:
    """A progress bar on a terminal (standard error); silent elsewhere and for short work."""
    if total < 500 or not sys.stderr.isatty():
        yield lambda: None
        return
    with click.progressbar(length=total, label="scanning", file=sys.stderr) as bar:
        yield lambda: bar.update(1)
