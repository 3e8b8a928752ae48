"""`kyverno.time`: the time, and times cut to a unit or written as a schedule."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from chartkit.engine.cel.declarations import Library, declared, overload
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.times import MIN_SECONDS, Duration, Timestamp
from chartkit.go.duration import SECOND

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAYS_A_WEEK: Final = 7
_THURSDAY: Final = 4
"""The day of the week of 1970-01-01."""


@overload("time_now: time.now() -> timestamp", hosted=True)
def now(host: Host) -> Timestamp:
    moment = host.now()
    zone = moment.utcoffset() or timedelta()
    microseconds = (moment - _EPOCH) // timedelta(microseconds=1)
    return Timestamp(microseconds * 1_000, int(zone.total_seconds()))


@overload("time_truncate: time.truncate(timestamp, duration) -> timestamp")
def truncate(timestamp: Timestamp, unit: Duration) -> Timestamp:
    if unit.nanoseconds <= 0:
        return timestamp
    since_year_one = timestamp.nanoseconds - MIN_SECONDS * SECOND
    rest = since_year_one % unit.nanoseconds
    return replace(timestamp, nanoseconds=timestamp.nanoseconds - rest)


@overload("time_to_cron: time.toCron(timestamp) -> string")
def to_cron(timestamp: Timestamp) -> str:
    hour, minute, _, _ = timestamp.time_of_day
    _, month, day = timestamp.moment.date
    days = (timestamp.seconds + timestamp.offset) // 86_400
    return f"{minute} {hour} {day} {month} {(days + _THURSDAY) % _DAYS_A_WEEK}"


LIBRARY = Library("kyverno.time", overloads=declared(globals()))
