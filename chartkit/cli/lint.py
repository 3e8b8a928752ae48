"""`chartkit policies lint`: find mistakes in policies without objects to try them on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from chartkit.cli.options.output import OutputOptions, reports, show
from chartkit.cli.options.project import project_folder_option
from chartkit.cli.terminal import track


@click.command(short_help="Find mistakes in policies.")
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
@reports()
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
    format. Exits 1 if there is an error.
    """
    from chartkit.catalog.authoring.findings import report
    from chartkit.catalog.authoring.lint import lint_policies
    from chartkit.catalog.policy_lint.levels import levels
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
    show(report(result, known_explanations()), options)
    warned = strict and any(each.severity is Severity.WARNING for each in result.diagnostics)
    raise SystemExit(1 if result.failed or warned else 0)
