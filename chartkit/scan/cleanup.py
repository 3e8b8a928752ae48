"""The deletions that cleanup policies and TTL labels plan: `chartkit scan --at TIME`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from chartkit.engine import Cleaner, Deletion, World, as_submitted, plan_deletions
from chartkit.errors import InputError
from chartkit.model import Body, Diagnostic, Resource


def parse_time(text: str, now: datetime) -> datetime:
    """Read `now`, a date or a time (RFC 3339; without a zone it is UTC); raise InputError."""
    if text == "now":
        return now
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        hint = "write now, 2030-01-31 or 2030-01-31T12:00:00Z"
        raise InputError(f"--at '{text}' is no time", hint=hint) from None


def planned_deletions(
    policies: Sequence[Cleaner],
    found: Sequence[Resource],
    at: datetime,
    namespaces: Mapping[str, Mapping[str, str]],
    world: World,
) -> tuple[list[Deletion], list[Diagnostic]]:
    """Return the planned deletions of objects, and diagnostics for what could not be decided."""
    resources = [as_submitted(one) for one in found]
    try:
        planned, diagnostics = plan_deletions(policies, resources, at, namespaces, world)
    except OverflowError:
        raise InputError(f"--at {at:%Y-%m-%d} is beyond the calendar") from None
    return planned, diagnostics


def as_rows(planned: Sequence[Deletion]) -> list[Body]:
    """Return the deletions for programs; `resource` as in other rows of a JSON report."""
    return [
        {
            "time": _shown(one.time),
            "resource": "/".join(
                (
                    one.resource.api_version,
                    one.resource.kind,
                    one.resource.namespace,
                    one.resource.name,
                )
            ),
            "cause": one.cause,
            "propagation": one.propagation,
        }
        for one in planned
    ]


def as_lines(planned: Sequence[Deletion], at: datetime) -> Iterator[str]:
    """Yield the deletions as text: their number, then a line for each."""
    yield f"deletions after {_shown(at)}: {len(planned)}"
    for one in planned:
        resource = one.resource
        names = (resource.namespace, resource.kind, resource.name)
        how = f" ({one.propagation})" if one.propagation else ""
        yield f"  {_shown(one.time)}  {'/'.join(filter(None, names))}  {one.cause}{how}"


def _shown(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
