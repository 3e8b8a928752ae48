"""`chartkit values`: checks people's own values files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click


@click.group()
def values() -> None:
    """Check values files."""


@values.command("lint")
@click.argument(
    "files",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE…",
)
@click.option(
    "--chart",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="FOLDER",
    help="The chart that they are for; Kyverno's engine if not given.",
)
@click.option("--ha", "available", is_flag=True, help="The engine must be highly available.")
@click.option("--fix", is_flag=True, help="Mend what can be mended without changing what works.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text")
def lint_values(
    files: Sequence[Path], chart: Path | None, available: bool, fix: bool, output: str
) -> None:
    """Say what is wrong with values files, the last FILE wins; `chartkit explain ID` says more.

    Exits 1 where there is an error.
    """
    from chartkit.lint.files import check_files, defaults
    from chartkit.lint.findings import FORMATS
    from chartkit.model import Severity

    if fix:
        _mend(files, defaults(chart))
    found = check_files(files, chart, available)
    click.echo(FORMATS[output](found), nl=False)
    raise SystemExit(1 if any(each.severity is Severity.ERROR for each in found) else 0)


def _mend(files: Sequence[Path], defaults: dict[str, object]) -> None:
    from chartkit.documents import read_source
    from chartkit.lint.fixes import mend
    from chartkit.report.outputs import write_whole

    for file in files:
        text, done = mend(read_source(file), str(file), defaults)
        if done:
            write_whole(file, text)
            click.echo(f"{file}: mended {', '.join(done)}", err=True)
