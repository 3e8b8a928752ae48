"""Options that are numbers between two limits."""

from __future__ import annotations

import click

from chartkit.cli.options.groups import Option


def number_option(
    name: str,
    limits: tuple[float, float | None],
    default: float | None,
    help_text: str,
    *,
    unit: str | None = None,
    parameter: str | None = None,
) -> Option:
    """Return an option that takes a number, a whole one if its lower limit is one.

    limits: the least and the most, None for no most; default: None if the option can be left out;
    unit: as help names it; parameter: where it is not named as the option is.
    """
    kind = click.FloatRange if isinstance(limits[0], float) else click.IntRange
    return click.option(
        name,
        *((parameter,) if parameter else ()),
        type=kind(*limits),
        default=default,
        show_default=default is not None,
        metavar=unit,
        help=help_text,
    )


download_timeout_option = number_option(
    "--timeout",
    (0.1, None),
    None,
    "The time limit for a server's answer; 20 if not given.",
    unit="SECONDS",
)
