"""The parts of timestamps and durations: `getFullYear`, `getHours` …"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from chartkit.engine.cel.declarations import Implementation, Overload, overload
from chartkit.engine.cel.times import Duration, Timestamp, in_zone
from chartkit.go.duration import HOUR, MILLISECOND, MINUTE

_Part = Callable[[Timestamp], int]


def _whole_seconds(duration: Duration) -> int:
    # By way of a double, as Go has it: the last of many digits may be rounded.
    return int(duration.seconds)


_PARTS: tuple[tuple[str, str, _Part, str, int], ...] = (
    ("getFullYear", "year", lambda time: time.moment.date[0], "The year", 2024),
    ("getMonth", "month", lambda time: time.moment.date[1] - 1, "The month; January is 0", 4),
    (
        "getDayOfYear",
        "day_of_year",
        lambda time: time.day_of_year,
        "The day of the year; the first is 0",
        126,
    ),
    (
        "getDayOfMonth",
        "day_of_month",
        lambda time: time.moment.date[2] - 1,
        "The day of the month; the first is 0",
        5,
    ),
    (
        "getDate",
        "day_of_month_1_based",
        lambda time: time.moment.date[2],
        "The day of the month; the first is 1",
        6,
    ),
    (
        "getDayOfWeek",
        "day_of_week",
        lambda time: time.moment.weekday,
        "The day of the week; Sunday is 0",
        1,
    ),
    ("getHours", "hours", lambda time: time.time_of_day[0], "The hour of the day", 22),
    ("getMinutes", "minutes", lambda time: time.time_of_day[1], "The minute of the hour", 8),
    ("getSeconds", "seconds", lambda time: time.time_of_day[2], "The second of the minute", 9),
    (
        "getMilliseconds",
        "milliseconds",
        lambda time: time.time_of_day[3] // MILLISECOND,
        "The millisecond of the second",
        125,
    ),
)
_DURATIONS: tuple[tuple[str, str, Callable[[Duration], int], int], ...] = (
    ("getHours", "hours", lambda duration: duration.whole(HOUR), 1),
    ("getMinutes", "minutes", lambda duration: duration.whole(MINUTE), 61),
    ("getSeconds", "seconds", _whole_seconds, 3661),
    ("getMilliseconds", "milliseconds", lambda duration: duration.whole(MILLISECOND), 3_661_500),
)
_TIME = "timestamp('2024-05-06T22:08:09.125Z')"


def _in_utc(part: _Part) -> Implementation:
    def in_utc(time: Timestamp) -> int:
        return part(in_zone(time, "UTC"))

    return in_utc


def _in_zone(part: _Part) -> Implementation:
    def zoned(time: Timestamp, zone: str) -> int:
        return part(in_zone(time, zone))

    return zoned


def _overloads() -> Iterator[Overload]:
    for function, id, part, doc, value in _PARTS:
        yield overload(
            f"timestamp_to_{id}: timestamp.{function}() -> int",
            f"{doc}, in UTC.",
            f"{_TIME}.{function}()  // {value}",
        )(_in_utc(part))
        zoned = "seconds_tz" if id == "seconds" else f"{id}_with_tz"
        yield overload(
            f"timestamp_to_{zoned}: timestamp.{function}(string) -> int",
            f"{doc}, in an IANA zone (`Europe/Berlin`) or at an offset (`-03:30`).",
            f"{_TIME}.{function}('+00:00')  // {value}",
        )(_in_zone(part))
    for function, unit, count, value in _DURATIONS:
        yield overload(
            f"duration_to_{unit}: duration.{function}() -> int",
            f"The whole duration in {unit}, cut towards zero.",
            f"duration('1h1m1.5s').{function}()  // {value}",
        )(count)


OVERLOADS: tuple[Overload, ...] = tuple(_overloads())
