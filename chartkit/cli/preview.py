"""`chartkit preview`: what policies would make of objects."""

from __future__ import annotations

import sys
from typing import Any

import click

from chartkit.cli.options.output import output_option
from chartkit.cli.options.request import load_requests, request_options
from chartkit.cli.terminal import wants_colour


@click.command()
@request_options
@output_option("text", "json")
def preview(output: str, **given: Any) -> None:
    """Show what Kyverno would make of the objects at PATH: mutated ones as a diff, new ones whole.

    Exits 1 where a rule that mutates or generates cannot, or a policy cannot be compiled.
    """
    from chartkit.engine.cli_files.admission import Admissions
    from chartkit.scan.preview import FORMATS, run_preview

    loaded = load_requests(given, sys.stdin)
    policies, statements = loaded.policies.policies, loaded.statements
    names = (policy.policy.name for policy in policies)
    admissions = Admissions(
        names, statements.values, statements.user, loaded.namespaces, loaded.namespace_objects
    )
    world = statements.world(policies, loaded.found)
    found = list(run_preview(policies, loaded.found, admissions, world))
    click.echo(FORMATS[output](found, wants_colour()), nl=False)
    broken = loaded.policies.diagnostics or any(one.problems for one in found)
    raise SystemExit(1 if broken else 0)
