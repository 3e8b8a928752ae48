"""CEL's timestamps and durations: nanoseconds, and for a timestamp the offset it is shown in."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import ClassVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from chartkit.engine.cel import types
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.types import Type
from chartkit.engine.cel.values import Opaque, checked_int
from chartkit.go.duration import MINUTE, SECOND, DurationError, in_seconds, parse_duration
from chartkit.go.strconv import NumberError, parse_int, quote, wrapped
from chartkit.go.time_layout import RFC3339, Moment, TimeError, days_before, is_leap, parse_time

MIN_SECONDS = -62_135_596_800
MAX_SECONDS = 253_402_300_799
"""The first and the last second of the years 1 to 9999, counted from 1970."""

TIMESTAMP_OVERFLOW = "timestamp overflow"

_STRICT = re.compile(
    r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
    r"[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:[0-5][0-9]|60)(?:\.[0-9]+)?"
    r"(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
)


@dataclass(frozen=True, slots=True, order=True)
class Duration(Opaque):
    """A length of time in nanoseconds, within 64 bits."""

    cel_type: ClassVar[Type] = types.DURATION

    nanoseconds: int

    def __str__(self) -> str:
        """The seconds without an exponent: `90s`, `0.001s`."""
        # A double with the fewest digits and no exponent: `strconv.FormatFloat(x, 'f', -1, 64)`.
        return f"{format(Decimal(repr(self.seconds)), 'f').removesuffix('.0')}s"

    @property
    def seconds(self) -> float:
        """The duration in seconds, computed as Go's `Duration.Seconds` does."""
        return in_seconds(self.nanoseconds)

    def whole(self, unit: int) -> int:
        """Return the number of whole units (in nanoseconds), truncated towards zero."""
        count = abs(self.nanoseconds) // unit
        return -count if self.nanoseconds < 0 else count


@dataclass(frozen=True, slots=True, order=True)
class Timestamp(Opaque):
    """A point in time; two are equal whatever their offsets.

    nanoseconds: since the beginning of 1970 in UTC; offset: seconds east of UTC in which it is
    shown.
    """

    cel_type: ClassVar[Type] = types.TIMESTAMP

    nanoseconds: int
    offset: int = field(default=0, compare=False)

    def __str__(self) -> str:
        """The timestamp in RFC 3339 with as much of a fraction as it has."""
        text, rest = str(self.moment), self.nanoseconds % SECOND
        if not rest:
            return text
        end = text.index("T") + len("T00:00:00")
        return f"{text[:end]}.{rest:09d}".rstrip("0") + text[end:]

    @property
    def moment(self) -> Moment:
        """The timestamp as the calendar has it."""
        return Moment(self.nanoseconds, self.offset)

    @property
    def seconds(self) -> int:
        """Whole seconds since 1970."""
        return self.nanoseconds // SECOND

    @property
    def time_of_day(self) -> tuple[int, int, int, int]:
        """Hour, minute, second and nanosecond."""
        local, nanosecond = divmod(self.nanoseconds + self.offset * SECOND, SECOND)
        minutes, second = divmod(local % 86_400, 60)
        return minutes // 60, minutes % 60, second, nanosecond

    @property
    def day_of_year(self) -> int:
        """The day of the year; the first is 0."""
        year, month, day = self.moment.date
        return days_before(month) + (month > 2 and is_leap(year)) + day - 1

    def plus(self, duration: Duration) -> Timestamp:
        """The timestamp later by a duration, at the same offset; raises `CelError`."""
        return checked_timestamp(self.nanoseconds + duration.nanoseconds, self.offset)

    def minus(self, other: Timestamp) -> Duration:
        """Return the time since another timestamp; raises `CelError` beyond 292 years."""
        seconds = checked_int((self.seconds - other.seconds) * SECOND)
        return Duration(
            checked_int(seconds + self.nanoseconds % SECOND - other.nanoseconds % SECOND)
        )


def checked_timestamp(nanoseconds: int, offset: int = 0) -> Timestamp:
    """The timestamp, if it is within the years 1 to 9999; raises `CelError`."""
    if MIN_SECONDS <= nanoseconds // SECOND <= MAX_SECONDS:
        return Timestamp(nanoseconds, offset)
    raise CelError(TIMESTAMP_OVERFLOW)


def timestamp_of_text(text: str) -> Timestamp:
    """Return the timestamp of a text in RFC 3339; raises `CelError`."""
    if not _STRICT.fullmatch(text):
        raise CelError(f"invalid RFC 3339 timestamp {quote(text)}")
    try:
        moment = parse_time(RFC3339, text)
    except TimeError:
        message = f"type conversion error from 'string' to '{types.TIMESTAMP}'"
        raise CelError(message) from None
    return checked_timestamp(moment.nanoseconds, moment.offset)


def duration_of_text(text: str) -> Duration:
    """Return the duration of a text such as `1h30m`; raises `CelError`."""
    try:
        return Duration(parse_duration(text))
    except DurationError:
        message = f"type conversion error from 'string' to '{types.DURATION}'"
        raise CelError(message) from None


def in_zone(timestamp: Timestamp, zone: str) -> Timestamp:
    """The timestamp shown in an IANA zone or at a fixed offset such as `-03:30`.

    Raises `CelError`. The hours of an offset are not limited, as cel-go does not limit them.
    """
    if ":" in zone:
        hours_text, _, minutes_text = zone.partition(":")
        hours, minutes = _number(hours_text), _number(minutes_text)
        total = hours * 60 - minutes if zone.startswith("-") else hours * 60 + minutes
        # Go computes in 64 bits and does not ask whether the hours fit.
        seconds = Duration(wrapped(wrapped(total) * MINUTE)).whole(SECOND)
        return replace(timestamp, offset=seconds)
    if zone in _UTC_NAMES:
        return replace(timestamp, offset=0)
    seconds = min(max(timestamp.seconds, MIN_SECONDS + _MARGIN), MAX_SECONDS - _MARGIN)
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    offset = moment.astimezone(_zone(zone)).utcoffset()
    return replace(timestamp, offset=0 if offset is None else int(offset.total_seconds()))


_UTC_NAMES = frozenset({"", "UTC", "Local"})
"""Kubernetes' and Kyverno's processes run in UTC."""

_MARGIN = 2 * 86_400
"""Python's dates end where timestamps end, so that an offset could lead out of them."""


@lru_cache(maxsize=64)
def _zone(name: str) -> ZoneInfo:
    if ".." in name or name[0] in "/\\":
        raise CelError("time: invalid location name")
    unknown = CelError(f"unknown time zone {name}")
    if "\\" in name:
        # No zone's name has one, and to some systems it parts folders.
        raise unknown
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise unknown from None


def _number(text: str) -> int:
    try:
        return parse_int(text)
    except NumberError as error:
        message = str(error).replace("strconv.ParseInt", "strconv.Atoi")
        raise CelError(message) from None
