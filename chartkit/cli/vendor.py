"""`chartkit vendor`: use upstream's charts in place of chartkit's."""

from __future__ import annotations

from pathlib import Path

import click

from chartkit.cli.options.groups import download_timeout_option
from chartkit.cli.options.project import project_folder_option


@click.group()
def vendor() -> None:
    """Vendor upstream's charts; `chartkit policies vendor` does so for policies."""


@vendor.command("chart", short_help="Put upstream's chart in place of chartkit's.")
@click.argument("name")
@click.option("--version", required=True, metavar="VERSION", help="The chart's version, as 3.8.1.")
@click.option(
    "--from",
    "source",
    default="",
    metavar="URL|DIR|ARCHIVE",
    help="A Helm repository, an archive or a folder; where the chart is published if not given.",
)
@download_timeout_option
@project_folder_option
def vendor_chart(
    name: str, version: str, source: str, timeout: float | None, project: Path
) -> None:
    """Put upstream's chart NAME (kyverno, kyverno-policies or policy-reporter) into vendor/charts/.

    `chartkit render` uses it from then on, in place of chartkit's own. A lock file keeps its source
    and the digest of every file; a version that was vendored and has changed is refused.
    """
    from chartkit.charts.upstream.vendored import vendor_chart
    from chartkit.network.downloads.lockfile import waiting
    from chartkit.wording import counted

    done = vendor_chart(name, version, project, source, waiting(timeout))
    what = f"{done.chart.name} {done.chart.version}"
    if not done.changed:
        click.echo(f"{done.folder}: {what} is there already, as it was published")
        return
    origin, count = done.lock.origin.shown, len(done.lock.files)
    before = ""
    if done.replaced == done.chart.version:
        before = ", put back as it was"
    elif done.replaced:
        before = f", in place of {done.replaced}"
    click.echo(f"{done.folder}: {what} from {origin}, {counted(count, 'file')}{before}")
    click.echo("next: chartkit render")
