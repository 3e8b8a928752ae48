"""Timestamps and durations: their texts, limits and zones."""

import pytest

from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.times import (
    Duration,
    Timestamp,
    duration_of_text,
    in_zone,
    timestamp_of_text,
)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("2024-05-06T07:08:09Z", "2024-05-06T07:08:09Z"),
        ("2024-05-06T07:08:09.500Z", "2024-05-06T07:08:09.5Z"),
        ("2024-05-06T07:08:09.1234567891Z", "2024-05-06T07:08:09.123456789Z"),
        ("2024-05-06T07:08:09+02:00", "2024-05-06T07:08:09+02:00"),
        ("2024-05-06T07:08:09.25-00:30", "2024-05-06T07:08:09.25-00:30"),
        ("2024-05-06T07:08:09+00:00", "2024-05-06T07:08:09Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999999Z"),
    ],
)
def test_a_timestamp_prints_as_it_was_written(text: str, printed: str) -> None:
    assert str(timestamp_of_text(text)) == printed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2024-05-06", 'invalid RFC 3339 timestamp "2024-05-06"'),
        ("2024-05-06T7:08:09Z", 'invalid RFC 3339 timestamp "2024-05-06T7:08:09Z"'),
        ("2024-05-06T07:08:09,5Z", 'invalid RFC 3339 timestamp "2024-05-06T07:08:09,5Z"'),
        (
            "2024-02-30T07:08:09Z",
            "type conversion error from 'string' to 'google.protobuf.Timestamp'",
        ),
        (
            "2024-05-06t07:08:09Z",
            "type conversion error from 'string' to 'google.protobuf.Timestamp'",
        ),
        ("0001-01-01T00:00:00+01:00", "timestamp overflow"),
        ("9999-12-31T23:59:59-01:00", "timestamp overflow"),
    ],
)
def test_what_is_no_timestamp(text: str, message: str) -> None:
    with pytest.raises(CelError) as raised:
        timestamp_of_text(text)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("1h", "3600s"),
        ("1.5s", "1.5s"),
        ("-20ms", "-0.02s"),
        ("0", "0s"),
        ("2540400h10m10s", "9145440610s"),
        ("1ns", "0.000000001s"),
    ],
)
def test_a_duration_prints_its_seconds(text: str, printed: str) -> None:
    assert str(duration_of_text(text)) == printed


def test_what_is_no_duration() -> None:
    with pytest.raises(CelError) as raised:
        duration_of_text("1d")
    assert str(raised.value) == "type conversion error from 'string' to 'google.protobuf.Duration'"


def test_a_sum_keeps_the_offset() -> None:
    later = timestamp_of_text("2024-05-06T23:00:00+02:00").plus(duration_of_text("2h"))
    assert str(later) == "2024-05-07T01:00:00+02:00"


def test_sums_stay_within_the_years() -> None:
    with pytest.raises(CelError, match="timestamp overflow"):
        timestamp_of_text("9999-12-31T23:59:59Z").plus(Duration(10**9))


def test_differences_stay_within_64_bits() -> None:
    with pytest.raises(CelError, match="integer overflow"):
        timestamp_of_text("9999-12-31T00:00:00Z").minus(timestamp_of_text("0001-01-01T00:00:00Z"))


def test_equality_and_order_do_not_see_the_offset() -> None:
    assert timestamp_of_text("2024-05-06T07:00:00Z") == timestamp_of_text(
        "2024-05-06T09:00:00+02:00"
    )
    assert not Timestamp(0, 60) < Timestamp(0)


@pytest.mark.parametrize(
    ("zone", "offset"),
    [
        ("UTC", 0),
        ("", 0),
        ("Europe/Berlin", 7200),
        ("America/St_Johns", -9000),
        ("+05:30", 19800),
        ("-03:30", -12600),
        ("02:00", 7200),
        ("+99:99", 362_340),
    ],
)
def test_times_zones(zone: str, offset: int) -> None:
    assert in_zone(timestamp_of_text("2024-07-01T12:00:00Z"), zone).offset == offset


@pytest.mark.parametrize(
    ("zone", "message"),
    [
        ("Mars/Olympus", "unknown time zone Mars/Olympus"),
        ("+5", "unknown time zone +5"),
        ("../etc/passwd", "time: invalid location name"),
        ("/etc/passwd", "time: invalid location name"),
        ("x:00", 'strconv.Atoi: parsing "x": invalid syntax'),
        (":30", 'strconv.Atoi: parsing "": invalid syntax'),
    ],
)
def test_what_is_no_zone(zone: str, message: str) -> None:
    with pytest.raises(CelError) as raised:
        in_zone(Timestamp(0), zone)
    assert str(raised.value) == message


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_zones_at_the_ends_of_time(text: str) -> None:
    assert in_zone(timestamp_of_text(text), "Asia/Tokyo").offset > 0
