"""The options of commands that work on a project's charts, or on one of its environments."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from chartkit.scan.environment import ProjectEnvironment

project_option = click.option(
    "--project",
    "path",
    type=click.Path(path_type=Path),
    default=Path(),
    metavar="PATH",
    help="The project file or its folder; the current folder if not given.",
)

project_folder_option = click.option(
    "--project",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=Path(),
    metavar="FOLDER",
    help="The folder with chartkit.yaml and vendor/; the current one if not given.",
)

environment_option = click.option(
    "--env",
    metavar="NAME",
    help="Take the policies of an environment of the project, as its charts on disk have them: "
    "form, actions, exclusions, exceptions, and the filters of its Kyverno.",
)


def project_environment(path: Path, name: str) -> ProjectEnvironment:
    """Return an environment's policies; path: the project's. Raise InputError and RenderError."""
    from chartkit.project.project import read_project
    from chartkit.render.environment import project_environment

    project = read_project(path)
    return project_environment(project, project.environment(name))
