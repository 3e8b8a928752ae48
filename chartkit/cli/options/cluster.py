"""The options that choose a cluster."""

from __future__ import annotations

from pathlib import Path

import click

from chartkit.cli.options.groups import Option

context_option = click.option(
    "--context", metavar="NAME", help="The kubeconfig's context; the current one if not given."
)
record_option = click.option(
    "--record",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write everything that is read to DIR, to take as PATH without the cluster.",
)


def policies_from_option(help_text: str) -> Option:
    """Return the option that takes policies of a live cluster, or of a recording of one."""
    return click.option("--policies-from", metavar="cluster|DIR", help=help_text)
