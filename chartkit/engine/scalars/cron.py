"""Standard cron schedules (`github.com/robfig/cron`): five fields, or `@daily` and its like.

CronJobs have them, and Kyverno's webhook takes no other schedule in cleanup policies; the
controllers read `cron_expression`. As in crontab(5), where day of month and day of week are both
restricted, either may fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final, NamedTuple

from chartkit.go.duration import parse_duration

_MONTHS: Final = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")


class _Field(NamedTuple):
    name: str
    least: int
    most: int
    names: tuple[str, ...] = ()


_FIELDS: Final = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of week", 0, 6, _DAYS),
)
_NAMED: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_DIGITS: Final = 18
"""The digits of the largest number that is read."""
_LONGEST: Final = timedelta(days=366 * 9)
"""The 29th of February may be eight years away, across a century's end."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule in UTC; days of the week count from Sunday, 0."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool
    any_weekday: bool

    @staticmethod
    def parse(text: str) -> Schedule:
        """Reads a schedule; raises ValueError."""
        parts = _NAMED.get(text, text).split()
        if len(parts) != len(_FIELDS):
            raise ValueError(f"a schedule has five fields, not {len(parts)}: {text!r}")
        minutes, hours, days, months, weekdays = (
            _values(part, field) for part, field in zip(parts, _FIELDS, strict=True)
        )
        return Schedule(
            tuple(sorted(minutes)),
            tuple(sorted(hours)),
            days,
            months,
            weekdays,
            _is_free(parts[2]),
            _is_free(parts[4]),
        )

    def next(self, after: datetime) -> datetime | None:
        """The first time later than another; None where no day ever fits."""
        moment = after.astimezone(UTC).replace(second=0, microsecond=0) + timedelta(minutes=1)
        day = moment.replace(hour=0, minute=0)
        last = day + _LONGEST
        while day <= last:
            if self._runs_on(day):
                for hour in self.hours:
                    for minute in self.minutes:
                        found = day.replace(hour=hour, minute=minute)
                        if found >= moment:
                            return found
            day += timedelta(days=1)
        return None

    def runs(self, first: date, days: int) -> int:
        """Return how often it runs on a number of days."""
        dates = (first + timedelta(days=offset) for offset in range(days))
        return sum(map(self._runs_on, dates)) * len(self.hours) * len(self.minutes)

    def _runs_on(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        in_month, in_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        if self.any_day or self.any_weekday:
            return in_month and in_week
        return in_month or in_week


def _is_free(text: str) -> bool:
    """Report whether a field restricts nothing; one that counts in steps does."""
    return any(part in ("*", "?") for part in text.split(","))


def _values(text: str, field: _Field) -> frozenset[int]:
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        span, slash, step = part.partition("/")
        first, *last = span.split("-")
        if first in ("*", "?"):
            least, most = field.least, field.most
        elif len(last) > 1:
            raise ValueError(f"{field.name}: {part!r} is not a range")
        else:
            least = _number(first, field)
            most = _number(last[0], field) if last else field.most if slash else least
        stride = _whole(step, field) if slash else 1
        if least < field.least or most > field.most or least > most or not stride:
            raise ValueError(f"{field.name}: {part!r} is outside {field.least}-{field.most}")
        found.update(range(least, most + 1, stride))
    return frozenset(found)


def _number(text: str, field: _Field) -> int:
    if text.lower() in field.names:
        return field.names.index(text.lower()) + field.least
    return _whole(text, field)


def _whole(text: str, field: _Field) -> int:
    digits = text.removeprefix("+")
    if not (digits.isascii() and digits.isdigit()) or len(digits.lstrip("0")) > _DIGITS:
        raise ValueError(f"{field.name}: {text!r} is not a number")
    return int(digits)


def is_standard(text: str) -> bool:
    """Report whether a text is a standard schedule; `@every 1h30m` is one as well."""
    every, is_interval, duration = text.partition("@every ")
    try:
        if is_interval and not every:
            parse_duration(duration)
        else:
            Schedule.parse(text)
    except (ValueError, OverflowError):
        return False
    return True
