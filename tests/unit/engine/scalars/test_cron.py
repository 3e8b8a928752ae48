"""Cron schedules: what is read and when they run next."""

import contextlib
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartkit.engine.scalars.cron import Schedule, is_standard


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "after", "expected"),
    [
        ("*/5 * * * *", "2030-01-01T10:02:30", "2030-01-01T10:05:00"),
        ("*/5 * * * *", "2030-01-01T10:05:00", "2030-01-01T10:10:00"),
        ("5/20 * * * *", "2030-01-01T10:06:00", "2030-01-01T10:25:00"),
        ("0 9-17/4 * * *", "2030-01-01T14:00:00", "2030-01-01T17:00:00"),
        ("30 23 31 12 *", "2030-12-31T23:30:00", "2031-12-31T23:30:00"),
        ("0 0 * feb,MAR *", "2030-01-15T00:00:00", "2030-02-01T00:00:00"),
        ("0 0 29 2 *", "2096-03-01T00:00:00", "2104-02-29T00:00:00"),
        ("0 0 * * sun", "2030-01-01T00:00:00", "2030-01-06T00:00:00"),
        ("0 0 ? * 1", "2030-01-01T00:00:00", "2030-01-07T00:00:00"),
        ("0 0 13 * fri", "2030-01-01T00:00:00", "2030-01-04T00:00:00"),
        ("0 0 13 * */6", "2030-01-01T00:00:00", "2030-01-05T00:00:00"),
        ("0 0 1,,2 * *", "2030-01-01T00:00:00", "2030-01-02T00:00:00"),
        ("@hourly", "2030-01-01T10:02:30", "2030-01-01T11:00:00"),
        ("@daily", "2030-01-01T10:02:30", "2030-01-02T00:00:00"),
        ("@midnight", "2030-01-01T10:02:30", "2030-01-02T00:00:00"),
        ("*-5 ?/12 * * *", "2030-01-01T12:59:30", "2030-01-02T00:00:00"),
        ("*/70 +5 007 * *", "2030-01-01T12:59:30", "2030-01-07T05:00:00"),
        ("@weekly", "2030-01-01T10:02:30", "2030-01-06T00:00:00"),
        ("@monthly", "2030-01-01T10:02:30", "2030-02-01T00:00:00"),
        ("@yearly", "2030-01-01T10:02:30", "2031-01-01T00:00:00"),
    ],
)
def test_cron_next(text: str, after: str, expected: str) -> None:
    assert Schedule.parse(text).next(_at(after)) == _at(expected)


def test_a_day_that_never_comes() -> None:
    assert Schedule.parse("0 0 30 2 *").next(_at("2030-01-01T00:00:00")) is None


def test_times_of_other_zones() -> None:
    after = datetime(2030, 1, 1, 1, 30, tzinfo=timezone(timedelta(hours=2)))
    assert Schedule.parse("0 0 * * *").next(after) == _at("2030-01-01T00:00:00")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "bogus",
        "* * * *",
        "* * * * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * 32 * *",
        "* * * 13 *",
        "* * * * 7",
        "5-1 * * * *",
        "*/0 * * * *",
        "1-2-3 * * * *",
        "1/2/3 * * * *",
        "-1 * * * *",
        "a * * * *",
        "²² * * * *",
        "100 * * * *",
        "@every 1h",
        " @daily",
        "TZ=UTC * * * * *",
    ],
)
def test_cron_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"field|minute|hour|day|month|week"):
        Schedule.parse(text)


@pytest.mark.parametrize(
    ("text", "is_taken"),
    [("@every 1h30m", True), ("@every soon", False), (", * * * *", True), ("* * * * 7", False)],
)
def test_what_the_webhook_takes(text: str, is_taken: bool) -> None:
    assert is_standard(text) is is_taken


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("* * * * *", 7 * 1440),
        ("*/7 0-9/3 * * *", 7 * 4 * 9),
        ("0 3 * * *", 7),
        ("0,0,30 * * * sun", 48),
        ("0 0 1 1 *", 1),
        ("0 0 2 * mon", 2),
        ("0 0 30 2 *", 0),
    ],
)
def test_runs_of_a_week(text: str, expected: int) -> None:
    assert Schedule.parse(text).runs(date(2024, 1, 1), 7) == expected


_PARTS = (
    st.sampled_from(["0", "5,59", "*/20", "30-33"]),
    st.sampled_from(["*", "0", "23", "*/6", "1,9-11"]),
    st.sampled_from(["*", "?", "1", "28-31", "*/2", "2,3"]),
    st.sampled_from(["*", "jan", "2,3", "*/5"]),
    st.sampled_from(["*", "mon", "0,6", "*/2", "1-5"]),
)


@given(st.tuples(*_PARTS).map(" ".join), st.dates(date(2000, 1, 1), date(2100, 1, 1)))
def test_runs_are_as_many_as_next_finds(text: str, first: date) -> None:
    schedule = Schedule.parse(text)
    begin = datetime(first.year, first.month, first.day, tzinfo=UTC)
    found, moment = 0, schedule.next(begin - timedelta(minutes=1))
    while moment is not None and moment < begin + timedelta(days=3):
        found, moment = found + 1, schedule.next(moment)
    assert schedule.runs(first, 3) == found


@given(
    st.integers(0, 59),
    st.integers(0, 23),
    st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)),
)
def test_a_daily_schedule_runs_within_a_day(minute: int, hour: int, after: datetime) -> None:
    moment = after.replace(tzinfo=UTC)
    found = Schedule.parse(f"{minute} {hour} * * *").next(moment)
    assert found is not None
    assert timedelta(0) < found - moment <= timedelta(days=1)
    assert (found.hour, found.minute, found.second) == (hour, minute, 0)


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ValueError):
        Schedule.parse(text)
