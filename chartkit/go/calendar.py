"""Moments as Go's `time.Time` holds them: any year, nanoseconds, and an offset from UTC."""

from __future__ import annotations

from dataclasses import dataclass, replace

from chartkit.go.duration import MAX_DURATION, MIN_DURATION, SECOND

_DAY = 86_400
_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_YEAR_ONE = -62_135_596_800
"""The first second of year 1, counted from 1970; Go truncates from there."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time.

    nanoseconds: since the beginning of 1970 in UTC; offset: seconds east of UTC in which it is
    shown.
    """

    nanoseconds: int
    offset: int = 0

    @classmethod
    def of(cls, date: tuple[int, int, int], seconds: int, nanoseconds: int, offset: int) -> Moment:
        """The moment of a date (year, month, day) and the seconds of the day at an offset."""
        total = _days(*date) * _DAY + seconds - offset
        return cls(total * SECOND + nanoseconds, offset)

    def __str__(self) -> str:
        """The moment in RFC 3339, without a fraction of a second."""
        year, month, day = self.date
        minutes, second = divmod(self._local % _DAY, 60)
        sign = "-" if year < 0 else ""
        date = f"{sign}{abs(year):04d}-{month:02d}-{day:02d}"
        return f"{date}T{minutes // 60:02d}:{minutes % 60:02d}:{second:02d}{self._zone}"

    @property
    def _zone(self) -> str:
        if not self.offset:
            return "Z"
        hours, minutes = divmod(abs(self.offset) // 60, 60)
        # Go takes the sign from the whole minutes.
        negative = self.offset <= -60
        return f"{'-' if negative else '+'}{hours:02d}:{minutes:02d}"

    @property
    def _local(self) -> int:
        return self.nanoseconds // SECOND + self.offset

    @property
    def date(self) -> tuple[int, int, int]:
        """Year, month and day."""
        era, of_era = divmod((self._local // _DAY) + 719_468, 146_097)
        year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
        of_year = of_era - (365 * year + year // 4 - year // 100)
        shifted = (5 * of_year + 2) // 153
        day = of_year - (153 * shifted + 2) // 5 + 1
        month = shifted + 3 if shifted < 10 else shifted - 9
        return year + era * 400 + (month <= 2), month, day

    @property
    def hour_and_minute(self) -> tuple[int, int]:
        """The time of day."""
        return divmod(self._local % _DAY // 60, 60)

    @property
    def weekday(self) -> int:
        """The day of the week; Sunday is 0."""
        return (self._local // _DAY + 4) % 7

    def utc(self) -> Moment:
        """The same moment shown in UTC."""
        return replace(self, offset=0)

    def plus(self, duration: int) -> Moment:
        """The moment so many nanoseconds later."""
        return replace(self, nanoseconds=self.nanoseconds + duration)

    def minus(self, other: Moment) -> int:
        """The nanoseconds since the other moment, at most what a duration holds."""
        return max(MIN_DURATION, min(MAX_DURATION, self.nanoseconds - other.nanoseconds))

    def truncated(self, duration: int) -> Moment:
        """The moment rounded down to a multiple of a duration, counted from year 1 in UTC."""
        if duration <= 0:
            return self
        return self.plus(-((self.nanoseconds - _YEAR_ONE * SECOND) % duration))


def is_leap(year: int) -> bool:
    """Return whether a year has a 29th of February."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def days_in(month: int, year: int) -> int:
    """The days of a month (1 to 12)."""
    return 29 if month == 2 and is_leap(year) else _MONTH_DAYS[month - 1]


def days_before(month: int) -> int:
    """The days of a common year before a month (1 to 13)."""
    return sum(_MONTH_DAYS[: month - 1])


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970 in the Gregorian calendar, for any year."""
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468
