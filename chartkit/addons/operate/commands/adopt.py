"""`chartkit adopt`: a project for what is in use already."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from chartkit.addon import required
from chartkit.cli.options import context_option, helm_option, record_option, takes
from chartkit.cli.options.output import TEXT, OutputOptions, reports, show
from chartkit.cli.terminal import take_back, track

if TYPE_CHECKING:
    from chartkit.addons.operate.adopt.model import AdoptOptions

_FIRST: Final = "correct what is unread, or list it below exclude: in chartkit.yaml; then "
_FILE = click.Path(path_type=Path)


@click.command()
@takes(
    "chartkit.addons.operate.adopt.model:AdoptOptions",
    click.argument("paths", nargs=-1, metavar="[PATH…]"),
    click.option(
        "--env",
        "environments",
        multiple=True,
        metavar="NAME[=PATH]",
        help="An environment of the project, with what it has besides the other PATHs, such as a "
        "recording of its cluster; repeatable. Default: prd.",
    ),
    click.option(
        "--folder",
        type=click.Path(path_type=Path, file_okay=False),
        default=Path(),
        show_default="the current one",
        help="The folder of the new project.",
    ),
    click.option("--kyverno", metavar="VERSION", help="The Kyverno that runs there."),
    click.option("--kubernetes", metavar="VERSION", help="The clusters' version, such as 1.34."),
    click.option("--eks", metavar="VERSION", help="The clusters' version, where they are on EKS."),
    click.option(
        "--values",
        multiple=True,
        type=_FILE,
        metavar="FILE",
        help="Values of Kyverno's chart, such as `helm get values` prints them; the last one wins; "
        "repeatable.",
    ),
    click.option(
        "--chart-version",
        metavar="VERSION",
        help="The version of Kyverno's chart that the values are for; as a rule their keys say it.",
    ),
    click.option(
        "--cluster",
        is_flag=True,
        help="Read a live cluster, read-only. A PATH that --record wrote is read as a cluster "
        "without this option.",
    ),
    context_option,
    record_option,
    click.option(
        "--exclude",
        multiple=True,
        metavar="PATTERN",
        help="Leave out the files, folders and charts below the PATHs that match, now and in the "
        "project; as in .gitignore; repeatable.",
    ),
    click.option("--force", is_flag=True, help="Overwrite files of a project that is there."),
    click.option("--dry-run", is_flag=True, help="Write nothing; report what would be written."),
    helm_option(),
)
@reports("-o", "--output")
def adopt(options: AdoptOptions, outputs: OutputOptions) -> None:
    """Write a project for what is in use: Kyverno's values, policies, exceptions and versions, and
    a baseline of what violates the policies today. PATH is a manifest, a folder, a chart, values of
    Kyverno's chart, - (stdin), or a recording of a cluster; --cluster reads a live one.

    Reports what was taken, what the charts would change, and what could not be taken. All files
    are written or none. Exits 1 if something was left behind, 2 for input that cannot be read and
    for files that are there already.
    """
    required("migrate", "the command 'adopt'")
    from chartkit.addons.operate.adopt.run import adopt as adopted
    from chartkit.addons.operate.adopt.run import report, write
    from chartkit.documents.unread import EXIT_CODE

    outputs.parsed()
    if not options.dry_run:
        take_back(options.folder)
    adoption = adopted(options, sys.stdin, track)
    if not options.dry_run:
        write(adoption)
    show(report(adoption), outputs)
    if TEXT in outputs.parsed():
        where = "" if options.folder == Path() else f" --project {shlex.quote(str(options.folder))}"
        first = _FIRST if adoption.exit_code == EXIT_CODE else ""
        done = f"next: {first}chartkit render{where}"
        click.echo("nothing was written: --dry-run" if options.dry_run else done, err=True)
    raise SystemExit(adoption.exit_code)
