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


_PARTS: dict[str, tuple[str, _Part]] = {
    "getFullYear": ("year", lambda time: time.moment.date[0]),
    "getMonth": ("month", lambda time: time.moment.date[1] - 1),
    "getDayOfYear": ("day_of_year", lambda time: time.day_of_year),
    "getDayOfMonth": ("day_of_month", lambda time: time.moment.date[2] - 1),
    "getDate": ("day_of_month_1_based", lambda time: time.moment.date[2]),
    "getDayOfWeek": ("day_of_week", lambda time: time.moment.weekday),
    "getHours": ("hours", lambda time: time.time_of_day[0]),
    "getMinutes": ("minutes", lambda time: time.time_of_day[1]),
    "getSeconds": ("seconds", lambda time: time.time_of_day[2]),
    "getMilliseconds": ("milliseconds", lambda time: time.time_of_day[3] // MILLISECOND),
}
_DURATIONS: dict[str, tuple[str, Callable[[Duration], int]]] = {
    "getHours": ("hours", lambda duration: duration.whole(HOUR)),
    "getMinutes": ("minutes", lambda duration: duration.whole(MINUTE)),
    "getSeconds": ("seconds", _whole_seconds),
    "getMilliseconds": ("milliseconds", lambda duration: duration.whole(MILLISECOND)),
}


def _in_utc(part: _Part) -> Implementation:
    def in_utc(time: Timestamp) -> int:
        return part(in_zone(time, "UTC"))

    return in_utc


def _in_zone(part: _Part) -> Implementation:
    def zoned(time: Timestamp, zone: str) -> int:
        return part(in_zone(time, zone))

    return zoned


def _overloads() -> Iterator[Overload]:
    for function, (id, part) in _PARTS.items():
        yield overload(f"timestamp_to_{id}: timestamp.{function}() -> int")(_in_utc(part))
        zoned = "seconds_tz" if id == "seconds" else f"{id}_with_tz"
        yield overload(f"timestamp_to_{zoned}: timestamp.{function}(string) -> int")(_in_zone(part))
    for function, (unit, count) in _DURATIONS.items():
        yield overload(f"duration_to_{unit}: duration.{function}() -> int")(count)


OVERLOADS: tuple[Overload, ...] = tuple(_overloads())
