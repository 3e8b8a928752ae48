"""The deletions that `--at TIME` plans, by cleanup policies and TTL labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from chartkit.engine import World, as_submitted
from chartkit.engine.kubernetes.kinds import CustomNames
from chartkit.errors import InputError
from chartkit.model import Body, Diagnostic, Resource

if TYPE_CHECKING:
    from chartkit.engine.cleanup import Cleaner, Deletion


def parse_time(text: str, now: datetime) -> datetime:
    """Read `now`, a date or a time (RFC 3339; without a zone it is UTC); raise InputError."""
    if text == "now":
        return now
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        hint = "write now, 2030-01-31 or 2030-01-31T12:00:00Z"
        raise InputError(f"--at '{text}' is not a time", hint=hint) from None


def planned_deletions(
    policies: Sequence[Cleaner],
    objects: Sequence[Resource],
    at: datetime,
    namespaces: Mapping[str, Mapping[str, str]],
    world: World,
    custom: CustomNames,
) -> tuple[list[Deletion], list[Diagnostic]]:
    """Return the planned deletions of objects, and diagnostics for what could not be decided;
    custom: the names of the custom kinds that have definitions."""
    from chartkit.engine.cleanup import plan_deletions

    resources = [as_submitted(resource, custom=custom) for resource in objects]
    try:
        planned, diagnostics = plan_deletions(policies, resources, at, namespaces, world)
    except OverflowError:
        raise InputError(f"--at {at:%Y-%m-%d} is beyond the calendar") from None
    return planned, diagnostics


def as_rows(planned: Sequence[Deletion]) -> list[Body]:
    """Return the deletions for programs; `resource` as in other rows of a JSON report."""
    return [
        {
            "time": _shown(deletion.time),
            "resource": "/".join(
                (
                    deletion.resource.api_version,
                    deletion.resource.kind,
                    deletion.resource.namespace,
                    deletion.resource.name,
                )
            ),
            "cause": deletion.cause,
            "propagation": deletion.propagation,
        }
        for deletion in planned
    ]


def as_lines(planned: Sequence[Deletion], at: datetime) -> Iterator[str]:
    """Yield the deletions as text: their number, then a line for each."""
    yield f"deletions after {_shown(at)}: {len(planned)}"
    for deletion in planned:
        resource = deletion.resource
        names = (resource.namespace, resource.kind, resource.name)
        how = f" ({deletion.propagation})" if deletion.propagation else ""
        yield f"  {_shown(deletion.time)}  {'/'.join(filter(None, names))}  {deletion.cause}{how}"


def _shown(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
