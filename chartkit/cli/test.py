"""`chartkit test`: Kyverno's test files through the bundled engine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from chartkit.cli.options.output import output_option
from chartkit.cli.terminal import wants_colour


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH…")
@click.option(
    "-f", "--file-name", default="kyverno-test.yaml", show_default=True, help="Test files' name."
)
@output_option("text", "json", "junit", "markdown")
@click.option("--detailed", is_flag=True, help="Show what passed, too.")
@click.option(
    "--coverage",
    is_flag=True,
    help="Say which rules no test reaches, which match nothing, which never failed.",
)
def test(
    paths: Sequence[Path], file_name: str, output: str, detailed: bool, coverage: bool
) -> None:
    """Run the kyverno-test.yaml files at and below PATH, as `kyverno test` runs them.

    Exits 1 where a result is not the one wanted, 2 where a test cannot be run.
    """
    from chartkit.testing.coverage import coverage_of
    from chartkit.testing.report import FORMATS, Options
    from chartkit.testing.runner import run_tests

    results = list(run_tests(paths, file_name))
    covered = coverage_of(results) if coverage else None
    options = Options(detailed, wants_colour(), covered)
    click.echo(FORMATS[output](results, options), nl=False)
    if any(case.error for case in results):
        raise SystemExit(2)
    raise SystemExit(max(case.exit_code for case in results))
