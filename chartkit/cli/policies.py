"""`chartkit policies`: find policies, vendor libraries, write and check your own; `chartkit
vendor`: use upstream's charts in place of chartkit's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from chartkit.cli.options import Choice, download_timeout_option, jobs_option, project_folder_option
from chartkit.cli.options.output import OutputOptions, reports
from chartkit.cli.options.output import show as show_report
from chartkit.cli.terminal import take_back, track

_output = reports()


_SELECTION: Final = (
    project_folder_option,
    click.option(
        "--category",
        default="",
        metavar="TEXT",
        help="Only policies with this text in their category.",
    ),
    click.option(
        "--severity",
        default="",
        metavar="NAME",
        help="Only policies of this severity: critical, high, medium, low or info.",
    ),
    click.option(
        "--subject",
        default="",
        metavar="KIND",
        help="Only policies for this kind of object, such as Pod.",
    ),
    click.option(
        "--kind",
        default="",
        metavar="KIND",
        help="Only policies that do this (validate, mutate, generate, image, cleanup), or that "
        "have this form, such as ValidatingPolicy.",
    ),
    click.option(
        "--kyverno",
        "--minimum",
        metavar="VERSION",
        help="Only policies that this version of Kyverno can run.",
    ),
    click.option("--library", default="", metavar="NAME", help="Only policies of this library."),
)
"""The options that select policies by what they have in common."""
_LEAST = 6
"""The policies from which a second process, with a Helm of its own, is worth its start."""


def _selecting(command: Any) -> Any:
    for option in reversed(_SELECTION):
        command = option(command)
    return command


@click.group()
def policies() -> None:
    """Find policies, vendor libraries, write and check your own."""


@policies.command("list", short_help="List the policies of every library.")
@_selecting
@_output
def list_policies(options: OutputOptions, **selection: Any) -> None:
    """List the policies of every library: the built-in one, your own, the vendored ones."""
    _list((), options, **selection)


@policies.command(short_help="List the policies that have every WORD.")
@click.argument("words", nargs=-1, required=True, metavar="WORD…")
@_selecting
@_output
def search(options: OutputOptions, words: Sequence[str], **selection: Any) -> None:
    """List the policies that have every WORD in their name, title, category or description.

    Exits 1 if there are none.
    """
    _list(words, options, **selection)


def _list(
    words: Sequence[str], options: OutputOptions, project: Path, kyverno: str | None, **traits: str
) -> None:
    from chartkit.catalog.entries import libraries, read_catalogue
    from chartkit.catalog.search import Query, checked, report, search
    from chartkit.kyverno.versions import parse_version

    options.parsed()
    folders = libraries(project)
    catalogue = read_catalogue(folders)
    version = parse_version(kyverno, "Kyverno") if kyverno is not None else None
    query = Query(tuple(words), kyverno=version, **traits)
    query = checked(query, catalogue.entries, [folder.name for folder in folders])
    entries = search(catalogue.entries, query)
    show_report(report(entries), options)
    for problem in catalogue.problems:
        click.echo(problem, err=True)
    raise SystemExit(0 if entries else 1)


@policies.command(short_help="Show one policy, what it refuses and accepts.")
@click.argument("name")
@project_folder_option
@_output
def show(options: OutputOptions, name: str, project: Path) -> None:
    """Show the policy NAME: its text and parameters, an object it refuses and one it accepts.

    NAME is folder/name, such as best-practices/require-probes, with the library's name in front if
    several have it; the name alone is enough if it is unique.
    """
    from chartkit.catalog.entries import libraries, ranks, read_catalogue
    from chartkit.catalog.search import find, others, passed_over
    from chartkit.catalog.show import details, report

    options.parsed()
    folders = libraries(project)
    catalogue = read_catalogue(folders)
    rank = ranks(folders)
    entry = find(catalogue.entries, name, rank)
    root = next(folder.root for folder in folders if entry.file.startswith(f"{folder.root}/"))
    show_report(report(details(entry, root)), options)
    for other in others(catalogue.entries, name, entry, rank):
        click.echo(passed_over(entry, other), err=True)
    for problem in catalogue.problems:
        if problem.startswith(f"{entry.file}:"):
            click.echo(problem, err=True)


@policies.command(short_help="Vendor a library into vendor/.")
@click.argument("source")
@click.option("--name", default="", help="The library's name; what SOURCE suggests if not given.")
@click.option("--ref", default="", help="A branch, tag or commit of a git checkout.")
@download_timeout_option
@project_folder_option
def vendor(source: str, name: str, ref: str, timeout: float | None, project: Path) -> None:
    """Vendor the library at SOURCE into vendor/, with a lock file.

    SOURCE is a folder, a git checkout, or an archive (tar.gz or zip) by its path or URL.
    """
    from chartkit.catalog.vendoring import source_text, vendor
    from chartkit.network.downloads.lockfile import waiting
    from chartkit.wording import counted

    taken = vendor(source, project, name, ref, waiting(timeout))
    for problem in taken.indexed.problems:
        click.echo(problem, err=True)
    click.echo(
        f"{taken.folder}: {counted(len(taken.indexed.entries), 'policy', 'policies')} in "
        f"{counted(len(taken.lock.files), 'file')} "
        f"from {source_text(taken.lock)}"
    )


@policies.command(short_help="Update a vendored library from its source.")
@click.argument("name", required=False)
@click.option("--source", default="", help="The new source from now on; needs NAME.")
@click.option("--ref", default="", help="The new branch, tag or commit from now on; needs NAME.")
@click.option("--yes", is_flag=True, help="Apply the changes without asking.")
@click.option("--diff", "diffs", is_flag=True, help="Show the differences of every file as well.")
@download_timeout_option
@project_folder_option
def update(
    name: str | None,
    source: str,
    ref: str,
    yes: bool,
    diffs: bool,
    timeout: float | None,
    project: Path,
) -> None:
    """Show the changes at the source of the vendored library NAME (default: all), and apply them.

    Asks for confirmation; without a terminal, nothing is applied unless --yes is given. Exits 1 if
    changes were not applied.
    """
    import sys

    from chartkit.catalog.vendoring import (
        apply_update,
        as_text,
        changes,
        plan_update,
        source_text,
        vendored_names,
    )
    from chartkit.network.downloads.lockfile import waiting

    if name is None and (source or ref):
        raise click.UsageError("--source and --ref need the NAME of a library")
    left = False
    for library in vendored_names(name, project):
        planned = plan_update(library, project, source, ref, waiting(timeout))
        if planned.is_nothing:
            click.echo(f"{library}: nothing changed")
            continue
        click.echo(f"{library}: {source_text(planned.lock)} → {source_text(planned.taken.lock())}")
        for line in as_text(changes(planned), diffs):
            click.echo(line)
        if yes or (sys.stdin.isatty() and click.confirm("take it?")):
            apply_update(planned, project)
            click.echo(f"{library}: taken")
        else:
            left = True
            click.echo(f"{library}: nothing was taken; --yes takes it")
    raise SystemExit(1 if left else 0)


@policies.command(short_help="Start a policy of your own.")
@click.argument("name")
@click.option(
    "--kind",
    required=True,
    type=Choice(["validate", "mutate", "generate", "image", "cleanup"]),
    help="What the policy does.",
)
@click.option(
    "--library",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="The library for it; the first one of chartkit.yaml, or policies/, if not given.",
)
@project_folder_option
def new(name: str, kind: str, library: Path | None, project: Path) -> None:
    """Start a policy of your own, NAME or folder/NAME: a working example in both forms, with
    metadata and with objects that it acts on and leaves alone."""
    from chartkit.catalog.authoring.add import is_in_project, write_policy
    from chartkit.catalog.model import Kind

    folder = write_policy(name, Kind(kind), project, library)
    for file in sorted(folder.iterdir()):
        click.echo(f"wrote {file}")
    if not is_in_project(folder, project):
        where = folder.parents[name.count("/")]
        line = f"library: [{where}]"
        if (project / "chartkit.yaml").is_file():
            click.echo(f"chartkit.yaml does not name the library yet: add {line}")
        else:
            click.echo(f"for a project with this library: `chartkit init`, then add {line}")
    click.echo(f"next: edit them, then chartkit policies check {folder}")


@policies.command(short_help="Check the quality of policies.")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[PATH]…")
@project_folder_option
@jobs_option("check policies")
@click.option(
    "--mutate",
    is_flag=True,
    help="Change one thing at a time in each policy (an operator, a literal, an anchor, a "
    "condition left out), and list the changes that none of its examples shows.",
)
@reports()
def check(
    options: OutputOptions, paths: Sequence[Path], project: Path, jobs: int, mutate: bool
) -> None:
    """Check the quality of the policies at and below each PATH.

    Metadata must be complete, the description must give reasons, both forms must exist and agree,
    and examples must have the expected results. A vendored library must match its lock file. All
    libraries are checked if no PATH is given. Exits 1 if something is wrong, 2 for files that
    cannot be read.
    """
    from chartkit.catalog.authoring.check import check_path, check_project, report, together
    from chartkit.cli.explain import known_explanations
    from chartkit.helm import backend as helm
    from chartkit.scan.parallel.pool import spread

    options.parsed()
    steps, spreading = track("checking"), spread(jobs, _LEAST, close=helm.close)
    if paths:
        result = together([check_path(path, steps, spreading, mutate) for path in paths])
    else:
        result = check_project(project, steps, spreading, mutate)
    show_report(report(result, known_explanations()), options)
    raise SystemExit(result.exit_code)


@policies.command(short_help="Find mistakes in policies.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option("--strict", is_flag=True, help="Exit 1 for warnings as well.")
@click.option(
    "--env",
    metavar="NAME",
    help="Take the levels of rules that chartkit.yaml sets for an environment, and its Kyverno.",
)
@click.option(
    "--kyverno",
    metavar="VERSION",
    help="Name what this Kyverno does not have, what it changes or removes, and its faults, where "
    "a policy meets them.",
)
@project_folder_option
@_output
def lint(
    options: OutputOptions,
    paths: Sequence[str],
    project: Path,
    strict: bool,
    env: str | None,
    kyverno: str | None,
) -> None:
    """Find mistakes in the policies at and below each PATH, which is a file, a folder, a chart or
    the name of a profile.

    Errors are what Kyverno refuses: misspelt keys, wrong actions and operators, undefined
    variables, expressions that do not compile. Warnings are what it takes and what has no effect,
    such as kinds and fields that do not exist. `lint` in chartkit.yaml sets the levels of rules
    CK7…, and turns them off. `chartkit policies check` asks more of policies in chartkit's own
    format. Exits 1 if there is an error, 2 for files that cannot be read.
    """
    from chartkit.catalog.authoring.check import report
    from chartkit.catalog.authoring.lint import lint_policies
    from chartkit.catalog.policy_lint.findings import levels
    from chartkit.cli.explain import known_explanations
    from chartkit.kyverno.matrix import release_of
    from chartkit.model import Severity
    from chartkit.project.project import FILE_NAME, read_project

    options.parsed()
    has_levels = env is not None or (project / FILE_NAME).is_file()
    read = read_project(project) if has_levels else None
    set_levels = levels(read, env) if read is not None else {}
    release = None
    if kyverno is not None:
        release = release_of(kyverno)
    elif read is not None and env is not None:
        environment = read.environment(env)
        release = environment.release or release_of(str(environment.kyverno))
    result = lint_policies(paths, track("checking"), set_levels, release)
    show_report(report(result, known_explanations()), options)
    warned = strict and any(row.severity is Severity.WARNING for row in result.diagnostics)
    raise SystemExit(result.exit_code or int(warned))


@policies.command(short_help="Add a policy to a profile of your own.")
@click.argument("name")
@click.option(
    "--profile",
    default="",
    metavar="PROFILE",
    help="A profile of your own, by path or name; the first that chartkit.yaml names, or a new "
    "one, if not given.",
)
@click.option("--new-profile", "new", is_flag=True, help="Create the profile that --profile names.")
@project_folder_option
def add(name: str, profile: str, new: bool, project: Path) -> None:
    """Add the policy NAME to a profile of your own, and list what else it needs.

    NAME is folder/name, such as best-practices/require-probes, with the library's name in front if
    several have it; the name alone is enough if it is unique. Comments in the
    profile and in chartkit.yaml are kept.
    """
    from chartkit.catalog.authoring.add import add, as_text

    if new and not profile:
        raise click.UsageError("--new-profile needs --profile, which says what it is called")
    take_back(project)
    click.echo(as_text(add(name, project, profile, new)), nl=False)


@policies.command(short_help="Show which controls of a standard are covered.")
@click.option(
    "--standard",
    required=True,
    metavar="NAME|FILE",
    help="A built-in standard (cis, eks, nsa, pss) or a file of your own.",
)
@click.option(
    "--project",
    type=click.Path(path_type=Path, exists=True),
    metavar="FOLDER|FILE",
    help="A project whose environments are included.",
)
@_output
def coverage(options: OutputOptions, standard: str, project: Path | None) -> None:
    """Show which controls of a standard policies cover, and why policies cannot cover others.

    With a project: which of them each environment has in force, and whether a violation is
    reported (Audit) or refused (Enforce).
    """
    from chartkit.catalog.coverage import coverage, report
    from chartkit.catalog.standards import read_standard
    from chartkit.project.project import read_project

    options.parsed()
    covered = coverage(read_standard(standard), None if project is None else read_project(project))
    show_report(report(covered), options)


@policies.command(short_help="Write a page of Markdown for each policy.")
@click.argument("names", nargs=-1, metavar="[PATH|LIBRARY]…")
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    metavar="FOLDER",
    help="The folder for the pages, which may contain nothing else.",
)
@click.option(
    "--check", "compare", is_flag=True, help="Write nothing; list the pages that are out of date."
)
@project_folder_option
def docs(names: Sequence[str], output: Path, compare: bool, project: Path) -> None:
    """Write a page of Markdown for each policy at and below each PATH or in each LIBRARY, and an
    index; without any, for every library.

    A page has what the policy asks for and why, what to change, parameters, an object that it
    refuses and one that it accepts. With --check it exits 1 if pages are out of date.
    """
    from chartkit.catalog.pages import differences, documented, pages, publish

    written = pages(documented(names, project))
    if not compare:
        publish(written, output)
        click.echo(f"wrote {len(written)} pages to {output}")
        return
    different = differences(written, output)
    for line in different:
        click.echo(line)
    raise SystemExit(1 if different else 0)


@click.group("vendor")
def vendor_group() -> None:
    """Vendor upstream's charts; `chartkit policies vendor` does so for policies."""


