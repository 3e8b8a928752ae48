"""`chartkit render`: write the charts and check every environment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from chartkit.cli.options import Choice, cache_option, helm_option, jobs_option, project_option
from chartkit.cli.options.output import OutputOptions, reports, show
from chartkit.cli.terminal import track
from chartkit.model import Body

if TYPE_CHECKING:
    from chartkit.render.model import RenderResult
    from chartkit.report.command_report import Block, CommandReport


@click.command()
@project_option
@click.argument("environments", nargs=-1, metavar="[ENV…]")
@click.option("--check", is_flag=True, help="Write nothing; fail if the charts have drifted.")
@click.option("--diff", is_flag=True, help="Print the difference that --check finds.")
@click.option(
    "--workloads",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A manifest, folder or chart to scan in addition to those of chartkit.yaml; repeatable.",
)
@click.option(
    "--prefer",
    type=Choice(["edits", "generated"]),
    help="Which side wins if a values file was edited and its generated values have changed.",
)
@click.option(
    "--kustomize",
    is_flag=True,
    help="Write kustomize/ too: each chart as a base, and an overlay for each environment.",
)
@click.option(
    "--gitops",
    multiple=True,
    type=Choice(["argocd", "flux", "helmfile", "terraform"]),
    help="Write gitops/NAME/ too: the charts of all environments as this deployer installs them.",
)
@click.option(
    "--repository",
    metavar="URL",
    help="The git repository that Argo CD or Flux reads; the first of `sources` if not given.",
)
@click.option("--revision", metavar="REV", help="Its branch; main if not given.")
@click.option(
    "--update-baseline",
    is_flag=True,
    help="Write the violations of the workloads to each environment's baseline; reasons, ends "
    "and comments stay.",
)
@cache_option
@jobs_option("run Helm")
@click.option("-v", "--verbose", is_flag=True, help="Show every row, passed checks as well.")
@click.option("-q", "--quiet", is_flag=True, help="Show only what fails.")
@helm_option()
@reports()
def render(
    outputs: OutputOptions,
    path: Path,
    *,
    environments: Sequence[str],
    check: bool,
    diff: bool,
    verbose: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Write both charts and the manifests, and check every environment (or those named ENV).

    A failed check writes nothing. Exits 1 if a check fails or --check finds a difference, 2 if
    a workload cannot be read.
    """
    from chartkit import api
    from chartkit.documents.unread import EXIT_CODE, UNREAD

    if given["kustomize"] and environments:
        message = "--kustomize needs all environments, which share one base: name no ENV"
        raise click.UsageError(message)
    if diff and not check:
        raise click.UsageError("--diff prints what --check finds: give both")
    if verbose and quiet:
        raise click.UsageError("--verbose and --quiet exclude each other")
    if check and given["update_baseline"]:
        raise click.UsageError("--check writes nothing, and --update-baseline does")
    outputs.parsed()
    result = api.render(path, environments, write=not check, track=track("checking"), **given)
    show(_report(result, check, verbose, quiet, diff), outputs)
    is_unread = any(row.check == UNREAD for row in result.rows)
    raise SystemExit(EXIT_CODE if is_unread else int(result.failed))


def _report(
    result: RenderResult, check: bool, verbose: bool, quiet: bool = False, diff: bool = False
) -> CommandReport:
    from chartkit.render import summary
    from chartkit.report.command_report import CommandReport

    return CommandReport(
        text=lambda width: chain(
            summary.blocks(result.rows, width, verbose, quiet), _end(result, check, diff)
        ),
        value=lambda: _body(result),
        rows="rows",
        findings=lambda: summary.findings(result.rows),
    )


def _body(result: RenderResult) -> Body:
    from chartkit.render import summary

    written = [str(folder) for folder in result.written]
    return {**summary.as_json(result.rows), "drift": result.drift, "written": written}


def _end(result: RenderResult, check: bool, diff: bool) -> Iterator[Block]:
    from chartkit.report.command_report import Code

    if check and not result.drift:
        yield "the charts have not drifted"
    elif check and diff:
        yield Code(["", result.drift, "the charts have drifted: run `chartkit render`"])
    elif check:
        yield "the charts have drifted: run `chartkit render` (--diff shows the difference)"
    elif result.failed:
        yield "nothing was written"
    elif not result.written:
        yield "nothing has changed"
    else:
        yield from (f"wrote {folder}" for folder in result.written)
        yield "next: commit them, and `chartkit install ENV` or `helm install`"
