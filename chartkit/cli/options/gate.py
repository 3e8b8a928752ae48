"""The options of commands with a gate: `GateOptions`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from chartkit.cli.options.numbers import number_option
from chartkit.scan.gate.options import Threshold

SELECTOR: Final = "[KEY:]PATTERN"
GATE_OPTIONS: Final = (
    click.option(
        "--baseline",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="A file of known violations, which do not fail the run.",
    ),
    click.option(
        "--update-baseline",
        is_flag=True,
        help="Write the violations of this run to the baseline; reasons, ends and comments stay.",
    ),
    click.option(
        "--fail-on-stale",
        is_flag=True,
        help="Exit 1 if the baseline has a violation that no longer occurs.",
    ),
    click.option(
        "--fail-on",
        type=click.Choice([str(each) for each in Threshold]),
        help="The least severity of a violation that fails the run. Default: any violation does; "
        "one without a severity always does, except with none.",
    ),
    number_option(
        "--warn-exit-code",
        (0, 255),
        None,
        "The exit code if nothing fails the run and there are warnings, or violations below "
        "--fail-on.",
        unit="N",
    ),
    click.option("--fail-on-nothing", is_flag=True, help="Exit 1 if no policy matched any object."),
    click.option(
        "--select",
        multiple=True,
        metavar=SELECTOR,
        help="Count only these results: a policy, or policy:, rule:, category:, severity:, kind: "
        "or namespace: and a pattern, or a control such as cis:5.2.3; repeatable.",
    ),
    click.option(
        "--skip", multiple=True, metavar=SELECTOR, help="Leave these results out; repeatable."
    ),
    click.option(
        "--suppressions/--no-suppressions",
        default=True,
        help="Whether the annotation chartkit.dev/suppress of an object counts. Default: it does.",
    ),
    click.option(
        "-q",
        "--quiet",
        is_flag=True,
        help="Show only failures and errors; reports in other formats than text stay whole.",
    ),
)
