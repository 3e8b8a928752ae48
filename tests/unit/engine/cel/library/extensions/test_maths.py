"""`math`, `base64` and `regex`."""

import math

import pytest

from chartkit.engine.cel.library.extensions import encoders, maths, regexes
from chartkit.engine.cel.values import INT_MIN, NONE, UINT_MAX, OptionalValue, Uint, Value
from tests.unit.engine.cel.library.calls import answer

_FOUND = ("OptionalValue", OptionalValue(True, "A"))
_NAN = ("error", "NaN values cannot be ordered: math.@max")


@pytest.mark.parametrize(
    ("id", "args", "expected"),
    [
        ("math_@max_int_int", (1, 2), ("int", 2)),
        ("math_@max_int_double", (1, 1.0), ("int", 1)),
        ("math_@max_double_uint", (1.0, Uint(1)), ("float", 1.0)),
        ("math_@max_int_double", (2**53 + 1, 2.0**53), ("int", 2**53 + 1)),
        ("math_@max_double_double", (math.nan, 1.0), _NAN),
        ("math_@max_int_double", (1, math.nan), _NAN),
        ("math_@min_int_int", (1, -2), ("int", -2)),
        ("math_@min_list_int", ([3, 1, 2],), ("int", 1)),
        ("math_@min_list_int", ([],), ("error", "math.@min(list) argument must not be empty")),
        ("math_@max_list_int", ([1, "a"],), ("error", "no such overload: math.@max")),
        ("math_@max_list_double", ([1.0, math.nan],), ("error", "no such overload: math.@max")),
        ("math_@max_int", (5,), ("int", 5)),
        ("math_ceil_double", (-0.5,), ("float", "-0.0")),
        ("math_floor_double", (-1.2,), ("float", -2.0)),
        ("math_round_double", (-2.5,), ("float", -3.0)),
        ("math_round_double", (2.5,), ("float", 3.0)),
        ("math_round_double", (0.49999999999999994,), ("float", "0.0")),
        ("math_round_double", (1e300,), ("float", 1e300)),
        ("math_round_double", (math.inf,), ("float", math.inf)),
        ("math_trunc_double", (-1.9,), ("float", -1.0)),
        ("math_abs_int", (INT_MIN,), ("error", "integer overflow")),
        ("math_abs_double", (-0.0,), ("float", "0.0")),
        ("math_sign_double", (math.nan,), ("float", "nan")),
        ("math_sign_double", (-0.0,), ("float", "0.0")),
        ("math_sign_int", (-9,), ("int", -1)),
        ("math_sign_uint", (Uint(9),), ("Uint", Uint(1))),
        ("math_sqrt_int", (-4,), ("float", "nan")),
        ("math_sqrt_uint", (Uint(81),), ("float", 9.0)),
        ("math_isFinite_double", (math.nan,), ("bool", False)),
        ("math_bitNot_uint_uint", (Uint(5),), ("Uint", Uint(UINT_MAX - 5))),
        ("math_bitXor_int_int", (-1, 1), ("int", -2)),
        ("math_bitShiftLeft_int_int", (-1, 63), ("int", INT_MIN)),
        ("math_bitShiftLeft_int_int", (1, 64), ("int", 0)),
        ("math_bitShiftLeft_int_int", (1, 2**62), ("int", 0)),
        ("math_bitShiftRight_int_int", (-1, 1), ("int", 2**63 - 1)),
        (
            "math_bitShiftRight_uint_int",
            (Uint(8), -1),
            ("error", "math.bitShiftRight() negative offset: -1"),
        ),
        ("math_bitShiftLeft_uint_int", (Uint(2**63), 1), ("Uint", Uint(0))),
    ],
)
def test_maths(id: str, args: tuple[Value, ...], expected: tuple[str, Value]) -> None:
    assert answer(maths.LIBRARY, id, args) == expected


def _illegal(place: int) -> tuple[str, str]:
    return "error", f"illegal base64 data at input byte {place}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("aGVsbG8=", ("bytes", b"hello")),
        ("aGVsbG8", ("bytes", b"hello")),
        ("aGVs\nbG8=\r\n", ("bytes", b"hello")),
        ("", ("bytes", b"")),
        ("a", _illegal(0)),
        ("abcde", _illegal(4)),
        ("aGVsbG8==", _illegal(7)),
        ("_-", _illegal(0)),
        ("é", _illegal(0)),
    ],
)
def test_maths_base64(text: str, expected: tuple[str, Value]) -> None:
    assert answer(encoders.LIBRARY, "base64_decode_string", (text,)) == expected


@pytest.mark.parametrize(
    ("id", "args", "expected"),
    [
        ("regex_extract_string_string", ("item-A", "item-(.)"), _FOUND),
        ("regex_extract_string_string", ("abA", "A"), _FOUND),
        ("regex_extract_string_string", ("b", "b(x)?"), ("OptionalValue", NONE)),
        (
            "regex_extract_string_string",
            ("ab", "(a)(b)"),
            ("error", 'regular expression has more than one capturing group: "(a)(b)"'),
        ),
        ("regex_extractAll_string_string", ("éaaé", "a*"), ("list", ["", "aa", ""])),
        ("regex_extractAll_string_string", ("id:1, id:22", "id:([0-9]+)"), ("list", ["1", "22"])),
        ("regex_extractAll_string_string", ("xyx", "x(y)?"), ("list", ["y"])),
        ("regex_replace_string_string_string", ("éa", "", "-"), ("str", "-é-a-")),
        (
            "regex_replace_string_string_string",
            ("ab", "(a)(x)?", r"[\0\1\2\\]"),
            ("str", "[aa\\]b"),
        ),
        ("regex_replace_string_string_string_int", ("aaa", "a", "b", 2), ("str", "bba")),
        ("regex_replace_string_string_string_int", ("aaa", "(", "b", 0), ("str", "aaa")),
        ("regex_replace_string_string_string", ("b", "a", "\\"), ("str", "b")),
        (
            "regex_replace_string_string_string",
            ("a", "a", "\\"),
            ("error", "invalid replacement string: '\\' \\ not allowed at end"),
        ),
        (
            "regex_replace_string_string_string",
            ("a", "a", "\\x"),
            ("error", "invalid replacement string: '\\x' \\ must be followed by a digit or \\"),
        ),
        (
            "regex_replace_string_string_string",
            ("a", "a", "\\1"),
            ("error", "replacement string references group 1 but regex has only 0 group(s)"),
        ),
        (
            "regex_replace_string_string_string",
            ("a", "(", "b"),
            ("error", "error parsing regexp: missing closing ): `(`"),
        ),
    ],
)
def test_maths_regexes(id: str, args: tuple[Value, ...], expected: tuple[str, Value]) -> None:
    assert answer(regexes.LIBRARY, id, args) == expected
