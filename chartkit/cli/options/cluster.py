"""The option that chooses a cluster."""

from __future__ import annotations

import click

context_option = click.option(
    "--context", metavar="NAME", help="The kubeconfig's context; the current one if not given."
)
