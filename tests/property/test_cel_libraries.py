"""Laws that CEL's standard libraries keep for values of any size."""

import math
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from chartkit.engine.cel.library.extensions import encoders, lists, strings
from chartkit.engine.cel.library.membership import Members
from chartkit.engine.cel.library.standard import LIBRARY as STANDARD
from chartkit.engine.cel.times import (
    MAX_SECONDS,
    MIN_SECONDS,
    Timestamp,
    in_zone,
    timestamp_of_text,
)
from chartkit.engine.cel.values import INT_MAX, INT_MIN, UINT_MAX, Uint, Value, equal, same

_CODE: dict[str, Callable[..., Any]] = {
    each.id: each.implementation
    for library in (STANDARD, encoders.LIBRARY, lists.LIBRARY, lists.SETS_LIBRARY, strings.LIBRARY)
    for each in library.overloads
}
_INTS = st.integers(INT_MIN, INT_MAX)
_UINTS = st.integers(0, UINT_MAX).map(Uint)
_NUMBERS = _INTS | _UINTS | st.floats()
_TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
_SCALARS = st.none() | st.booleans() | _NUMBERS | _TEXTS | st.binary()
_VALUES: st.SearchStrategy[Value] = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4)
)
_TIMES = st.builds(
    Timestamp,
    st.integers((MIN_SECONDS + 86_400) * 10**9, (MAX_SECONDS - 86_400) * 10**9),
    st.integers(-23 * 60, 23 * 60).map(lambda minutes: minutes * 60),
)


@given(st.floats(allow_nan=False))
def test_a_double_is_read_as_it_was_written(number: float) -> None:
    assert _CODE["string_to_double"](_CODE["double_to_string"](number)) == number


@given(_INTS, _UINTS)
def test_whole_numbers_are_read_as_they_were_written(number: int, unsigned: Uint) -> None:
    assert _CODE["string_to_int64"](_CODE["int64_to_string"](number)) == number
    assert _CODE["string_to_uint64"](_CODE["uint64_to_string"](unsigned)) == unsigned


@given(_TIMES)
def test_a_timestamp_is_read_as_it_was_written(time: Timestamp) -> None:
    found = timestamp_of_text(str(time))
    assert (found, found.offset) == (time, time.offset)


@given(_TIMES)
def test_the_parts_of_a_timestamp_make_it_up(time: Timestamp) -> None:
    shown = in_zone(time, "Asia/Kathmandu")
    year, month, day = shown.moment.date
    hour, minute, second, nanosecond = shown.time_of_day
    text = f"{year:04d}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}"
    offset = shown.offset // 60 * 60
    sign = "-" if offset < 0 else "+"
    minutes = abs(offset) // 60
    zone = f"{sign}{minutes // 60:02d}:{minutes % 60:02d}"
    again = timestamp_of_text(f"{text}.{nanosecond:09d}{zone}")
    # Before railways had clocks, zones had seconds, which no offset shows.
    assert again.nanoseconds - time.nanoseconds == (shown.offset - offset) * 10**9


@given(_INTS, _INTS.filter(bool))
def test_a_quotient_and_its_rest_make_up_the_number(left: int, right: int) -> None:
    if (left, right) != (INT_MIN, -1):
        quotient, rest = _CODE["divide_int64"](left, right), _CODE["modulo_int64"](left, right)
        assert quotient * right + rest == left
        assert abs(rest) < abs(right)


@given(_NUMBERS, _NUMBERS)
def test_one_order_holds(left: Value, right: Value) -> None:
    names = {int: "int64", Uint: "uint64", float: "double"}
    pair = [names[each.__class__] for each in (left, right)]
    suffix = pair[0] if pair[0] == pair[1] else "_".join(pair)
    less, greater = (_CODE[f"{name}_{suffix}"](left, right) for name in ("less", "greater"))
    unordered = any(isinstance(each, float) and math.isnan(each) for each in (left, right))
    assert [less, greater, equal(left, right)].count(True) == (0 if unordered else 1)
    assert _CODE[f"less_equals_{suffix}"](left, right) == (less or equal(left, right))


@given(st.lists(_VALUES, max_size=6), _VALUES)
def test_members_are_found_as_if_each_was_compared(members: list[Value], wanted: Value) -> None:
    assert Members(members).has(wanted) == any(same(wanted, member) for member in members)


@given(st.lists(_VALUES, max_size=6))
def test_what_is_distinct_is_the_list_as_a_set(members: list[Value]) -> None:
    distinct = _CODE["list_distinct"](members)
    for index, member in enumerate(distinct):
        assert not any(same(member, other) for other in distinct[:index])
    assert all(equal(each, each) is _CODE["in_list"](each, distinct) for each in members)


@given(_TEXTS, st.text(min_size=1, max_size=2))
def test_pieces_make_up_the_text(text: str, separator: str) -> None:
    assert (
        _CODE["list_join_string"](_CODE["string_split_string"](text, separator), separator) == text
    )
    for place in {0, len(text) // 2, len(text)}:
        head, tail = (
            _CODE["string_substring_int_int"](text, 0, place),
            _CODE["string_substring_int"](text, place),
        )
        assert _CODE["add_string"](head, tail) == text


@given(st.binary())
def test_base64_gives_the_bytes_again(data: bytes) -> None:
    assert _CODE["base64_decode_string"](_CODE["base64_encode_bytes"](data)) == data
