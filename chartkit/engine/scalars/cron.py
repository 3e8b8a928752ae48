"""Cron schedules: the standard ones of CronJobs, and the expressions of Kyverno's controllers.

Standard schedules (`github.com/robfig/cron`) have five fields, or are descriptors such as `@daily`;
Kyverno's webhook accepts no others in cleanup policies. As in crontab(5), where day of month and
day of week are both restricted, either may fit.

The controllers read expressions (`github.com/aptible/supercronic/cronexpr`) of five fields, a sixth
for years, and a seventh before them for seconds. Beyond crontab(5), a day of the month may be `L`
(the last), `LW` (the last working day) or `15W` (the working day next to it), and a day of the week
`5L` (the last Friday) or `5#3` (the third).
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final, NamedTuple

from chartkit.go.duration import parse_duration

_MONTH_NAMES: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTHS: Final = tuple(name[:3] for name in _MONTH_NAMES)
_DAY_NAMES: Final = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_DAYS: Final = tuple(name[:3] for name in _DAY_NAMES)


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
    values: set[int] = set()
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
        values.update(range(least, most + 1, stride))
    return frozenset(values)


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


_SIXTY: Final = "0?[0-9]|[1-5][0-9]"


def _tokens(names: tuple[str, ...], first: int) -> dict[str, int]:
    return {
        spelled: value
        for value, name in enumerate(names, first)
        for spelled in (name, name[:3], str(value))
    }


class _Part(NamedTuple):
    """A field; pattern: of a value; names: values that are not plain numbers (None: all are)."""

    name: str
    least: int
    most: int
    pattern: str
    names: dict[str, int] | None = None

    def value(self, text: str) -> int:
        # Kyverno's parser reads what its table lacks, such as the weekday `05`, as 0.
        if self.names is None:
            return int(text)
        return self.names.get(text.removeprefix("0") if self.least else text, 0)


_SECOND: Final = _Part("second", 0, 59, _SIXTY)
_MINUTE: Final = _Part("minute", 0, 59, _SIXTY)
_HOUR: Final = _Part("hour", 0, 23, "0?[0-9]|1[0-9]|2[0-3]")
_DAY: Final = _Part("day-of-month", 1, 31, "0?[1-9]|[12][0-9]|3[01]")
_MONTH: Final = _Part(
    "month",
    *(1, 12),
    "|".join(("0?[1-9]|1[012]", *_MONTH_NAMES, *_MONTHS)),
    _tokens(_MONTH_NAMES, 1),
)
_WEEKDAY: Final = _Part(
    "day-of-week",
    *(0, 6),
    "|".join(("0?[0-7]", *_DAY_NAMES, *_DAYS)),
    _tokens(_DAY_NAMES, 0),
)
_YEAR: Final = _Part("year", 1970, 2099, "19[789][0-9]|20[0-9]{2}")
_NAMED_TIMES: Final = {
    "@yearly": "0 0 0 1 1 * *",
    "@annually": "0 0 0 1 1 * *",
    "@monthly": "0 0 0 1 * * *",
    "@weekly": "0 0 0 * * 0 *",
    "@daily": "0 0 0 * * * *",
    "@hourly": "0 0 * * * * *",
}
_ALIAS: Final = re.compile("|".join(_NAMED_TIMES))
_PART: Final = re.compile(r"[^\t\n\f\r ]+")


class _Entry(NamedTuple):
    """One entry of a field: the values it names, or a special form as text."""

    values: range
    is_all: bool = False
    special: str = ""


@dataclass(frozen=True, slots=True)
class _Days:
    """The entries of a field of days; restricted: whether no entry covers all days."""

    values: frozenset[int]
    specials: tuple[str, ...]
    restricted: bool


@dataclass(frozen=True, slots=True)
class CronExpression:
    """An expression in UTC."""

    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: _Days
    months: tuple[int, ...]
    weekdays: _Days
    years: tuple[int, ...]

    @staticmethod
    def parse(text: str) -> CronExpression:
        """Read an expression; raise ValueError, in the words of Kyverno's parser."""
        parts = _PART.findall(_ALIAS.sub(lambda match: _NAMED_TIMES[match[0]], text))[:7]
        if len(parts) < 5:
            raise ValueError("missing field(s)")
        if len(parts) < 7:
            parts.insert(0, "0")
        second, minute, hour, day, month, weekday = parts[:6]
        return CronExpression(
            _numbers(second, _SECOND),
            _numbers(minute, _MINUTE),
            _numbers(hour, _HOUR),
            _days(day, _DAY, f"lw?|(?:{_DAY.pattern})w"),
            _numbers(month, _MONTH),
            _days(weekday, _WEEKDAY, f"(?:{_WEEKDAY.pattern})(?:l|#[1-5])"),
            _numbers(parts[6] if len(parts) > 6 else "*", _YEAR),
        )

    def next(self, after: datetime) -> datetime | None:
        """Return the first time later than another; None if the schedule never fires again."""
        moment = after.astimezone(UTC).replace(microsecond=0) + timedelta(seconds=1)
        for day in self._days_from(moment.date()):
            for hour in self.hours:
                for minute in self.minutes:
                    for second in self.seconds:
                        time = datetime(day.year, day.month, day.day, hour, minute, second, 0, UTC)
                        if time >= moment:
                            return time
        return None

    def _days_from(self, first: date) -> Iterator[date]:
        for year in self.years:
            for month in self.months:
                if (year, month) >= (first.year, first.month):
                    days = (date(year, month, day) for day in sorted(self._days_of(year, month)))
                    yield from (day for day in days if day >= first)

    def _days_of(self, year: int, month: int) -> set[int]:
        weekday, last = monthrange(year, month)
        if not (self.days.restricted or self.weekdays.restricted):
            return set(range(1, last + 1))
        days: set[int] = set()
        if self.days.restricted:
            days |= {day for day in self.days.values if day <= last}
            days.update(_special_days(self.days.specials, year, month, last))
        if self.weekdays.restricted:
            # 0 is Sunday.
            begins = (weekday + 1) % 7
            every = range(1, last + 1)
            days |= {day for day in every if (begins + day - 1) % 7 in self.weekdays.values}
            days.update(_special_weekdays(self.weekdays.specials, begins, last))
        return days


