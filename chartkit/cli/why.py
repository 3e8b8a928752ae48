"""`chartkit why`: what decided the result of each policy for an object; `chartkit preview`: how
policies would change objects."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from chartkit.cli.options import (
    Choice,
    context_option,
    environment_option,
    policies_from_option,
    project_environment,
    project_option,
    takes,
)
from chartkit.cli.options.output import Notes, OutputOptions, reports, show
from chartkit.cli.options.request import REQUEST_OPTIONS, takes_request
from chartkit.errors import InputError
from chartkit.model import Diagnostic, Location, Severity
from chartkit.scan import DEFAULT_PROFILE

if TYPE_CHECKING:
    from chartkit.scan.environment import ProjectEnvironment
    from chartkit.scan.requests import RequestOptions


_PATH: Final = click.argument("paths", nargs=1, metavar="OBJECT", callback=lambda *given: given[2:])
_MANIFESTS: Final = "manifests="


@click.command()
@takes("chartkit.scan.requests:RequestOptions", _PATH, *REQUEST_OPTIONS[1:])
@click.argument("policy", required=False, metavar="[POLICY[/RULE]]")
@click.option(
    "--object",
    "name",
    metavar="[KIND/]NAME",
    help="The object, where OBJECT has several; all of them if not given.",
)
@click.option(
    "--operation",
    type=Choice(["CREATE", "UPDATE", "DELETE"]),
    help="The operation on the object. Default: CREATE, or what the values file says.",
)
@environment_option
@project_option
@policies_from_option(
    "Ask the policies that are installed in the live cluster (see --context) or in a recording of "
    "one, with its exceptions, namespaces and Kyverno's configuration."
)
@click.option(
    "--cluster",
    is_flag=True,
    help="Like --policies-from cluster; OBJECT may be KIND/NAME or KIND/NAMESPACE/NAME there.",
)
@context_option
@click.option(
    "--all",
    "is_whole",
    is_flag=True,
    help="Show every check, and policies about other kinds. Default: only if POLICY is given.",
)
@reports()
def why(
    options: RequestOptions,
    outputs: OutputOptions,
    *,
    policy: str | None,
    name: str | None,
    operation: str | None,
    env: str | None,
    path: Path,
    policies_from: str | None,
    cluster: bool,
    context: str | None,
    is_whole: bool,
) -> None:
    """Show what decided the result of each policy for OBJECT, a file, folder, chart or - (stdin):
    rule by rule the first thing that decided, with its line in the policy and its field in the
    object. Without -p, a project's environment is asked.

    Exits 0 whatever the results are, and 1 if a policy cannot be compiled.
    """
    from chartkit.scan.options import ClusterOptions
    from chartkit.scan.why.asking import named, open_why, wanted_policy
    from chartkit.scan.why.report import WhyReport

    outputs.parsed()
    notes = Notes()
    recording = "cluster" if cluster else policies_from
    if env is not None:
        options.policies.require_none_named()
    if recording is None and context is not None:
        raise InputError("--context needs --cluster")
    source = None
    if recording is not None:
        if env is not None:
            raise InputError("--env and a cluster do not go together", hint="leave one out")
        options.policies.require_none_named("a cluster")
        source = ClusterOptions(context=context, policies_from=recording).policies_source()
    environment = None if source is not None else _environment(options, env, path)
    if source is None and environment is None and not options.policies.named_policies:
        message = f"the policies are those of {DEFAULT_PROFILE}"
        notes(Diagnostic("why", Severity.NOTE, message, None, "-p names others"))
    warn = partial(click.echo, err=True)
    with open_why(source, environment, options, sys.stdin, notes, warn) as inputs:
        judging = replace(inputs.asker.context, operation=operation or "")
        asker = replace(inputs.asker, context=judging)
        if policy is not None:
            wanted = wanted_policy(policy, asker.policies, asker.cleaners)
            asker = replace(asker, wanted=wanted)
        objects = inputs.objects if name is None else named(inputs.objects, name)
        asked = list(asker.ask(objects))
    show(WhyReport(asked, is_whole or policy is not None).report(), outputs)
    raise SystemExit(notes.exit_code(inputs.is_broken))


def _environment(options: RequestOptions, env: str | None, path: Path) -> ProjectEnvironment | None:
    """Return the environment that --env names, or the only one of the project here where no policy
    is named; None if there is none. Raise InputError where the project has several."""
    if env is not None:
        return project_environment(path, env)
    if options.policies.named_policies:
        return None
    from chartkit.project.project import FILE_NAME, read_project

    if not (path / FILE_NAME if path.is_dir() else path).is_file():
        return None
    names = list(read_project(path).environments)
    if len(names) == 1:
        return project_environment(path, names[0])
    hint = f"--env names one of {', '.join(names)}; -p names other policies"
    raise InputError("the project has several environments", Location(str(path)), hint)


@click.command()
@takes_request
@click.option("--show-secrets", is_flag=True, help="Show the values of Secrets.")
@reports()
def preview(options: RequestOptions, outputs: OutputOptions, show_secrets: bool) -> None:
    """Show how Kyverno would change the objects at PATH: mutated ones as a diff, new ones in full.
    -o manifests=DIR writes each to a file of its own.

    Exits 1 if a rule fails to mutate or generate, or if a policy cannot be compiled; 2 if a file,
    folder or chart cannot be read.
    """
    from chartkit.scan.preview import changes_nothing, report, run_preview, write_manifests
    from chartkit.scan.requests import load_requests

    folders = [output for output in outputs.outputs if output.startswith(_MANIFESTS)]
    others = tuple(output for output in outputs.outputs if output not in folders)
    outputs = replace(outputs, outputs=others or ("text",))
    outputs.parsed()
    notes = Notes()
    requests = load_requests(options, sys.stdin, notes)
    context = requests.context(requests.world())
    policies = requests.policies.policies
    if changes_nothing(policies):
        hint = "-p names policies that mutate or generate"
        message = "none of these policies changes objects"
        notes(Diagnostic("preview", Severity.NOTE, message, None, hint))
    previews = list(run_preview(policies, requests.objects, context, show_secrets))
    for folder in folders:
        write_manifests(previews, Path(folder.removeprefix(_MANIFESTS)), show_secrets)
    show(report(previews), outputs)
    broken = requests.policies.diagnostics or any(item.problems for item in previews)
    raise SystemExit(notes.exit_code(bool(broken)))
