"""The options for charts: the Helm that renders them, and for which release."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

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
    click.option("--kube-version", help="The Kubernetes version that charts are rendered for."),
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
