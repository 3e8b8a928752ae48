"""`chartkit rescue`: open a cluster that Kyverno's webhooks lock."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from chartkit.cli.options import context_option
from chartkit.cli.options.output import OutputOptions, reports, show
from chartkit.safe_text import shown

if TYPE_CHECKING:
    from chartkit.addons.operate.rescue.diagnosis import Diagnosis
    from chartkit.addons.operate.rescue.webhooks import Outcome
    from chartkit.network.cluster.client import Cluster


@click.command()
@context_option
@click.option(
    "--yes", is_flag=True, help="Carry out the change; without this option it is only printed."
)
@click.option("--restore", is_flag=True, help="Set the webhooks back to what the record says.")
@click.option("--force", is_flag=True, help="Restore even if nothing answers the webhooks yet.")
@click.option(
    "--record",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("chartkit-rescue.yaml"),
    show_default=True,
    help="The file for what the webhooks were.",
)
@reports()
def rescue(
    options: OutputOptions,
    context: str | None,
    yes: bool,
    restore: bool,
    force: bool,
    record: Path,
) -> None:
    """Find what locks a cluster whose Kyverno does not answer, and open it.

    Prints which webhooks refuse requests and the smallest change that opens the cluster, and makes
    it with --yes: failurePolicy Ignore, for these webhooks alone. Works while admission is refused.
    Exits 1 while the cluster is locked.
    """
    from chartkit.addons.operate.rescue import webhooks
    from chartkit.addons.operate.rescue.diagnosis import diagnose
    from chartkit.addons.operate.rescue.report import report
    from chartkit.network.cluster.client import connect

    if force and not restore:
        raise click.UsageError("--force belongs to --restore")
    if yes and restore:
        raise click.UsageError("--restore needs no --yes: it undoes what the record names")
    is_text = [str(output.format) for output in options.parsed()] == ["text"]
    if restore and not is_text:
        raise click.UsageError("--restore has no report: leave -o and --query out")
    cluster = connect(context)
    diagnosis = diagnose(cluster)
    if restore:
        _restore(cluster, diagnosis, record, force)
        return
    show(report(diagnosis), options)
    if not diagnosis.is_locked:
        return
    if not yes:
        click.echo("nothing was done: --yes does it", err=True)
        raise SystemExit(1)
    outcome = webhooks.open_webhooks(cluster, diagnosis.opening, record)
    last = f"{record} holds what they were: when Kyverno answers again, "
    _tell(outcome, f"{last}`chartkit rescue --restore` sets them back", err=not is_text)


def _restore(cluster: Cluster, found: Diagnosis, record: Path, force: bool) -> None:
    from chartkit.addons.operate.rescue import webhooks
    from chartkit.addons.operate.rescue.webhooks import read
    from chartkit.errors import InputError
    from chartkit.model import Location

    if not record.exists():
        hint = "name the record by --record FILE"
        raise InputError("there is no record to restore from", Location(str(record)), hint)
    silent = found.silent(read(record).opened)
    if silent and not force:
        for service, reason in silent.items():
            text = f"nothing answers Kyverno's webhooks at {service}: {reason}"
            click.echo(shown(text), err=True)
        click.echo("nothing was restored: it would lock the cluster (--force does it)", err=True)
        raise SystemExit(1)
    _tell(webhooks.restore(cluster, record), f"restored; {record} is removed")


def _tell(outcome: Outcome, last: str, err: bool = False) -> None:
    for line in (*outcome.changed, *outcome.notes, last):
        click.echo(shown(line), err=err)
