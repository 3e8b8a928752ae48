"""`chartkit diff`: compare two environments, or an environment with an earlier state; `chartkit
report`: merge reports of scans, or compare one with an earlier one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from chartkit import addon
from chartkit.cli.options import Choice, helm_option, project_option
from chartkit.cli.options.output import Notes, OutputOptions, reports, show
from chartkit.errors import InputError

if TYPE_CHECKING:
    from chartkit.project.project import Project
    from chartkit.render.compare.report import Comparison
    from chartkit.render.environment import Side


_RELEASE = "release"


@click.command()
@click.argument("environments", nargs=-1, metavar="[ENV…]")
@click.option("--from", "start", metavar="ENV", help="The environment to compare with.")
@click.option("--to", "target", metavar="ENV", help="The environment to compare.")
@click.option(
    "--against",
    metavar="REV|DIR|release",
    help="What each ENV was at a git revision, in another project, in a folder of manifests, or in "
    "the Helm releases of the cluster.",
)
@click.option(
    "--context",
    metavar="NAME",
    help="The kubeconfig's context for --against release; the current one if not given.",
)
@project_option
@click.option(
    "--fail-on",
    type=Choice(["low", "medium", "high"]),
    help="Exit 1 if there is a change of this risk or a higher one.",
)
@helm_option()
@reports()
def diff(
    options: OutputOptions,
    environments: Sequence[str],
    start: str | None,
    target: str | None,
    against: str | None,
    context: str | None,
    path: Path,
    fail_on: str | None,
) -> None:
    """List the objects that differ between two renders, by field, the riskiest first.

    Give --from and --to, or --against with the environments to compare (default: all). The charts
    are rendered as they are on disk; values of Secrets are not shown.
    """
    from chartkit.project.project import read_project
    from chartkit.render.compare.report import report
    from chartkit.render.compare.risk import Level

    pair = start is not None and target is not None
    if (
        pair == (against is not None)
        or (pair and environments)
        or (start is None) != (target is None)
    ):
        raise click.UsageError("give --from and --to, or --against with environments")
    if context is not None and against != _RELEASE:
        raise click.UsageError("--context is for --against release")
    options.parsed()
    project, notes = read_project(path), Notes()
    if against == _RELEASE and not Path(against).is_dir():
        comparisons = [_live(project, environments, context, notes)]
    elif start is not None and target is not None:
        from chartkit.render.compare.report import comparison
        from chartkit.render.environment import of_environment

        before, after = (
            of_environment(project, project.environment(name), name) for name in (start, target)
        )
        _warn(notes, before, after)
        comparisons = [comparison(before, after)]
    else:
        comparisons = _against(project, against or "", environments, notes)
    show(report(comparisons), options)
    level = Level[fail_on.upper()] if fail_on else None
    fails = level is not None and any(comparison.at_least(level) for comparison in comparisons)
    raise SystemExit(notes.exit_code(fails))


def _warn(note: Notes, *sides: Side) -> None:
    """Print Helm's warnings about the charts on disk, and what was not read of a folder."""
    for warning in {str(item): item for side in sides for item in side.warnings}.values():
        note(warning)


def _live(project: Project, names: Sequence[str], context: str | None, note: Notes) -> Comparison:
    """Compare an environment with the Helm releases of a cluster."""
    from chartkit.render.compare.report import comparison
    from chartkit.render.environment import Side, installed_charts, of_environment

    if len(names) != 1:
        raise click.UsageError("--against release compares one ENV with its cluster")
    environment = project.environment(names[0])
    connected = addon.port("operate", "releases", "--against release")
    cluster, releases = connected(context, 60)
    there = [releases.read(name) for name in installed_charts(project, environment)]
    if not any(there):
        hint = f"`chartkit install {environment.name}` installs them"
        raise InputError(f"the cluster {cluster.shown} has no release of the charts", hint=hint)
    resources = [resource for held in there if held is not None for resource in held.resources]
    before = Side(f"releases in {cluster.shown}", tuple(resources))
    after = of_environment(project, environment, environment.name, hooks=False)
    _warn(note, after)
    return comparison(before, after)


def _against(project: Project, against: str, names: Sequence[str], note: Notes) -> list[Comparison]:
    from chartkit.render.compare.report import comparison
    from chartkit.render.environment import earlier, of_environment, of_folder

    chosen = {env.name: env for name in names for env in project.environments_of(name)}
    comparisons, warned = [], []
    with earlier(project, against) as there:
        for environment in (chosen or project.environments).values():
            name = environment.name
            if isinstance(there, Path):
                before = of_folder(there, environment.file_name)
            else:
                before = of_environment(there, there.environment(name), f"{name} at {against}")
            after = of_environment(project, environment, name, hooks=not isinstance(there, Path))
            comparisons.append(comparison(before, after))
            warned += [before, after] if isinstance(there, Path) else [after]
    _warn(note, *warned)
    return comparisons


@click.group()
def report() -> None:
    """Merge JSON reports of scans, or compare one with an earlier one."""


@report.command(short_help="Merge reports into one, such as those of environments.")
@click.argument("files", nargs=-1, required=True, metavar="[NAME=]FILE…")
@reports()
def merge(options: OutputOptions, files: Sequence[str]) -> None:
    """Merge the JSON reports FILE of `chartkit scan` into one, with NAME for the environment (the
    file's name if not given). `-o html` shows them side by side."""
    from chartkit.catalog.standards import guidance
    from chartkit.report.stored import merged, read_report

    options.parsed()
    named: dict[str, Path] = {}
    for text in files:
        name, equals, file = text.rpartition("=")
        path = Path(file)
        name = name if equals else path.stem
        if name in named:
            raise InputError(f"two reports are named '{name}'", hint=f"write NAME={file}")
        named[name] = path
    stored_reports = [read_report(path, name) for name, path in named.items()]
    show(merged(stored_reports, guidance), options)


@report.command("diff", short_help="List what is new and what is fixed.")
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@reports()
def diff_reports(options: OutputOptions, old: Path, new: Path) -> None:
    """Compare the JSON report NEW of `chartkit scan` with OLD: which findings are new, which fixed.

    Findings are compared by policy, rule, object and field, not by lines. Exits 1 if there are new
    ones.
    """
    from chartkit.catalog.standards import guidance
    from chartkit.report.stored import changes, compared, read_report

    options.parsed()
    report_changes = changes(read_report(old), read_report(new))
    show(compared(report_changes, guidance), options)
    raise SystemExit(1 if report_changes.new else 0)
