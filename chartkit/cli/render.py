"""`chartkit render`: write the charts and check every environment."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from chartkit.cli.options.cache import cache_option
from chartkit.cli.options.helm import helm_option
from chartkit.cli.options.jobs import jobs_option
from chartkit.cli.options.output import OutputOptions, reports, show
from chartkit.cli.options.project import project_option
from chartkit.cli.terminal import track
from chartkit.errors import InputError
from chartkit.model import Body, Location

if TYPE_CHECKING:
    from chartkit.project.environment import Environment
    from chartkit.project.project import Project
    from chartkit.render.gitops.installed import Repository
    from chartkit.render.model import RenderResult
    from chartkit.report.command_report import CommandReport


@click.command()
@click.argument("environments", nargs=-1, metavar="[ENV…]")
@project_option
@click.option(
    "--check", is_flag=True, help="Write nothing; print a diff and fail if the charts have drifted."
)
@click.option(
    "--workloads",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A manifest, folder or chart to scan in addition to those of chartkit.yaml; repeatable.",
)
@click.option(
    "--prefer",
    type=click.Choice(["edits", "generated"]),
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
    type=click.Choice(["argocd", "flux", "helmfile", "terraform"]),
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
    help="Write the violations of the workloads to each environment's baseline; reasons, ends and "
    "comments stay.",
)
@cache_option
@click.option("-v", "--verbose", is_flag=True, help="Show every row, passed checks as well.")
@jobs_option("run Helm")
@helm_option()
@reports()
def render(
    options: OutputOptions,
    environments: Sequence[str],
    path: Path,
    check: bool,
    workloads: Sequence[Path],
    prefer: str | None,
    kustomize: bool,
    gitops: Sequence[str],
    repository: str | None,
    revision: str | None,
    update_baseline: bool,
    cache: bool,
    verbose: bool,
    jobs: int,
) -> None:
    """Write both charts and the manifests, and check every environment (or those named ENV).

    A failed check writes nothing. Exits 1 if a check fails or --check finds a difference.
    """
    from chartkit.project.project import read_project

    if kustomize and environments:
        raise click.UsageError(
            "--kustomize needs all environments, which share one base: name no ENV"
        )
    if check and update_baseline:
        raise click.UsageError("--check writes nothing, and --update-baseline does")
    options.parsed()
    project = read_project(path)
    chosen = {one.name: one for name in environments for one in project.environments_of(name)}
    checked = tuple((chosen or project.environments).values())
    if update_baseline:
        _require_own_baselines(project, checked)

    def rendered() -> RenderResult:
        from chartkit.output.values_merge import Prefer
        from chartkit.project.settings import Workload
        from chartkit.render.pipeline import RenderOptions, render_project

        how = RenderOptions(
            environments=checked,
            workloads=tuple(Workload(each, Location(str(each))) for each in workloads),
            prefer=Prefer(prefer) if prefer else Prefer.NEITHER,
            check=check,
            kustomize=kustomize,
            gitops=tuple(dict.fromkeys(gitops)),
            repository=_repository(project, gitops, repository, revision),
            update_baseline=update_baseline,
            jobs=jobs,
            track=track("checking"),
        )
        return render_project(project, how)

    result: RenderResult
    if not cache or update_baseline or gitops or repository or revision:
        result = rendered()
    else:
        from chartkit.render.cache import cached_result

        names = [each.name for each in checked]
        given = {"environments": names, "prefer": prefer, "check": check, "kustomize": kustomize}
        result = cached_result(project, workloads, given, rendered)
    show(_report(result, check, verbose), options)
    raise SystemExit(1 if result.failed else 0)


def _repository(
    project: Project, gitops: Sequence[str], url: str | None, revision: str | None
) -> Repository:
    from chartkit.render.gitops.deployers import FROM_GIT
    from chartkit.render.gitops.installed import NO_REPOSITORY, read_repository

    if not FROM_GIT & set(gitops):
        if url or revision:
            raise click.UsageError("--repository and --revision are for --gitops argocd or flux")
        return NO_REPOSITORY
    return read_repository(project, url, revision)


def _require_own_baselines(project: Project, environments: Sequence[Environment]) -> None:
    """Raise InputError where no environment has a baseline, or two would write one."""
    if not any(each.baseline for each in environments):
        place = project.locate("environments")
        raise InputError("no environment has a baseline", place, "baseline: FILE")
    first: dict[Path, str] = {}
    for each in environments:
        if each.baseline and first.setdefault(each.baseline, each.name) != each.name:
            message = f"{first[each.baseline]} and {each.name} would write one baseline"
            hint = "give each its own, or null"
            raise InputError(message, each.locate("baseline"), hint)


def _report(result: RenderResult, check: bool, verbose: bool) -> CommandReport:
    from chartkit.render import summary
    from chartkit.report.command_report import CommandReport

    return CommandReport(
        own={
            "text": lambda screen: (
                summary.as_text(result.rows, screen.colour, screen.width, verbose)
                + _end(result, check)
            ),
            "json": lambda _screen: json.dumps(_body(result)),
        },
        rows="rows",
        findings=lambda: summary.findings(result.rows),
        has_code=check,
    )


def _body(result: RenderResult) -> Body:
    from chartkit.render import summary

    written = [str(folder) for folder in result.written]
    return {**summary.as_json(result.rows), "drift": result.drift, "written": written}


def _end(result: RenderResult, check: bool) -> str:
    if check:
        return f"\n{result.drift}" if result.drift else "the charts have not drifted\n"
    if result.failed:
        return "nothing was written\n"
    if not result.written:
        return "nothing has changed\n"
    written = "".join(f"wrote {folder}\n" for folder in result.written)
    return f"{written}next: commit them, and `chartkit install ENV` or `helm install`\n"