@vendor_group.command("chart", short_help="Put upstream's chart in place of chartkit's.")
@click.argument("name")
@click.option("--version", required=True, metavar="VERSION", help="The chart's version, as 3.8.1.")
@click.option(
    "--from",
    "source",
    default="",
    metavar="URL|DIR|ARCHIVE",
    help="A Helm repository, an archive or a folder; where the chart is published if not given.",
)
@download_timeout_option
@project_folder_option
def vendor_chart(
    name: str, version: str, source: str, timeout: float | None, project: Path
) -> None:
    """Put upstream's chart NAME (kyverno, kyverno-policies or policy-reporter) into vendor/charts/.

    `chartkit render` uses it from then on, in place of chartkit's own. A lock file keeps its source
    and the digest of every file; a version that was vendored and has changed is refused.
    """
    from chartkit.charts.upstream.vendored import vendor_chart
    from chartkit.network.downloads.lockfile import waiting
    from chartkit.wording import counted

    done = vendor_chart(name, version, project, source, waiting(timeout))
    what = f"{done.chart.name} {done.chart.version}"
    if not done.changed:
        click.echo(f"{done.folder}: {what} is there already, as it was published")
        return
    origin, count = done.lock.origin.shown, len(done.lock.files)
    before = ""
    if done.replaced == done.chart.version:
        before = ", put back as it was"
    elif done.replaced:
        before = f", in place of {done.replaced}"
    click.echo(f"{done.folder}: {what} from {origin}, {counted(count, 'file')}{before}")
    click.echo("next: chartkit render")
