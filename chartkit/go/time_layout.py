"""Times read by a layout such as `2006-01-02 15:04`, as Go's `time.Parse` reads them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from chartkit.go import GoError
from chartkit.go.duration import MAX_DURATION, MIN_DURATION, SECOND
from chartkit.go.strconv import quote_ascii

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
    """Report whether a year has a 29th of February."""
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


RFC3339 = "2006-01-02T15:04:05Z07:00"

_LONG_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_LONG_DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")

_CHUNK = re.compile(
    r"January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST|0[1-6]|002|15|1|2006|2"
    r"|_(?=2006)|_2|__2|3|4|5|PM|pm"
    r"|-(?:070000|07:00:00|0700|07:00|07)|Z(?:070000|07:00:00|0700|07:00|07)"
    r"|[.,](?:0+|9+)(?![0-9])"
)
_LITERAL_UNDERSCORE = "_"
_ZONE_NAME = re.compile(
    r"ChST|MeST|GMT(?:[+-](?:2[0-3]|[01]?[0-9])(?![0-9]))?|[+-](?:2[0-3]|[01]?[0-9])(?![0-9])"
    r"|(?:[A-Z]{4}T|[A-Z]{3}T|WITA|[A-Z]{3})(?![A-Z])"
)
_FRACTION = re.compile(r"[.,][0-9]+")


class TimeError(GoError):
    """Text that does not fit a layout, with the message of `time.Parse`."""


class _BadError(Exception):
    """The text does not fit this element of the layout."""


class _RangeError(Exception):
    """A number is out of its range; the argument names it."""


@dataclass(slots=True)
class _Fields:
    """The fields that have been read; rest is the text that is left."""

    rest: str
    year: int = 0
    month: int = -1
    day: int = -1
    year_day: int = -1
    hour: int = 0
    minute: int = 0
    second: int = 0
    nanosecond: int = 0
    half: str = ""
    is_utc: bool = False
    offset: int | None = None
    named_offset: int = 0
    following: str = ""

    def take(self, length: int) -> str:
        if len(self.rest) < length:
            raise _BadError
        text, self.rest = self.rest[:length], self.rest[length:]
        return text

    def number(self, fixed: bool, digits: int = 2) -> int:
        length = 0
        while length < digits and self.rest[length : length + 1] in tuple("0123456789"):
            length += 1
        if length == 0 or (fixed and length != digits):
            raise _BadError
        return int(self.take(length))


def parse_time(layout: str, text: str) -> Moment:
    """Return the moment of a text; raises `TimeError`. Without a zone it is in UTC."""
    fields = _Fields(text)
    for prefix, element, following in _chunks(layout):
        if not _skip(fields, prefix):
            raise TimeError(_mismatch(text, layout, fields.rest, prefix))
        if not element:
            if fields.rest:
                extra = f": extra text: {quote_ascii(fields.rest)}"
                raise TimeError(f"parsing time {quote_ascii(text)}{extra}")
            break
        before, fields.following = fields.rest, following
        try:
            _READERS[element[0] if element[0] in ".," else element](fields, element)
        except _RangeError as error:
            raise TimeError(f"parsing time {quote_ascii(text)}: {error} out of range") from None
        except _BadError:
            raise TimeError(_mismatch(text, layout, before, element)) from None
    if fields.half == "pm" and fields.hour < 12:
        fields.hour += 12
    elif fields.half == "am" and fields.hour == 12:
        fields.hour = 0
    if fields.year_day >= 0:
        _apply_year_day(fields, text)
    month = 1 if fields.month < 0 else fields.month
    day = 1 if fields.day < 0 else fields.day
    if not 1 <= day <= days_in(month, fields.year):
        raise TimeError(f"parsing time {quote_ascii(text)}: day out of range")
    seconds = (fields.hour * 60 + fields.minute) * 60 + fields.second
    date = fields.year, month, day
    if fields.offset is not None and not fields.is_utc:
        return Moment.of(date, seconds, fields.nanosecond, fields.offset)
    moment = Moment.of(date, seconds, fields.nanosecond, 0)
    # Go reads the time as UTC and shows it at the offset that a name such as GMT+2 gives.
    return moment if fields.is_utc else replace(moment, offset=fields.named_offset)


def _mismatch(text: str, layout: str, value: str, element: str) -> str:
    prefix = f"parsing time {quote_ascii(text)} as {quote_ascii(layout)}"
    return f"{prefix}: cannot parse {quote_ascii(value)} as {quote_ascii(element)}"


@lru_cache(maxsize=256)
def _chunks(layout: str) -> tuple[tuple[str, str, str], ...]:
    """The elements of a layout: the text before each, the element, the element after it."""
    pieces: list[tuple[str, str]] = []
    start = position = 0
    while match := _CHUNK.search(layout, position):
        position = match.end()
        if match[0] != _LITERAL_UNDERSCORE:
            pieces.append((layout[start : match.start()], match[0]))
            start = position
    pieces.append((layout[start:], ""))
    following = [*(element for _, element in pieces[1:]), ""]
    return tuple((*piece, after) for piece, after in zip(pieces, following, strict=True))


def _skip(fields: _Fields, prefix: str) -> bool:
    while prefix:
        if prefix[0] == " ":
            if fields.rest and fields.rest[0] != " ":
                return False
            prefix, fields.rest = prefix.lstrip(" "), fields.rest.lstrip(" ")
            continue
        if not fields.rest.startswith(prefix[0]):
            return False
        prefix, fields.rest = prefix[1:], fields.rest[1:]
    return True


def _apply_year_day(fields: _Fields, text: str) -> None:
    day = fields.year_day
    prefix = f"parsing time {quote_ascii(text)}: day-of-year"
    leap_day = is_leap(fields.year) and day == 60
    if is_leap(fields.year) and day > 60:
        day -= 1
    if not 1 <= day <= 365:
        raise TimeError(f"{prefix} out of range")
    if leap_day:
        month, of_month = 2, 29
    else:
        month = next(month for month in range(12, 0, -1) if days_before(month) < day)
        of_month = day - days_before(month)
    if fields.month >= 0 and fields.month != month:
        raise TimeError(f"{prefix} does not match month")
    if fields.day >= 0 and fields.day != of_month:
        raise TimeError(f"{prefix} does not match day")
    fields.month, fields.day = month, of_month


def _ranged(value: int, least: int, most: int, name: str) -> int:
    if not least <= value <= most:
        raise _RangeError(name)
    return value


def _long_year(fields: _Fields, _: str) -> None:
    digits = fields.take(4)
    if not re.fullmatch("[0-9]{4}", digits):
        raise _BadError
    fields.year = int(digits)


def _short_year(fields: _Fields, _: str) -> None:
    digits = fields.take(2)
    if not re.fullmatch("[+-]?[0-9]+", digits):
        raise _BadError
    year = int(digits)
    fields.year = year + (1900 if year >= 69 else 2000)


def _name(fields: _Fields, names: Sequence[str], length: int | None) -> int:
    for index, name in enumerate(names):
        wanted = name[:length]
        if fields.rest[: len(wanted)].lower() == wanted.lower():
            fields.rest = fields.rest[len(wanted) :]
            return index
    raise _BadError


def _month_name(fields: _Fields, element: str) -> None:
    fields.month = _name(fields, _LONG_MONTHS, 3 if element == "Jan" else None) + 1


def _day_name(fields: _Fields, element: str) -> None:
    _name(fields, _LONG_DAYS, 3 if element == "Mon" else None)


def _month(fields: _Fields, element: str) -> None:
    fields.month = _ranged(fields.number(element == "01"), 1, 12, "month")


def _day(fields: _Fields, element: str) -> None:
    if element == "_2":
        fields.rest = fields.rest.removeprefix(" ")
    fields.day = fields.number(element == "02")


def _day_of_year(fields: _Fields, element: str) -> None:
    if element == "__2":
        fields.rest = fields.rest.removeprefix(" ").removeprefix(" ")
    fields.year_day = fields.number(element == "002", digits=3)


def _hour(fields: _Fields, element: str) -> None:
    most = 23 if element == "15" else 12
    fields.hour = _ranged(fields.number(element == "03"), 0, most, "hour")


def _minute(fields: _Fields, element: str) -> None:
    fields.minute = _ranged(fields.number(element == "04"), 0, 59, "minute")


def _second(fields: _Fields, element: str) -> None:
    fields.second = _ranged(fields.number(element == "05"), 0, 59, "second")
    fraction = _FRACTION.match(fields.rest)
    if fraction and fields.following[:1] not in {".", ","}:
        fields.nanosecond = _nanoseconds(fields.take(len(fraction[0])))


def _fraction(fields: _Fields, element: str) -> None:
    if element[1] == "9":
        if match := _FRACTION.match(fields.rest):
            fields.nanosecond = _nanoseconds(fields.take(len(match[0])))
        return
    text = fields.take(len(element))
    if not _FRACTION.fullmatch(text):
        raise _BadError
    fields.nanosecond = _nanoseconds(text)


def _nanoseconds(fraction: str) -> int:
    return int(fraction[1:10].ljust(9, "0"))


def _half(fields: _Fields, element: str) -> None:
    text = fields.take(2)
    if text.lower() not in {"am", "pm"} or text.isupper() != element.isupper():
        raise _BadError
    fields.half = text.lower()


def _zone(fields: _Fields, element: str) -> None:
    if element[0] == "Z" and fields.rest.startswith("Z"):
        fields.rest, fields.is_utc = fields.rest[1:], True
        return
    digits = element[1:]
    text = fields.take(len(element))
    parts = re.fullmatch(digits.translate(_ZONE_PATTERN), text[1:])
    if parts is None or text[0] not in "+-":
        raise _BadError
    numbers = text[1:].replace(":", "")
    hours, minutes, seconds = (int(numbers[at : at + 2] or 0) for at in (0, 2, 4))
    for value, most, name in (
        (hours, 24, "hour"),
        (minutes, 60, "minute"),
        (seconds, 60, "second"),
    ):
        _ranged(value, 0, most, f"time zone offset {name}")
    offset = (hours * 60 + minutes) * 60 + seconds
    fields.offset = -offset if text[0] == "-" else offset


_ZONE_PATTERN = {ord("0"): "[0-9]", ord("7"): "[0-9]"}


def _zone_name(fields: _Fields, _: str) -> None:
    if fields.rest.startswith("UTC"):
        fields.rest, fields.is_utc = fields.rest[3:], True
        return
    match = _ZONE_NAME.match(fields.rest)
    if match is None:
        raise _BadError
    fields.rest = fields.rest[match.end() :]
    if match[0].startswith("GMT") and len(match[0]) > 3:
        # Other names are unknown where the local zone is UTC, and count as it.
        fields.named_offset = int(match[0][3:]) * 3600


_READERS: dict[str, Callable[[_Fields, str], None]] = {
    "2006": _long_year,
    "06": _short_year,
    **dict.fromkeys(("January", "Jan"), _month_name),
    **dict.fromkeys(("Monday", "Mon"), _day_name),
    **dict.fromkeys(("1", "01"), _month),
    **dict.fromkeys(("2", "_2", "02"), _day),
    **dict.fromkeys(("002", "__2"), _day_of_year),
    **dict.fromkeys(("15", "3", "03"), _hour),
    **dict.fromkeys(("4", "04"), _minute),
    **dict.fromkeys(("5", "05"), _second),
    **dict.fromkeys(("PM", "pm"), _half),
    "MST": _zone_name,
    **dict.fromkeys((".", ","), _fraction),
    **{
        sign + digits: _zone
        for sign in "-Z"
        for digits in ("070000", "07:00:00", "0700", "07:00", "07")
    },
}
