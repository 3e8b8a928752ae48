"""`chartkit exceptions`: PolicyExceptions listed, checked, and made of what objects say about
themselves or of findings."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from chartkit.cli.options import (
    environment_option,
    number_option,
    project_environment,
    project_option,
)
from chartkit.cli.options.output import Notes, OutputOptions, reports, show
from chartkit.cli.options.request import takes_request
from chartkit.errors import InputError

if TYPE_CHECKING:
    from chartkit.project.project import ExceptionRules
    from chartkit.scan.environment import ProjectEnvironment
    from chartkit.scan.exceptions.model import FiledException
    from chartkit.scan.requests import RequestOptions


@click.group()
def exceptions() -> None:
    """List and check PolicyExceptions, and write new ones."""


@exceptions.command("list", short_help="List the exceptions of files or environments.")
@click.argument("files", nargs=-1, metavar="[PATH…]", type=click.Path(path_type=Path))
@click.option("--env", "names", multiple=True, metavar="NAME", help="Only this environment's.")
@project_option
@reports()
def list_(options: OutputOptions, files: Sequence[Path], names: Sequence[str], path: Path) -> None:
    """List the exceptions at PATH, or those of the project's environments: what they are from, when
    they end, and what the project wants to know of each."""
    from chartkit.project.project import read_project
    from chartkit.scan.exceptions.check import listed_exceptions, listing

    options.parsed()
    if files and names:
        raise click.UsageError("name files or environments")
    project, notes = None if files else read_project(path), Notes()
    show(listing(listed_exceptions(files, project, names, notes), datetime.now(UTC)), options)
    raise SystemExit(notes.exit_code(False))


@exceptions.command(short_help="Find exceptions that are expired, unused, too wide or unknown.")
@takes_request
@environment_option
@project_option
@number_option(
    "--soon",
    (0, 3650),
    30,
    "Warn of an exception that ends within these days.",
    unit="DAYS",
    parameter="soon_days",
)
@reports()
def check(
    options: RequestOptions, output: OutputOptions, env: str | None, path: Path, soon_days: int
) -> None:
    """Check the exceptions of --exceptions, or those of --env, with the objects at PATH.

    Without PATH the objects are the environment's workloads; without any, what is unused or too
    wide is not looked for. Exits 1 for an exception that has
    ended, names what there is not, or lacks what exceptionRules of chartkit.yaml wants; warnings,
    such as of one that no object needs, fail nothing.
    """
    from chartkit.scan.exceptions.check import check as checked
    from chartkit.scan.exceptions.check import check_report, needs_of

    output.parsed()
    notes = Notes()
    filed, environment, rules, paths = _subjects(options, env, path, notes)
    if not paths:
        click.echo("no objects: what is unused or too wide is not looked for", err=True)
    given = replace(options, inputs=replace(options.inputs, paths=paths))
    with needs_of(given, environment, sys.stdin, notes) as (policies, needs):
        diagnostics = list(checked(filed, policies, needs, rules, datetime.now(UTC), soon_days))
    show(check_report(filed, diagnostics), output)
    raise SystemExit(notes.exit_code(any(row.severity == "error" for row in diagnostics)))


def _subjects(
    options: RequestOptions, env: str | None, path: Path, note: Notes
) -> tuple[list[FiledException], ProjectEnvironment | None, ExceptionRules, tuple[str, ...]]:
    """Return the exceptions to check, the environment, the project's rules and the objects."""
    from chartkit.engine import is_exception
    from chartkit.model import Location
    from chartkit.project.project import FILE_NAME, ExceptionRules, read_project
    from chartkit.project.settings import NamedFile
    from chartkit.render.environment import project_exceptions
    from chartkit.scan.exceptions.model import filed, read_files
    from chartkit.scan.inputs import is_remote

    if env is None:
        if not options.policies.exceptions:
            raise InputError("no exceptions are named", hint="--exceptions FILE, or --env NAME")
        if any(map(is_remote, options.policies.exceptions)):
            raise InputError("files are checked, and a URL names none", hint="download it first")
        named = [NamedFile(Path(file), Location(file)) for file in options.policies.exceptions]
        has_project = (path / FILE_NAME if path.is_dir() else path).is_file()
        none = ExceptionRules((), None, Location(FILE_NAME))
        rules = read_project(path).exception_rules if has_project else none
        return list(map(filed, read_files(named, note))), None, rules, options.inputs.paths
    options.policies.require_none_named()
    project = read_project(path)
    chosen = project.environment(env)
    environment = project_environment(path, env)
    own = tuple(resource for resource in environment.resources if not is_exception(resource))
    shipped = project_exceptions(project, chosen)
    paths = options.inputs.paths or tuple(str(workload.path) for workload in chosen.workloads)
    return list(shipped.filed), replace(environment, resources=own), project.exception_rules, paths


@exceptions.command(short_help="Write PolicyExceptions for suppressions or findings.")
@takes_request
@environment_option
@project_option
@click.option(
    "--into",
    metavar="NAMESPACE",
    default="kyverno",
    show_default=True,
    help="The namespace of the exceptions, in which Kyverno has to look for them.",
)
@click.option(
    "--findings",
    is_flag=True,
    help="Write one for each object and rule that fails, in place of suppressions.",
)
@number_option("--days", (1, 3650), 30, "The days after which exceptions from findings end.")
@click.option("--reason", default="", help="The reason of exceptions from findings.")
@click.option(
    "--annotation",
    "annotations",
    multiple=True,
    metavar="NAME=VALUE",
    help="An annotation of exceptions, such as their owner; repeatable.",
)
def write(
    options: RequestOptions,
    env: str | None,
    path: Path,
    into: str,
    findings: bool,
    days: int,
    reason: str,
    annotations: Sequence[str],
) -> None:
    """Write a PolicyException to standard output for each suppression of the objects at PATH, or
    for each finding.

    Exits 1 if a suppression does not hold, or if no exception can express it or a finding.
    """
    from chartkit.documents.yaml_dump import dump_documents
    from chartkit.scan.exceptions.written import annotated, exceptions_of, of_findings
    from chartkit.scan.requests import load_requests

    environment = None if env is None else project_environment(path, env)
    if environment is not None:
        options.policies.require_none_named()
    notes = Notes()
    requests = load_requests(options, sys.stdin, notes, environment=environment)
    today = datetime.now(UTC).date()
    if findings:
        until: date = today + timedelta(days=days)
        written = of_findings(requests, reason or "violates the policy today", until, into)
    else:
        allowed = environment is None or environment.suppressions
        policies = requests.policies.policies
        written = exceptions_of(requests.objects, policies, today, into, allowed)
    for diagnostic in written.diagnostics:
        notes(diagnostic)
    if not written.bodies and not written.diagnostics:
        suppress = "add --findings, or annotate objects with chartkit.dev/suppress"
        hint = "nothing fails" if findings else suppress
        what = "there is no finding" if findings else "no object has a suppression"
        raise InputError(what, hint=hint)
    if written.bodies:
        click.echo(dump_documents(annotated(written.bodies, annotations)), nl=False)
    raise SystemExit(notes.exit_code(bool(written.diagnostics or requests.policies.diagnostics)))
