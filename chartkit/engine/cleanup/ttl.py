"""The label `cleanup.kyverno.io/ttl`: how long an object lives, or until when."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from chartkit.engine.ports.cluster import labels_of
from chartkit.errors import InputError
from chartkit.go.duration import parse_duration
from chartkit.model import Resource, mapping_at

LABEL: Final = "cleanup.kyverno.io/ttl"
PROPAGATION: Final = "cleanup.kyverno.io/propagation-policy"
"""The annotation that says what becomes of the objects that a deleted one owns."""

_PART: Final = re.compile(r"(\d+)\s*([A-Za-zµ]+)", re.ASCII)
_TIMES: Final = ("%Y-%m-%dT%H%M%SZ", "%Y-%m-%d")
_SECONDS: Final = (
    (("ns", "nano"), 1e-9),
    (("us", "µs", "micro"), 1e-6),
    (("ms", "milli"), 1e-3),
    (("s", "sec"), 1),
    (("m", "min"), 60),
    (("h", "hr", "hour"), 3600),
    (("d", "day"), 86400),
    (("w", "wk", "week"), 604800),
)
"""Units and what they are called; more may follow the last of each (`days`)."""


def deletion_time(resource: Resource, created: datetime) -> datetime | None:
    """Return the time at which an object's label has it deleted; None if it has none.

    created: when the object is made, where it does not say so itself. Raises InputError for a
    label that Kyverno cannot read, and then nothing is deleted.
    """
    text = labels_of(resource.body).get(LABEL)
    metadata = mapping_at(resource.body, "metadata")
    if text is None or metadata.get("deletionTimestamp") is not None:
        return None
    life = _duration(text)
    if life is None:
        return _moment(text, resource)
    try:
        return (_created(metadata.get("creationTimestamp")) or created) + life
    except OverflowError:
        return None


def _duration(text: str) -> timedelta | None:
    try:
        return timedelta(microseconds=parse_duration(text) / 1000)
    except (ValueError, OverflowError):
        pass
    found = [
        int(number) * seconds
        for number, unit in _PART.findall(text)
        for names, seconds in _SECONDS
        if unit.lower() in names or unit.lower().startswith(names[-1])
    ]
    try:
        return timedelta(seconds=sum(found)) if found else None
    except OverflowError:
        return None


def _moment(text: str, resource: Resource) -> datetime:
    for layout in _TIMES:
        try:
            return datetime.strptime(text, layout).replace(tzinfo=UTC)
        except ValueError:
            continue
    raise InputError(
        f"label {LABEL}: {text!r} is neither a duration nor a time: nothing is deleted",
        resource.location,
        "write 2h, 30m, 7d, 2030-01-31 or 2030-01-31T120000Z",
    )


def _created(text: object) -> datetime | None:
    try:
        found = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return found if found is None or found.tzinfo else found.replace(tzinfo=UTC)
