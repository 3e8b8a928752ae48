"""`chartkit test`: run Kyverno's test files with the bundled engine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from chartkit.cli.options.output import OutputOptions, reports, show


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH…")
@click.option(
    "-f",
    "--file-name",
    default="kyverno-test.yaml",
    show_default=True,
    help="The name of test files.",
)
@reports()
@click.option("--detailed", is_flag=True, help="Show passed results as well.")
@click.option(
    "--coverage",
    is_flag=True,
    help="List the rules that no test reaches, that match nothing, or that never failed.",
)
def test(
    options: OutputOptions, paths: Sequence[Path], file_name: str, detailed: bool, coverage: bool
) -> None:
    """Run the kyverno-test.yaml files at and below PATH, as `kyverno test` runs them.

    Exits 1 if a result is not the expected one, 2 if a test cannot be run.
    """
    from chartkit.testing.coverage import coverage_of
    from chartkit.testing.report import Options, report
    from chartkit.testing.runner import run_tests

    options.parsed()
    results = list(run_tests(paths, file_name))
    covered = coverage_of(results) if coverage else None
    show(report(results, Options(detailed, coverage=covered)), options)
    if any(case.error for case in results):
        raise SystemExit(2)
    raise SystemExit(max(case.exit_code for case in results))
