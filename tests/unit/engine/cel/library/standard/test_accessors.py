"""The parts of timestamps, in UTC and in zones, and of durations."""

from chartkit.engine.cel.library.standard import LIBRARY
from chartkit.engine.cel.times import duration_of_text, timestamp_of_text
from tests.data import from_table
from tests.unit.engine.cel.library.calls import answer

_LEAP_DAY = "2024-02-29T23:45:59.987654321-02:00"


@from_table("id", "expected")
def test_parts_are_in_utc_whatever_the_offset(id: str, expected: int) -> None:
    assert answer(LIBRARY, id, (timestamp_of_text(_LEAP_DAY),)) == ("int", expected)


@from_table("id", "zone", "expected")
def test_parts_in_a_zone(id: str, zone: str, expected: int) -> None:
    assert answer(LIBRARY, id, (timestamp_of_text(_LEAP_DAY), zone)) == ("int", expected)


def test_an_unknown_zone() -> None:
    found = answer(LIBRARY, "timestamp_to_hours_with_tz", (timestamp_of_text(_LEAP_DAY), "Moon"))
    assert found == ("error", "unknown time zone Moon")


@from_table("id", "text", "expected")
def test_durations_are_cut_towards_zero(id: str, text: str, expected: int) -> None:
    assert answer(LIBRARY, id, (duration_of_text(text),)) == ("int", expected)
