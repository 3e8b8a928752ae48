"""`chartkit exceptions`: PolicyExceptions made of what objects say about themselves."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from chartkit.cli.options.groups import takes
from chartkit.cli.options.project import environment_option, project_environment, project_option
from chartkit.cli.options.request import REQUEST_OPTIONS
from chartkit.errors import InputError
from chartkit.model import Diagnostic
from chartkit.scan.options import RequestOptions


@click.group()
def exceptions() -> None:
    """Write PolicyExceptions for suppressed findings."""


@exceptions.command(short_help="Write a PolicyException for each suppression.")
@takes(RequestOptions, *REQUEST_OPTIONS)
@environment_option
@project_option
@click.option(
    "--into",
    metavar="NAMESPACE",
    default="kyverno",
    show_default=True,
    help="The namespace of the exceptions, in which Kyverno has to look for them.",
)
def write(options: RequestOptions, env: str | None, path: Path, into: str) -> None:
    """Write a PolicyException to standard output for each suppression of the objects at PATH.

    Exits 1 if a suppression does not hold, or if no exception can stand for it.
    """
    from datetime import UTC, datetime

    from chartkit.documents.yaml_dump import dump_documents
    from chartkit.scan.environment import require_no_named_policies
    from chartkit.scan.gate.exceptions import exceptions_of
    from chartkit.scan.requests import load_requests

    environment = None if env is None else project_environment(path, env)
    if environment is not None:
        require_no_named_policies(options)
    requests = load_requests(options, sys.stdin, _note, environment=environment)
    policies = requests.policies.policies
    allowed = environment is None or environment.suppressions
    today = datetime.now(UTC).date()
    found = exceptions_of(requests.objects, policies, today, into, allowed)
    for each in found.diagnostics:
        _note(each)
    if not found.bodies and not found.diagnostics:
        raise InputError("no object has a suppression", hint="the annotation chartkit.dev/suppress")
    if found.bodies:
        click.echo(dump_documents(found.bodies), nl=False)
    raise SystemExit(1 if found.diagnostics or requests.policies.diagnostics else 0)


def _note(diagnostic: Diagnostic) -> None:
    click.echo(str(diagnostic), err=True)
