"""`chartkit preview`: show how policies would change objects."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from chartkit.cli.options.output import Notes, OutputOptions, reports, show
from chartkit.cli.options.request import takes_request
from chartkit.model import Diagnostic, Severity

if TYPE_CHECKING:
    from chartkit.scan.requests import RequestOptions

_MANIFESTS: Final = "manifests="


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
    broken = requests.policies.diagnostics or any(each.problems for each in previews)
    raise SystemExit(notes.exit_code(bool(broken)))
