"""`chartkit render`: write the charts and check every environment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from chartkit.cli.options.groups import Choice, cache_option, jobs_option, takes
from chartkit.cli.options.output import OutputOptions, reports, show
from chartkit.cli.options.project import helm_option, project_option
from chartkit.cli.terminal import track
from chartkit.errors import InputError
from chartkit.model import Body, Location

if TYPE_CHECKING:
    from chartkit.project.environment import Environment
    from chartkit.project.project import Project
    from chartkit.render.gitops.checks import Repository
    from chartkit.render.model import RenderResult
    from chartkit.report.blocks import Block
    from chartkit.report.command_report import CommandReport


@dataclass(frozen=True, slots=True, kw_only=True)
class _Arguments:
    """The arguments of `chartkit render` but for those that every command has."""

    environments: Sequence[str]
    check: bool
    diff: bool
    workloads: Sequence[Path]
    prefer: str | None
    kustomize: bool
    gitops: Sequence[str]
    repository: str | None
    revision: str | None
    update_baseline: bool
    cache: bool
    jobs: int

    @property
    def is_cacheable(self) -> bool:
        """True if an earlier run's result may do."""
        return self.cache and not (
            self.update_baseline or self.gitops or self.repository or self.revision
        )


@click.command()
@project_option
@takes(
    _Arguments,
    click.argument("environments", nargs=-1, metavar="[ENV…]"),
    click.option(
        "--check",
        is_flag=True,
        help="Write nothing; fail if the charts have drifted.",
    ),
    click.option("--diff", is_flag=True, help="Print the difference that --check finds."),
    click.option(
        "--workloads",
        multiple=True,
        type=click.Path(path_type=Path),
        help="A manifest, folder or chart to scan in addition to those of chartkit.yaml; "
        "repeatable.",
    ),
    click.option(
        "--prefer",
        type=Choice(["edits", "generated"]),
        help="Which side wins if a values file was edited and its generated values have changed.",
    ),
    click.option(
        "--kustomize",
        is_flag=True,
        help="Write kustomize/ too: each chart as a base, and an overlay for each environment.",
    ),
    click.option(
        "--gitops",
        multiple=True,
        type=Choice(["argocd", "flux", "helmfile", "terraform"]),
        help="Write gitops/NAME/ too: the charts of all environments as this deployer installs "
        "them.",
    ),
    click.option(
        "--repository",
        metavar="URL",
        help="The git repository that Argo CD or Flux reads; the first of `sources` if not given.",
    ),
    click.option("--revision", metavar="REV", help="Its branch; main if not given."),
    click.option(
        "--update-baseline",
        is_flag=True,
        help="Write the violations of the workloads to each environment's baseline; reasons, ends "
        "and comments stay.",
    ),
    cache_option,
    jobs_option("run Helm"),
)
@click.option("-v", "--verbose", is_flag=True, help="Show every row, passed checks as well.")
@click.option("-q", "--quiet", is_flag=True, help="Show only what fails.")
@helm_option()
@reports()
def render(
    given: _Arguments, options: OutputOptions, path: Path, verbose: bool, quiet: bool
) -> None:
    """Write both charts and the manifests, and check every environment (or those named ENV).

    A failed check writes nothing. Exits 1 if a check fails or --check finds a difference, 2 if
    a workload cannot be read.
    """
    from chartkit.documents.unread import EXIT_CODE, UNREAD
    from chartkit.project.project import read_project

    if given.kustomize and given.environments:
        raise click.UsageError(
            "--kustomize needs all environments, which share one base: name no ENV"
        )
    if given.diff and not given.check:
        raise click.UsageError("--diff prints what --check finds: give both")
    if verbose and quiet:
        raise click.UsageError("--verbose and --quiet exclude each other")
    if given.check and given.update_baseline:
        raise click.UsageError("--check writes nothing, and --update-baseline does")
    options.parsed()
    project = read_project(path)
    chosen = {one.name: one for name in given.environments for one in project.environments_of(name)}
    checked = tuple((chosen or project.environments).values())
    if given.update_baseline:
        _require_own_baselines(project, checked)
    result = _result(project, checked, given)
    show(_report(result, given.check, verbose, quiet, given.diff), options)
    is_unread = any(row.check == UNREAD for row in result.rows)
    raise SystemExit(EXIT_CODE if is_unread else int(result.failed))


def _result(
    project: Project, environments: Sequence[Environment], given: _Arguments
) -> RenderResult:
    """Return the result of an earlier run with the same inputs, or of a render."""
    if not given.is_cacheable:
        return _rendered(project, environments, given)
    from chartkit.render.cache import cached_result, key_options

    options = key_options(environments, given.prefer, given.check, given.kustomize)
    render = partial(_rendered, project, environments, given)
    return cached_result(project, given.workloads, options, render)


def _rendered(
    project: Project, environments: Sequence[Environment], given: _Arguments
) -> RenderResult:
    from chartkit.output.values_merge import Prefer
    from chartkit.project.settings import Workload
    from chartkit.render.pipeline import RenderOptions, render_project

    how = RenderOptions(
        environments=tuple(environments),
        workloads=tuple(Workload(path, Location(str(path))) for path in given.workloads),
        prefer=Prefer(given.prefer) if given.prefer else Prefer.NEITHER,
        check=given.check,
        kustomize=given.kustomize,
        gitops=tuple(dict.fromkeys(given.gitops)),
        repository=_repository(project, given.gitops, given.repository, given.revision),
        update_baseline=given.update_baseline,
        jobs=given.jobs,
        uses_cache=given.cache,
        track=track("checking"),
    )
    return render_project(project, how)


def _repository(
    project: Project, gitops: Sequence[str], url: str | None, revision: str | None
) -> Repository:
    from chartkit.render.gitops.checks import NO_REPOSITORY, read_repository
    from chartkit.render.gitops.deployers import FROM_GIT

    if not FROM_GIT & set(gitops):
        if url or revision:
            raise click.UsageError("--repository and --revision are for --gitops argocd or flux")
        return NO_REPOSITORY
    return read_repository(project, url, revision)


def _require_own_baselines(project: Project, environments: Sequence[Environment]) -> None:
    """Raise InputError where no environment has a baseline, or two would write one."""
    if not any(environment.baseline for environment in environments):
        location = project.locate("environments")
        raise InputError("no environment has a baseline", location, "baseline: FILE")
    first: dict[Path, str] = {}
    for each in environments:
        if each.baseline and first.setdefault(each.baseline, each.name) != each.name:
            message = f"{first[each.baseline]} and {each.name} would write one baseline"
            hint = "give each its own, or null"
            raise InputError(message, each.locate("baseline"), hint)


def _report(
    result: RenderResult,
    check: bool,
    verbose: bool,
    quiet: bool = False,
    diff: bool = False,
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
    from chartkit.report.blocks import Code

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
