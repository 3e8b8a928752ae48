"""Durations: Go's texts, both ways."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartkit.go.duration import (
    MAX_DURATION,
    MIN_DURATION,
    DurationError,
    format_duration,
    parse_duration,
)


@pytest.mark.parametrize(
    ("text", "nanoseconds", "printed"),
    [
        ("0", 0, "0s"),
        ("-0", 0, "0s"),
        ("1h30m", 5_400_000_000_000, "1h30m0s"),
        ("1.5h", 5_400_000_000_000, "1h30m0s"),
        (".5s", 500_000_000, "500ms"),
        ("1.s", 1_000_000_000, "1s"),
        ("-1.5s", -1_500_000_000, "-1.5s"),
        ("1us", 1000, "1µs"),
        ("1µs", 1000, "1µs"),
        ("1μs", 1000, "1µs"),
        ("3ns", 3, "3ns"),
        ("1h0.000000001s", 3_600_000_000_001, "1h0m0.000000001s"),
        ("9223372036854775807ns", MAX_DURATION, "2562047h47m16.854775807s"),
        ("-9223372036854775808ns", MIN_DURATION, "-2562047h47m16.854775808s"),
    ],
)
def test_reads_and_prints(text: str, nanoseconds: int, printed: str) -> None:
    assert parse_duration(text) == nanoseconds
    assert format_duration(nanoseconds) == printed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'time: invalid duration ""'),
        ("-", 'time: invalid duration "-"'),
        ("1", 'time: missing unit in duration "1"'),
        ("1d", 'time: unknown unit "d" in duration "1d"'),
        ("1é", 'time: unknown unit "\\xc3\\xa9" in duration "1\\xc3\\xa9"'),
        (".s", 'time: invalid duration ".s"'),
        ("9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'),
        ("9" * 5000 + "s", f'time: invalid duration "{"9" * 5000}s"'),
    ],
)
def test_refuses_in_the_words_of_go(text: str, message: str) -> None:
    with pytest.raises(DurationError) as raised:
        parse_duration(text)
    assert str(raised.value) == message


@given(st.integers(MIN_DURATION, MAX_DURATION))
def test_duration_reads_what_it_prints(nanoseconds: int) -> None:
    assert parse_duration(format_duration(nanoseconds)) == nanoseconds
