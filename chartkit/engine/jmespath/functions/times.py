"""Times in RFC 3339, in layouts of Go, and as cron expressions."""

from __future__ import annotations

from chartkit.engine.jmespath.declaration import function
from chartkit.engine.jmespath.nodes import current_sources
from chartkit.go.duration import SECOND, format_duration, parse_duration
from chartkit.go.strconv import NumberError, parse_int
from chartkit.go.time_layout import RFC3339, Moment, parse_time


def _read(text: str) -> Moment:
    return parse_time(RFC3339, text)


def _now() -> Moment:
    return Moment(current_sources().now())


@function(
    "time_since(string, string, string) string",
    "time_since('', request.object.metadata.creationTimestamp, '')",
)
def time_since(layout: str, start: str, end: str) -> str:
    """The duration from a time to another, or to now; both in a layout or in RFC 3339."""
    first = parse_time(layout or RFC3339, start)
    last = parse_time(layout or RFC3339, end) if end else _now()
    return format_duration(last.minus(first))


@function("time_now() string", "time_now()")
def time_now() -> str:
    """The time now; the engine's clock runs in UTC."""
    return str(_now())


@function("time_now_utc() string", "time_now_utc()")
def time_now_utc() -> str:
    """The time now in UTC."""
    return str(_now())


@function("time_to_cron(string) string", "time_to_cron('2024-05-06T07:08:00Z')")
def time_to_cron(text: str) -> str:
    """The cron expression of a time."""
    moment = _read(text)
    hour, minute = moment.hour_and_minute
    _, month, day = moment.date
    return f"{minute} {hour} {day} {month} {moment.weekday}"


@function("time_add(string, string) string", "time_add(time_now_utc(), '4h')")
def time_add(text: str, duration: str) -> str:
    """A time so much later."""
    return str(_read(text).plus(parse_duration(duration)))


@function("time_parse(string, string) string", "time_parse('2006-01-02', '2024-05-06')")
def time_parse(layout: str, text: str) -> str:
    """A time in a layout, or in seconds since 1970 where the layout is a number, in RFC 3339."""
    try:
        parse_int(layout)
    except NumberError:
        return str(parse_time(layout, text))
    return str(Moment(parse_int(text) * SECOND))


@function("time_utc(string) string", "time_utc('2024-05-06T07:08:00+02:00')")
def time_utc(text: str) -> str:
    """A time shown in UTC."""
    return str(_read(text).utc())


@function(
    "time_diff(string, string) string", "time_diff('2024-05-06T07:00:00Z', '2024-05-06T08:30:00Z')"
)
def time_diff(start: str, end: str) -> str:
    """The duration from the first time to the second."""
    first = _read(start)
    return format_duration(_read(end).minus(first))


@function("time_before(string, string) bool", "time_before('2024-05-06T07:00:00Z', time_now_utc())")
def time_before(first: str, second: str) -> bool:
    """Report whether the first time is before the second."""
    return _read(first).nanoseconds < _read(second).nanoseconds


@function("time_after(string, string) bool", "time_after(time_now_utc(), '2024-05-06T07:00:00Z')")
def time_after(first: str, second: str) -> bool:
    """Report whether the first time is after the second."""
    return _read(first).nanoseconds > _read(second).nanoseconds


@function(
    "time_between(string, string, string) bool",
    "time_between(time_now_utc(), '2024-05-06T07:00:00Z', '2024-05-06T08:00:00Z')",
)
def time_between(text: str, start: str, end: str) -> bool:
    """Report whether a time is after the second and before the third."""
    moment, first, last = _read(text), _read(start), _read(end)
    return first.nanoseconds < moment.nanoseconds < last.nanoseconds


@function("time_truncate(string, string) string", "time_truncate('2024-05-06T07:08:09Z', '1h')")
def time_truncate(text: str, duration: str) -> str:
    """A time rounded down to a multiple of a duration."""
    moment = _read(text)
    return str(moment.truncated(parse_duration(duration)))
