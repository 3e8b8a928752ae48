"""The report of `chartkit rescue`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from chartkit.addons.operate.rescue.diagnosis import Diagnosis
from chartkit.addons.operate.rescue.webhooks import FAIL
from chartkit.model import Body
from chartkit.report.command_report import Block, CommandReport

_SHOWN = 10


def report(found: Diagnosis) -> CommandReport:
    """Return a diagnosis for every format."""
    return CommandReport(
        text=lambda _width: _text(found), value=lambda: _value(found), rows="webhooks"
    )


def _text(found: Diagnosis) -> Iterator[Block]:
    """Yield what locks a cluster, what is refused, and what would open it."""
    yield f"cluster {found.cluster}"
    if not found.webhooks:
        yield "Kyverno has no webhooks here: what is refused, something else refuses"
    for service, reason in found.unanswered.items():
        yield f"nothing answers Kyverno's webhooks at {service}: {reason}"
    if found.refused:
        yield f"refused, because a webhook did not answer: {len(found.refused)}"
    for refusal in found.refused[:_SHOWN]:
        what = "a Pod, tried in default as a dry run" if refusal.is_probe else str(refusal)
        yield f"  {what} ({refusal.webhook})"
    if len(found.refused) > _SHOWN:
        yield f"  and {len(found.refused) - _SHOWN} more"
    for each in found.opening:
        yield f"  ! {each.kind} {each.configuration}"
        yield f"    {each.name}: failurePolicy Fail for {each.covers}; {found.reason(each)}"
        if each.exempt:
            yield f"    never sent: namespaces {', '.join(each.exempt)}"
    left = [each for each in found.webhooks if each not in found.opening and each.policy == FAIL]
    if found.opening and left:
        names = ", ".join(sorted({webhook.name for webhook in left}))
        yield f"left as they are: {names}"
    for note in found.notes:
        yield f"not asked: {note}"
    count = len(found.opening)
    if count:
        them = "webhook" if count == 1 else "webhooks"
        yield f"to open the cluster: failurePolicy Ignore for {count} {them}"
    elif found.webhooks:
        yield "Kyverno's webhooks answer, or fail open: they do not lock this cluster"


def _value(found: Diagnosis) -> Body:
    return {
        "cluster": found.cluster,
        "locked": found.is_locked,
        "unanswered": {str(service): reason for service, reason in found.unanswered.items()},
        "refused": [asdict(refusal) for refusal in found.refused],
        "webhooks": [
            {
                "kind": webhook.kind,
                "configuration": webhook.configuration,
                "name": webhook.name,
                "failurePolicy": webhook.policy,
                "service": str(webhook.service) if webhook.service else None,
                "open": webhook in found.opening,
                "reason": found.reason(webhook),
            }
            for webhook in found.webhooks
        ],
        "notes": list(found.notes),
    }
