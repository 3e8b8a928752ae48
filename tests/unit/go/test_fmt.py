"""Values as Go prints them."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartkit.go.fmt import UnsupportedValueError, embedded_json, format_float32, go_json, go_sprint
from chartkit.go.strconv import Int64


@pytest.mark.parametrize(
    ("number", "sprint", "as_json"),
    [
        (999999, "999999", "999999"),
        (1000000, "1e+06", "1000000"),
        (1234567.0, "1.234567e+06", "1234567"),
        (1e20, "1e+20", "100000000000000000000"),
        (1e21, "1e+21", "1e+21"),
        (0.0001, "0.0001", "0.0001"),
        (0.00001, "1e-05", "0.00001"),
        (1e-7, "1e-07", "1e-7"),
        (-0.0, "-0", "-0"),
        (5e-324, "5e-324", "5e-324"),
        (12345678901234567890, "1.2345678901234567e+19", "12345678901234567000"),
        (Int64(1000000), "1000000", "1000000"),
    ],
)
def test_fmt_numbers(number: float, sprint: str, as_json: str) -> None:
    assert (go_sprint(number), go_json(number)) == (sprint, as_json)


def test_fmt_containers() -> None:
    value = {"b": [1, None, True, "x"], "a": {"<": "&\u2028"}}
    assert go_sprint(value) == "map[a:map[<:&\u2028] b:[1 <nil> true x]]"
    assert go_json(value) == '{"a":{"\\u003c":"\\u0026\\u2028"},"b":[1,null,true,"x"]}'


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_json_has_no_text_for(number: float) -> None:
    with pytest.raises(UnsupportedValueError):
        go_json([number])


def test_fmt_float32() -> None:
    assert format_float32(123456789) == "123456790"
    assert format_float32(1e300) == "+Inf"
    assert format_float32(0.1) == "0.1"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_prints_the_number_itself(number: float) -> None:
    assert float(go_sprint(number)) == number
    assert float(go_json(number)) == number


@pytest.mark.slow
@given(st.recursive(st.none() | st.booleans() | st.text(), lambda inner: st.lists(inner)))
def test_json_reads_back(value: object) -> None:
    assert json.loads(go_json(value)) == value


def test_numbers_in_texts_have_exponents_of_two_digits() -> None:
    assert embedded_json([1e-7, {"a": 1e-10}, 1e-6, 1e21]) == '[1e-07,{"a":1e-10},0.000001,1e+21]'
    assert go_json([1e-7, 1e21]) == "[1e-7,1e+21]"
