"""Cron expressions as Kyverno's controllers read them (`github.com/aptible/supercronic/cronexpr`):
five fields, a sixth for years, and a seventh before them for seconds.

Beyond crontab(5), a day of the month may be `L` (the last), `LW` (the last working day) or `15W`
(the working day next to it), and a day of the week `5L` (the last Friday) or `5#3` (the third).
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final, NamedTuple

_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_DAYS: Final = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_SIXTY: Final = "0?[0-9]|[1-5][0-9]"


def _tokens(names: tuple[str, ...], first: int) -> dict[str, int]:
    return {
        spelled: value
        for value, name in enumerate(names, first)
        for spelled in (name, name[:3], str(value))
    }


class _Field(NamedTuple):
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


_SECOND: Final = _Field("second", 0, 59, _SIXTY)
_MINUTE: Final = _Field("minute", 0, 59, _SIXTY)
_HOUR: Final = _Field("hour", 0, 23, "0?[0-9]|1[0-9]|2[0-3]")
_DAY: Final = _Field("day-of-month", 1, 31, "0?[1-9]|[12][0-9]|3[01]")
_MONTH: Final = _Field(
    "month",
    *(1, 12),
    "|".join(("0?[1-9]|1[012]", *_MONTHS, *(name[:3] for name in _MONTHS))),
    _tokens(_MONTHS, 1),
)
_WEEKDAY: Final = _Field(
    "day-of-week",
    *(0, 6),
    "|".join(("0?[0-7]", *_DAYS, *(name[:3] for name in _DAYS))),
    _tokens(_DAYS, 0),
)
_YEAR: Final = _Field("year", 1970, 2099, "19[789][0-9]|20[0-9]{2}")
_NAMED: Final = {
    "@yearly": "0 0 0 1 1 * *",
    "@annually": "0 0 0 1 1 * *",
    "@monthly": "0 0 0 1 * * *",
    "@weekly": "0 0 0 * * 0 *",
    "@daily": "0 0 0 * * * *",
    "@hourly": "0 0 * * * * *",
}
_ALIAS: Final = re.compile("|".join(_NAMED))
_PART: Final = re.compile(r"[^\t\n\f\r ]+")


class _Entry(NamedTuple):
    """One entry of a field: the values it names, or a special form as text."""

    values: range
    is_all: bool = False
    special: str = ""


@dataclass(frozen=True, slots=True)
class _Days:
    """The entries of a field of days; restricted: whether none of them names all days."""

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
        parts = _PART.findall(_ALIAS.sub(lambda match: _NAMED[match[0]], text))[:7]
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
        """Return the first time later than another; None where there is none."""
        moment = after.astimezone(UTC).replace(microsecond=0) + timedelta(seconds=1)
        for day in self._days_from(moment.date()):
            for hour in self.hours:
                for minute in self.minutes:
                    for second in self.seconds:
                        found = datetime(day.year, day.month, day.day, hour, minute, second, 0, UTC)
                        if found >= moment:
                            return found
        return None

    def _days_from(self, first: date) -> Iterator[date]:
        for year in self.years:
            for month in self.months:
                if (year, month) >= (first.year, first.month):
                    found = (date(year, month, day) for day in sorted(self._days_of(year, month)))
                    yield from (day for day in found if day >= first)

    def _days_of(self, year: int, month: int) -> set[int]:
        weekday, last = monthrange(year, month)
        if not (self.days.restricted or self.weekdays.restricted):
            return set(range(1, last + 1))
        found: set[int] = set()
        if self.days.restricted:
            found |= {day for day in self.days.values if day <= last}
            found.update(_special_days(self.days.specials, year, month, last))
        if self.weekdays.restricted:
            # 0 is Sunday.
            begins = (weekday + 1) % 7
            every = range(1, last + 1)
            found |= {day for day in every if (begins + day - 1) % 7 in self.weekdays.values}
            found.update(_special_weekdays(self.weekdays.specials, begins, last))
        return found


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


def _numbers(text: str, field: _Field) -> tuple[int, ...]:
    found: set[int] = set()
    for entry in _entries(text, field):
        if entry.special:
            raise ValueError(f"syntax error in {field.name} field: '{entry.special}'")
        if entry.is_all:
            return tuple(range(field.least, field.most + 1))
        found.update(entry.values)
    return tuple(sorted(found))


def _days(text: str, field: _Field, special: str) -> _Days:
    entries = _entries(text, field)
    specials = [entry.special for entry in entries if entry.special]
    for one in specials:
        if not re.fullmatch(special, one.lower()):
            raise ValueError(f"syntax error in {field.name} field: '{one}'")
    values = frozenset(value for entry in entries for value in entry.values)
    restricted = not any(entry.is_all for entry in entries)
    return _Days(values, tuple(one.lower() for one in specials), restricted)


def _entries(text: str, field: _Field) -> list[_Entry]:
    parts = [part for part in text.split(",") if part]
    if not parts:
        raise ValueError(f"{field.name} field: missing directive")
    return [_entry(part, field) for part in parts]


def _entry(text: str, field: _Field) -> _Entry:
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
