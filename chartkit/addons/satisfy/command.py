"""`chartkit witness`: the smallest object that an environment accepts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from chartkit.cli.options import (
    environment_option,
    number_option,
    project_environment,
    project_option,
)
from chartkit.cli.options.output import Notes, OutputOptions, reports, show
from chartkit.cli.options.request import takes_request

if TYPE_CHECKING:
    from chartkit.scan.requests import RequestOptions

_DEFAULT: Final = ("Deployment",)


@click.command()
@takes_request
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    metavar="KIND",
    help="The kind of the object, such as Pod, CronJob or Namespace; repeatable. "
    "Default: Deployment.",
)
@click.option(
    "--from",
    "start",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Start from the objects of a file, and change as little of them as is needed.",
)
@number_option("--seconds", (1, 600), 5, "The longest search for one object.", unit="N")
@environment_option
@project_option
@reports()
def witness(
    options: RequestOptions,
    output: OutputOptions,
    kinds: tuple[str, ...],
    start: Path | None,
    seconds: int,
    env: str | None,
    path: Path,
) -> None:
    """Print the smallest object that all policies accept, each line with the rule that wants it.

    The policies are those of --env, or those that -p names. PATH names objects that policies look
    up, such as Namespaces. Values that only a person can choose, such as a registry, are examples.

    Exits 1 if no object was found: because rules exclude each other, which are named, or because
    the search came to no end.
    """
    from chartkit.addons.satisfy.fields import skeletons
    from chartkit.addons.satisfy.witness import Starts, find, report
    from chartkit.errors import InputError
    from chartkit.model import Location, Severity
    from chartkit.scan.requests import load_requests

    output.parsed()
    notes = Notes()
    if start is not None and kinds:
        raise InputError("--kind and --from do not go together", hint="leave one of them out")
    for named in map(str, options.inputs.paths):
        if named in skeletons() and not Path(named).exists():
            raise InputError("no such file or folder", Location(named), f"--kind {named}")
    starts = Starts(kinds or _DEFAULT) if start is None else Starts((), start)
    objects = starts.objects(notes)
    environment = None
    if env is not None:
        options.policies.require_none_named()
        environment = project_environment(path, env)
    requests = load_requests(options, sys.stdin, notes, environment, needs_objects=False)
    is_refused = any(note.severity is Severity.ERROR for note in requests.policies.diagnostics)
    if is_refused and not requests.policies.policies:
        objects = []
    ends = [find(requests, resource, seconds) for resource in objects]
    show(report(ends), output)
    failed = any(end.witness is None for end in ends)
    raise SystemExit(notes.exit_code(failed or is_refused))
