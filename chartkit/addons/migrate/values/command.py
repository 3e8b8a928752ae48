"""`chartkit values migrate`: values of older charts in the keys of the current ones."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from chartkit.cli.options import Choice
from chartkit.cli.terminal import unfolded


@click.command("migrate", short_help="Migrate values of an older chart.")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), metavar="OLD.yaml")
@click.option(
    "--from",
    "given",
    metavar="VERSION",
    help="The old chart's version, such as 2.5; otherwise derived from the keys.",
)
@click.option(
    "--chart",
    type=Choice(["kyverno", "kyverno-policies", "policy-reporter"]),
    default="kyverno",
    show_default=True,
    help="The chart that the values are for.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The file for the new values; standard output if not given.",
)
@click.option("--write", is_flag=True, help="Write the new values in place of the old ones.")
@click.option(
    "--report",
    type=Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="The format of the report about each key, on standard error.",
)
def migrate_values(
    file: Path, given: str | None, chart: str, output: Path | None, write: bool, report: str
) -> None:
    """Migrate values of an older chart to the current one.

    Prints the new values, and on standard error what changed for each key, why, and what is left to
    do. Comments are kept. Exits 1 if something is left for you to decide.
    """
    from chartkit.addons.migrate.values.report import FORMATS
    from chartkit.addons.migrate.values.run import migrate, read_values
    from chartkit.kyverno.versions import parse_version
    from chartkit.report.files import write_over, write_whole

    if write and output is not None:
        raise click.UsageError("--write and --output exclude each other")
    version = parse_version(given, "the chart") if given else None
    done = migrate(read_values(file), chart, version)
    if write:
        write_over(file, done.text)
    elif output is not None:
        write_whole(output, done.text)
    else:
        click.echo(done.text, nl=False)
    stderr = unfolded(sys.stderr) if report == "json" else sys.stderr
    click.echo(FORMATS[report](done), nl=False, file=stderr)
    raise SystemExit(0 if done.is_whole else 1)
