"""The option that adds to the releases that are known."""

from __future__ import annotations

from pathlib import Path

import click

matrix_option = click.option(
    "--matrix",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A file with releases of Kyverno and Kubernetes, and faults, that chartkit does not know.",
)
