"""A diagnosis as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from chartkit.addons.operate.rescue.diagnosis import Diagnosis
from chartkit.addons.operate.rescue.webhooks import FAIL
from chartkit.model import Body

_SHOWN = 10


def as_text(found: Diagnosis) -> str:
    """Return what locks a cluster, what is refused, and what would open it."""
    return "".join(f"{line}\n" for line in _lines(found))


def _lines(found: Diagnosis) -> Iterator[str]:
    yield f"cluster {found.cluster}"
    if not found.webhooks:
        yield "Kyverno has no webhooks here: what is refused, something else refuses"
    for service, reason in found.unanswered.items():
        yield f"nothing answers Kyverno's webhooks at {service}: {reason}"
    yield from _refused(found)
    for each in found.opening:
        yield f"  ! {each.kind} {each.configuration}"
        yield f"    {each.name}: failurePolicy Fail for {each.covers}; {found.reason(each)}"
        if each.exempt:
            yield f"    never sent: namespaces {', '.join(each.exempt)}"
    left = [each for each in found.webhooks if each not in found.opening and each.policy == FAIL]
    if found.opening and left:
        names = ", ".join(sorted({each.name for each in left}))
        yield f"left as they are: {names}"
    for note in found.notes:
        yield f"not asked: {note}"
    count = len(found.opening)
    if count:
        them = "webhook" if count == 1 else "webhooks"
        yield f"to open the cluster: failurePolicy Ignore for {count} {them}"
    elif found.webhooks:
        yield "Kyverno's webhooks answer, or fail open: they do not lock this cluster"


def _refused(found: Diagnosis) -> Iterator[str]:
    if not found.refused:
        return
    yield f"refused, because a webhook did not answer: {len(found.refused)}"
    for each in found.refused[:_SHOWN]:
        what = "a Pod, tried in default as a dry run" if each.is_probe else str(each)
        yield f"  {what} ({each.webhook})"
    if len(found.refused) > _SHOWN:
        yield f"  and {len(found.refused) - _SHOWN} more"


def as_json(found: Diagnosis) -> Body:
    """Return the diagnosis as an object."""
    return {
        "cluster": found.cluster,
        "locked": found.is_locked,
        "unanswered": {str(each): reason for each, reason in found.unanswered.items()},
        "refused": [asdict(each) for each in found.refused],
        "webhooks": [
            {
                "kind": each.kind,
                "configuration": each.configuration,
                "name": each.name,
                "failurePolicy": each.policy,
                "service": str(each.service) if each.service else None,
                "open": each in found.opening,
                "reason": found.reason(each),
            }
            for each in found.webhooks
        ],
        "notes": list(found.notes),
    }
