"""The values of lexer."""

import math

import pytest

from chartkit.engine.cel.parser import lexer
from chartkit.engine.cel.parser.lexer import LiteralError
from chartkit.engine.cel.values import Uint
from tests.data import from_table


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("007", 7),
        ("-1", -1),
        ("0x7FFFFFFFFFFFFFFF", 2**63 - 1),
        ("-0x8000000000000000", -(2**63)),
        ("-9223372036854775808", -(2**63)),
        ("0" * 9000 + "12", 12),
    ],
)
def test_literals_int(text: str, value: int) -> None:
    assert lexer.integer(text) == value


@pytest.mark.parametrize(
    "text", ["9223372036854775808", "-9223372036854775809", "0x8000000000000000", "9" * 9000]
)
def test_int_of_more_than_64_bits(text: str) -> None:
    with pytest.raises(LiteralError, match=r"^invalid int literal$"):
        lexer.integer(text)


def test_literals_uint() -> None:
    assert lexer.unsigned("0xFFFFFFFFFFFFFFFFu") == Uint(2**64 - 1)
    assert lexer.unsigned("1U").__class__ is Uint
    with pytest.raises(LiteralError, match=r"^invalid uint literal$"):
        lexer.unsigned("18446744073709551616u")


def test_literals_double() -> None:
    assert lexer.double("-.5e1") == -5.0
    assert math.copysign(1, lexer.double("-0.0")) == -1
    assert lexer.double("1e-400") == 0.0
    with pytest.raises(LiteralError, match=r"^invalid double literal$"):
        lexer.double("-1e309")


@from_table("text", "value")
def test_literals_string(text: str, value: str) -> None:
    assert lexer.string(text) == value


@pytest.mark.parametrize("text", [r"'\ud800'", r"'\udfff'", r"'\U00110000'", r"'\Uffffffff'"])
def test_no_code_point(text: str) -> None:
    with pytest.raises(LiteralError, match=r"^invalid unicode code point$"):
        lexer.string(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("b''", b""),
        ("b'é'", b"\xc3\xa9"),
        (r"b'\xff\377\n\''", b"\xff\xff\n'"),
        (r"bR'\xff'", rb"\xff"),
        ("B'''a\r\nb'''", b"a\nb"),
        ("b'\ud800'", b"\xed\xa0\x80"),
    ],
)
def test_literals_bytes(text: str, value: bytes) -> None:
    assert lexer.octets(text) == value


@pytest.mark.parametrize("text", [r"b'\u0041'", r"b'\U00000041'"])
def test_bytes_take_no_code_points(text: str) -> None:
    with pytest.raises(LiteralError, match=r"^unable to unescape string$"):
        lexer.octets(text)