def _special_days(specials: tuple[str, ...], year: int, month: int, last: int) -> Iterator[int]:
    for text in specials:
        day = last if text.startswith("l") else int(text.removesuffix("w"))
        if day <= last:
            yield _working_day(date(year, month, day), last) if text.endswith("w") else day


def _working_day(day: date, last: int) -> int:
    """Return the working day next to a day, in the same month."""
    if day.isoweekday() == 6:
        return day.day - 1 if day.day > 1 else day.day + 2
    if day.isoweekday() == 7:
        return day.day + 1 if day.day < last else day.day - 2
    return day.day


def _special_weekdays(specials: tuple[str, ...], begins: int, last: int) -> Iterator[int]:
    for text in specials:
        named, _, week = text.partition("#")
        weekday = _WEEKDAY.value(named if week else named.removesuffix("l"))
        first = 1 + (weekday - begins) % 7
        day = first + 7 * (int(week) - 1) if week else max(range(first, last + 1, 7))
        if day <= last:
            yield day


def _numbers(text: str, field: _Part) -> tuple[int, ...]:
    numbers: set[int] = set()
    for entry in _entries(text, field):
        if entry.special:
            raise ValueError(f"syntax error in {field.name} field: '{entry.special}'")
        if entry.is_all:
            return tuple(range(field.least, field.most + 1))
        numbers.update(entry.values)
    return tuple(sorted(numbers))


def _days(text: str, field: _Part, special: str) -> _Days:
    entries = _entries(text, field)
    specials = [entry.special for entry in entries if entry.special]
    for entry_text in specials:
        if not re.fullmatch(special, entry_text.lower()):
            raise ValueError(f"syntax error in {field.name} field: '{entry_text}'")
    values = frozenset(value for entry in entries for value in entry.values)
    restricted = not any(entry.is_all for entry in entries)
    return _Days(values, tuple(entry_text.lower() for entry_text in specials), restricted)


def _entries(text: str, field: _Part) -> list[_Entry]:
    parts = [part for part in text.split(",") if part]
    if not parts:
        raise ValueError(f"{field.name} field: missing directive")
    return [_entry(part, field) for part in parts]


def _entry(text: str, field: _Part) -> _Entry:
    lowered = text.lower()
    whole = range(field.least, field.most + 1)
    if lowered in ("*", "?"):
        return _Entry(whole, is_all=True)
    pattern = rf"(?:\*|({field.pattern})(?:-({field.pattern}))?)(?:/([0-9]+))?"
    match = re.fullmatch(pattern, lowered)
    if match is None:
        return _Entry(range(0), special=text)
    first, last, step = match.groups()
    begin = field.least if first is None else field.value(first)
    end = field.most if first is None or (step and not last) else field.value(last or first)
    if step is None:
        if end < begin:
            raise ValueError(f"invalid interval {lowered} (normalized to {begin}-{end})")
        return _Entry(range(begin, end + 1))
    # The parser's table of numbers ends where fields do.
    is_number = re.fullmatch(f"{_SIXTY}|{_YEAR.pattern}", step)
    stride = int(step) if is_number else 0
    if not 1 <= stride <= field.most:
        raise ValueError(f"invalid interval {lowered}")
    return _Entry(range(begin, end + 1, stride))
