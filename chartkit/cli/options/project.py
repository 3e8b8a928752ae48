"""Options of commands on a project, its charts and environments, or a cluster."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from chartkit.cli.options.groups import Option

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


CHART_OPTIONS: Final = (
    click.option(
        "-n",
        "--namespace",
        "named_namespace",
        help="The namespace that charts are rendered for. Of a cluster, the only namespace to "
        "read. Default: default.",
    ),
    click.option(
        "--release", default="release", show_default=True, help="The charts' release name."
    ),
    click.option(
        "--kube-version",
        "--kubernetes",
        "kube_version",
        help="The Kubernetes version that charts are rendered for, and that decides which kinds "
        "and fields there are. Default: the newest known, or the environment's.",
    ),
)


def helm_option() -> Callable[[Any], Any]:
    """Return the option `--helm library|program|PATH`, whose default is `CHARTKIT_HELM`."""
    return click.option(
        "--helm",
        metavar="library|program|PATH",
        expose_value=False,
        callback=_choose,
        help="The Helm to use for charts: the bundled library, `helm` on PATH, or a program. "
        "Default: $CHARTKIT_HELM, or the library where it is installed.",
    )


def _choose(_context: click.Context, _parameter: click.Parameter, value: str | None) -> None:
    if value:
        from chartkit.helm.backend import choose

        choose(value)


matrix_option = click.option(
    "--matrix",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A file with releases of Kyverno and Kubernetes, and faults, that chartkit does not know.",
)
