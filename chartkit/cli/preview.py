"""`chartkit preview`: show how policies would change objects."""

from __future__ import annotations

import sys

import click

from chartkit.cli.options.groups import takes
from chartkit.cli.options.output import Notes, OutputOptions, reports, show
from chartkit.cli.options.request import REQUEST_OPTIONS
from chartkit.scan.options import RequestOptions


@click.command()
@takes(RequestOptions, *REQUEST_OPTIONS)
@reports()
def preview(options: RequestOptions, outputs: OutputOptions) -> None:
    """Show how Kyverno would change the objects at PATH: mutated ones as a diff, new ones in full.

    Exits 1 if a rule fails to mutate or generate, or if a policy cannot be compiled; 2 if a file,
    folder or chart cannot be read.
    """
    from chartkit.scan.preview import report, run_preview
    from chartkit.scan.requests import load_requests

    outputs.parsed()
    notes = Notes()
    requests = load_requests(options, sys.stdin, notes)
    context = requests.context(requests.world())
    previews = list(run_preview(requests.policies.policies, requests.objects, context))
    show(report(previews), outputs)
    broken = requests.policies.diagnostics or any(each.problems for each in previews)
    raise SystemExit(notes.exit_code(bool(broken)))
