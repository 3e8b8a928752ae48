"""`chartkit rescue`: open a cluster that Kyverno's webhooks lock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from chartkit.cli.options import context_option
from chartkit.cli.options.output import OutputOptions, reports, show
from chartkit.safe_text import shown

if TYPE_CHECKING:
    from chartkit.addons.operate.rescue import Diagnosis
    from chartkit.model import Body
    from chartkit.network.cluster.client import Cluster
    from chartkit.report.command_report import Block, CommandReport

_SHOWN = 10


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
    options: OutputOptions, context: str | None, yes: bool, restore: bool, force: bool, record: Path
) -> None:
    """Find what locks a cluster whose Kyverno does not answer, and open it.

    Prints which webhooks refuse requests and the smallest change that opens the cluster, and makes
    it with --yes: failurePolicy Ignore, for these webhooks alone. Works while admission is refused.
    Exits 1 while the cluster is locked.
    """
    from chartkit.addons.operate.rescue import diagnose, open_webhooks
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
    lines = open_webhooks(cluster, diagnosis.opening, record)
    last = f"{record} holds what they were: when Kyverno answers again, "
    _tell(lines, f"{last}`chartkit rescue --restore` sets them back", err=not is_text)


def _restore(cluster: Cluster, diagnosis: Diagnosis, record: Path, force: bool) -> None:
    from chartkit.addons.operate.rescue import read, restore
    from chartkit.errors import InputError
    from chartkit.model import Location

    if not record.exists():
        hint = "name the record by --record FILE"
        raise InputError("there is no record to restore from", Location(str(record)), hint)
    if (silent := diagnosis.silent(read(record)[1])) and not force:
        for service, reason in silent.items():
            text = f"nothing answers Kyverno's webhooks at {service}: {reason}"
            click.echo(shown(text), err=True)
        click.echo("nothing was restored: it would lock the cluster (--force does it)", err=True)
        raise SystemExit(1)
    _tell(restore(cluster, record), f"restored; {record} is removed")


def _tell(lines: Sequence[str], last: str, err: bool = False) -> None:
    for line in (*lines, last):
        click.echo(shown(line), err=err)


def report(diagnosis: Diagnosis) -> CommandReport:
    """Return a diagnosis for every format."""
    from chartkit.report.command_report import CommandReport

    return CommandReport(
        text=lambda _width: _text(diagnosis), value=lambda: _value(diagnosis), rows="webhooks"
    )


def _text(state: Diagnosis) -> Iterator[Block]:
    """Yield what locks a cluster, what is refused, and what would open it."""
    from chartkit.wording import counted

    yield f"cluster {state.cluster}"
    if not state.webhooks:
        yield "Kyverno has no webhooks here: what is refused, something else refuses"
    for service, reason in state.unanswered.items():
        yield f"nothing answers Kyverno's webhooks at {service}: {reason}"
    if state.refused:
        yield f"refused, because a webhook did not answer: {len(state.refused)}"
    for refusal in state.refused[:_SHOWN]:
        what = "a Pod, tried in default as a dry run" if refusal.is_probe else str(refusal)
        yield f"  {what} ({refusal.webhook})"
    if len(state.refused) > _SHOWN:
        yield f"  and {len(state.refused) - _SHOWN} more"
    for hook in state.opening:
        yield f"  ! {hook.kind} {hook.configuration}"
        yield f"    {hook.name}: failurePolicy Fail for {hook.covers}; {state.reason(hook)}"
        if hook.exempt:
            yield f"    never sent: namespaces {', '.join(hook.exempt)}"
    left = [hook for hook in state.webhooks if hook not in state.opening and hook.policy == "Fail"]
    if state.opening and left:
        names = ", ".join(sorted({webhook.name for webhook in left}))
        yield f"left as they are: {names}"
    for note in state.notes:
        yield f"not asked: {note}"
    if count := len(state.opening):
        yield f"to open the cluster: failurePolicy Ignore for {counted(count, 'webhook')}"
    elif state.webhooks:
        yield "Kyverno's webhooks answer, or fail open: they do not lock this cluster"


def _value(diagnosis: Diagnosis) -> Body:
    return {
        "cluster": diagnosis.cluster,
        "locked": diagnosis.is_locked,
        "unanswered": diagnosis.unanswered,
        "refused": [asdict(refusal) for refusal in diagnosis.refused],
        "webhooks": [
            {
                "kind": webhook.kind,
                "configuration": webhook.configuration,
                "name": webhook.name,
                "failurePolicy": webhook.policy,
                "service": webhook.service or None,
                "open": webhook in diagnosis.opening,
                "reason": diagnosis.reason(webhook),
            }
            for webhook in diagnosis.webhooks
        ],
        "notes": list(diagnosis.notes),
    }
