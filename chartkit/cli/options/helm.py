"""The option that chooses the Helm that renders charts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


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
