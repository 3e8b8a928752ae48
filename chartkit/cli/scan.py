"""`chartkit scan`: evaluate manifests, folders, charts or a cluster as Kyverno does."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from chartkit.cli.options import (
    Choice,
    SectionedCommand,
    context_option,
    environment_option,
    jobs_option,
    number_option,
    policies_from_option,
    project_environment,
    project_option,
    takes,
)
from chartkit.cli.options.output import formats_option, query_option
from chartkit.cli.options.request import REQUEST_OPTIONS
from chartkit.cli.terminal import progress, screen
from chartkit.scan.gate import Threshold

if TYPE_CHECKING:
    from chartkit.catalog.standards import BuiltInStandards
    from chartkit.report.model import Guidance
    from chartkit.scan.options import ScanOptions

CLUSTER_OPTIONS: Final = (
    click.option(
        "--cluster",
        is_flag=True,
        help="Scan a live cluster, read-only, instead of PATH. A PATH that --record wrote is "
        "scanned as a cluster without this option.",
    ),
    context_option,
    click.option(
        "--cluster-policies",
        is_flag=True,
        help="Evaluate the policies that are installed in the cluster.",
    ),
    click.option(
        "--reports",
        is_flag=True,
        help="Compare the results with the PolicyReports of the cluster, and list the differences.",
    ),
    click.option(
        "--fail-on-differences", is_flag=True, help="Like --reports; exit 1 if anything differs."
    ),
    policies_from_option(
        "Judge PATH by the policies that are installed in the live cluster (see --context) or "
        "in a recording of one, with its exceptions, namespaces and Kyverno's configuration."
    ),
    click.option(
        "--record",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Write everything that is read to DIR, for the same scan to take as PATH without the "
        "cluster. Data of Secrets is left out, except public keys of signers.",
    ),
)
SELECTOR: Final = "[KEY:]PATTERN"
GATE_OPTIONS: Final = (
    click.option(
        "--baseline",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="A file of known violations, which do not fail the run.",
    ),
    click.option(
        "--update-baseline",
        is_flag=True,
        help="Write the violations of this run to the baseline; reasons, ends and comments stay.",
    ),
    click.option(
        "--fail-on-stale",
        is_flag=True,
        help="Exit 1 if the baseline has a violation that no longer occurs.",
    ),
    click.option(
        "--fail-on",
        type=Choice([str(threshold) for threshold in Threshold]),
        help="The least severity of a violation that fails the run. Default: any violation does; "
        "one without a severity always does, except with none.",
    ),
    number_option(
        "--warn-exit-code",
        (0, 255),
        None,
        "The exit code if nothing fails the run and there are warnings, or violations below "
        "--fail-on.",
        unit="N",
    ),
    click.option("--fail-on-nothing", is_flag=True, help="Exit 1 if no policy matched any object."),
    click.option(
        "--select",
        multiple=True,
        metavar=SELECTOR,
        help="Count only these results: a policy, or policy:, rule:, category:, severity:, kind: "
        "or namespace: and a pattern, or a control such as cis:5.2.3; repeatable.",
    ),
    click.option(
        "--skip", multiple=True, metavar=SELECTOR, help="Leave these results out; repeatable."
    ),
    click.option(
        "--suppressions/--no-suppressions",
        default=True,
        help="Whether the annotation chartkit.dev/suppress of an object counts. Default: it does.",
    ),
    click.option(
        "-q",
        "--quiet",
        is_flag=True,
        help="Show only failures and errors; reports in other formats than text stay whole.",
    ),
)


_SECTIONS: Final = {
    "Policies": (
        "--policies --param --policy-type --exceptions --env --project --policies-from --audit-warn"
    ),
    "Objects": (
        "--crds --exclude --json --changed-since --api-defaults --at --set --userinfo "
        "--context-file"
    ),
    "Charts": "--values --namespace --release --kube-version --helm --cache",
    "Cluster": "--cluster --context --cluster-policies --reports --fail-on-differences --record",
    "Registries and network": (
        "--registry --registry-mirror --registry-ca --registry-plain-http --registry-cache "
        "--trusted-root --allow-network --allow-http-in-namespaced-policies"
    ),
    "What fails the run": (
        "--baseline --update-baseline --fail-on-stale --fail-on --warn-exit-code "
        "--fail-on-nothing --select --skip --suppressions"
    ),
    "Reports": "--output --query --detailed --why --quiet --owner-label --playground --report-per "
    "--timings",
    "The run": "--fix --diff --jobs --executor --watch --help",
}
"""The options in the sections of `chartkit scan --help`."""


def _guidance(policies: Collection[str]) -> Mapping[str, Guidance]:
    from chartkit.catalog.standards import guidance

    return guidance(policies)


def _standards() -> BuiltInStandards:
    from chartkit.catalog.standards import BuiltInStandards

    return BuiltInStandards()


@click.command(cls=SectionedCommand, sections=_SECTIONS)
@takes(
    "chartkit.scan.options:ScanOptions",
    *REQUEST_OPTIONS,
    *CLUSTER_OPTIONS,
    *GATE_OPTIONS,
    click.option(
        "--changed-since",
        metavar="REV",
        help="Judge only the objects of files that differ from a revision of the git checkout, or "
        "all where a change may matter to others.",
    ),
    environment_option,
    project_option,
    formats_option(),
    query_option,
    click.option(
        "--owner-label",
        default="",
        metavar="LABEL",
        help="A label of objects, such as team, by whose values -o html counts failures.",
    ),
    click.option(
        "--playground",
        default="",
        metavar="URL",
        help="The address of a playground, which -o html links each failure to.",
    ),
    click.option(
        "--json",
        "is_json",
        is_flag=True,
        help="Take PATH as plain JSON or YAML, for policies of evaluation mode JSON.",
    ),
    click.option(
        "--report-per",
        type=Choice(["namespace", "object"]),
        default="namespace",
        show_default=True,
        help="The scope of each report of policyreport and openreports; object: as Kyverno writes "
        "them, named after the object's UID.",
    ),
    click.option(
        "--detailed",
        is_flag=True,
        help="Show passes and skips as well, every note and field, and kinds that Kyverno will "
        "remove.",
    ),
    click.option(
        "--audit-warn",
        is_flag=True,
        help="Report failures of policies that only audit as warnings.",
    ),
    click.option(
        "--at",
        metavar="TIME",
        help="Show what cleanup policies and TTL labels delete next after TIME (now, a date or "
        "2030-01-31T12:00:00Z).",
    ),
    click.option(
        "--timings",
        is_flag=True,
        help="Show what each policy, rule and context entry took; all is judged in one process.",
    ),
    click.option(
        "--why",
        is_flag=True,
        help="Show the checks behind each result, and the rules that say nothing of an object of "
        "their kinds; all is judged in one process. `chartkit why` asks about one object.",
    ),
    jobs_option("judge objects"),
    click.option(
        "--executor",
        metavar="dask://HOST:PORT",
        help="Have the workers of a Dask cluster judge, to which the files and policies are sent "
        "(extra chartkit[dask]).",
    ),
    click.option(
        "--watch",
        is_flag=True,
        help="Scan again whenever files change: what changed, or all where a change may matter to "
        "others. Ctrl-C ends it.",
    ),
)
@click.option(
    "--fix",
    is_flag=True,
    help="Make the fewest changes with which objects pass, in manifests, values files of charts "
    "and kustomizations, and list what a person decides.",
)
@click.option("--diff", is_flag=True, help="With --fix: print a diff, and write nothing.")
def scan(
    options: ScanOptions, env: str | None, path: Path, watch: bool, fix: bool, diff: bool
) -> None:
    """Evaluate the objects at PATH as Kyverno does: manifests, folders, charts, or - (stdin); or,
    with --cluster, those of a live cluster.

    Exits 1 if anything fails or is in error, if a policy cannot be compiled, or if something of a
    cluster cannot be read.
    """
    from chartkit.addon import port
    from chartkit.errors import InputError
    from chartkit.scan import pipeline
    from chartkit.scan.reporting import Console

    stderr = partial(click.echo, err=True)
    console = Console(
        sys.stdin,
        sys.stdout,
        stderr,
        screen(),
        partial(progress, "scanning"),
        options.gate.quiet,
        _guidance,
        options.outputs.detailed,
    )
    environment = None if env is None else project_environment(path, env)
    if diff and not fix:
        raise InputError("--diff needs --fix")
    if fix and watch:
        raise InputError("--fix and --watch do not go together", hint="leave one of them out")
    fixer = None
    if fix:
        console, fixer = port("satisfy", "fix", "--fix")(options, console, sys.stderr, diff)
    judge = partial(pipeline.scan, options, console, _standards, environment, fixer=fixer)
    if not watch:
        raise SystemExit(judge())
    from chartkit.scan.changes import scan_changes

    raise SystemExit(scan_changes(options, console, environment, lambda past: judge(past)))
