"""`chartkit report`: reports of scans merged, or compared with earlier ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from chartkit.cli.options.output import OutputOptions, reports, show


@click.group()
def report() -> None:
    """Merge JSON reports of scans, or compare one with an earlier one."""


@report.command(short_help="Merge reports into one, such as those of environments.")
@click.argument("files", nargs=-1, required=True, metavar="[NAME=]FILE…")
@reports()
def merge(options: OutputOptions, files: Sequence[str]) -> None:
    """Merge the JSON reports FILE of `chartkit scan` into one, with NAME for the environment (the
    file's name if not given). `-o html` shows them side by side."""
    from chartkit.catalog.coverage.standards import guidance
    from chartkit.errors import InputError
    from chartkit.report.stored import merged, read_report

    options.parsed()
    named: dict[str, Path] = {}
    for each in files:
        name, equals, file = each.rpartition("=")
        path = Path(file)
        name = name if equals else path.stem
        if name in named:
            raise InputError(f"two reports are named '{name}'", hint=f"write NAME={file}")
        named[name] = path
    stored_reports = [read_report(path, name) for name, path in named.items()]
    show(merged(stored_reports, guidance), options)


@report.command("diff", short_help="List what is new and what is fixed.")
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@reports()
def diff_reports(options: OutputOptions, old: Path, new: Path) -> None:
    """Compare the JSON report NEW of `chartkit scan` with OLD: which findings are new, which fixed.

    Findings are compared by policy, rule, object and field, not by lines. Exits 1 if there are new
    ones.
    """
    from chartkit.catalog.coverage.standards import guidance
    from chartkit.report.stored import changes, compared, read_report

    options.parsed()
    report_changes = changes(read_report(old), read_report(new))
    show(compared(report_changes, guidance), options)
    raise SystemExit(1 if report_changes.new else 0)
