"""`format`: each clause, and what each refuses."""

import math

import pytest

from chartkit.engine.cel import types
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.extensions.formatting import format_text
from chartkit.engine.cel.times import duration_of_text, timestamp_of_text
from chartkit.engine.cel.values import NONE, Uint, Value
from tests.errors import error_of


@pytest.mark.parametrize(
    ("text", "argument", "expected"),
    [
        ("%s", "é", "é"),
        ("%s", None, "null"),
        ("%s", 1e8, "1e+08"),
        ("%s", -0.0, "-0"),
        ("%s", math.inf, "+Inf"),
        ("%s", b"abc", "abc"),
        ("%s", Uint(7), "7"),
        ("%s", types.TIMESTAMP, "google.protobuf.Timestamp"),
        ("%s", duration_of_text("1h30m"), "5400s"),
        ("%s", timestamp_of_text("2024-01-01T00:00:00.5+01:00"), "2024-01-01T00:00:00.5+01:00"),
        ("%s", [1, "a", [None]], '[1, "a", [null]]'),
        ("%s", [1500.5, -0.0, math.nan, -math.inf], '[1500.500000, -0.000000, "NaN", "-Inf"]'),
        ("%s", [b"a\n", duration_of_text("1s")], '[b"a\\n", duration("1s")]'),
        ("%s", [timestamp_of_text("2024-01-01T00:00:00Z")], '[timestamp("2024-01-01T00:00:00Z")]'),
        ("%s", {"b": 1, "a": {True: Uint(2)}}, '{"a":{true:2}, "b":1}'),
        ("%s", {10: 1, 9: 2}, "{10:1, 9:2}"),
        ("%d", -5, "-5"),
        ("%.2d", Uint(5), "5"),
        ("%.2s", "abc", "abc"),
        ("%f", 1234567.891, "1,234,567.891000"),
        ("%f", -0.0, "0.000000"),
        ("%f", -1e-7, "-0.000000"),
        ("%.0f", 2.5, "2"),
        ("%.256f", 1.25, "1.25"),
        ("%.259f", 1.25, "1.250"),
        ("%.256f", 100.0, "100"),
        ("%.65537f", 1.25, "1.2"),
        ("%f", "NaN", "NaN"),
        ("%.2f", "-Infinity", "-∞"),
        ("%f", math.inf, "∞"),
        ("%e", 1052.032911275, "1.052033×10⁰³"),
        ("%.0e", 123456.0, "1.234560×10⁰⁵"),
        ("%.20e", 1e-10, "      1.000000×10⁻¹⁰"),
        ("%e", "Infinity", "     ∞"),
        ("%b", -5, "-101"),
        ("%b", True, "1"),
        ("%o", -8, "-10"),
        ("%x", "é", "c3a9"),
        ("%X", b"\xff\x00", "FF00"),
        ("%x", -255, "-ff"),
        ("100%% %s", 1, "100% 1"),
    ],
)
def test_formatting_clauses(text: str, argument: Value, expected: str) -> None:
    assert format_text(text, [argument]) == expected


_TEXTS = (
    "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, "
    "durations, and timestamps"
)


@pytest.mark.parametrize(
    ("text", "argument", "reason"),
    [
        ("%s", NONE, f"{_TEXTS}, was given optional_type"),
        ("%s", [NONE], "no formatting function for optional_type"),
        ("%s", {b"a": 1}, "no formatting function for map key of type bytes"),
        (
            "%s",
            b"\xff",
            'could not convert argument "invalid UTF-8 in bytes, cannot convert to string" '
            "to string",
        ),
        ("%d", 1.0, "decimal clause can only be used on integers, was given double"),
        ("%f", 1, "fixed-point clause can only be used on doubles, was given int"),
        ("%f", "1.5", "fixed-point clause can only be used on doubles, was given string"),
        ("%e", 1, "scientific clause can only be used on doubles, was given int"),
        ("%b", 1.0, "only integers and bools can be formatted as binary, was given double"),
        ("%o", True, "octal clause can only be used on integers, was given bool"),
        (
            "%x",
            None,
            "only integers, byte buffers, and strings can be formatted as hex, was given null_type",
        ),
    ],
)
def test_refused_arguments(text: str, argument: Value, reason: str) -> None:
    error = error_of(CelError, format_text, text, [argument])
    assert str(error) == f"error during formatting: {reason}"


_PRECISION = "could not parse formatting clause: error while parsing precision"
_NUMBER = f"{_PRECISION}: error while converting precision to integer: strconv.Atoi: parsing"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("%", "unexpected end of string"),
        ("%z", 'could not parse formatting clause: unrecognized formatting clause "z"'),
        ("%é", 'could not parse formatting clause: unrecognized formatting clause "Ã"'),
        ("%.2", f"{_PRECISION}: could not find end of precision specifier"),
        ("%.f", f'{_NUMBER} "": invalid syntax'),
        ("%.99999999999999999999f", f'{_NUMBER} "99999999999999999999": value out of range'),
        ("%s%s", "index 1 out of range"),
    ],
)
def test_malformed_texts(text: str, message: str) -> None:
    assert str(error_of(CelError, format_text, text, [1.5])) == message


def test_too_many_arguments_do_not_matter_once_it_runs() -> None:
    assert format_text("%s", [1, 2]) == "1"
