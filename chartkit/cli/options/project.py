"""The option `--project` of commands that work on a project's charts."""

from __future__ import annotations

from pathlib import Path

import click

project_option = click.option(
    "--project",
    "path",
    type=click.Path(path_type=Path),
    default=Path(),
    metavar="PATH",
    help="The project file or its folder; the current folder if not given.",
)
