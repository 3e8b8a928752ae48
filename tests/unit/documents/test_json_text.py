"""chartkit.documents.json_text: JSON as Go reads it."""

from typing import Any

import pytest

from chartkit.documents.json_text import NumberError, parse_json, parse_sequence, without_surrogates
from chartkit.documents.reader import parse_yaml, read_text
from chartkit.errors import InputError
from tests.errors import error_of

DIGITS = "1" * 310

INTEGERS: list[tuple[str, Any]] = [
    (DIGITS, DIGITS),
    (f"-{DIGITS}", f"-{DIGITS}"),
    (f"+{DIGITS}", f"+{DIGITS}"),
    ("1" * 5_000, "1" * 5_000),
    ("1e999", "1e999"),
    ("-1e999", "-1e999"),
    ("0x" + "f" * 17, "0x" + "f" * 17),
    ("0x" + "f" * 5_000, "0x" + "f" * 5_000),
    ("0xffffffffffffffff", 1.8446744073709552e19),
    ("-0x8000000000000000", -(2**63)),
    ("-0x8000000000000001", "-0x8000000000000001"),
    ("+0xffffffffffffffff", "+0xffffffffffffffff"),
    ("0o" + "7" * 30, "0o" + "7" * 30),
    ("0" + "7" * 30, 7.777777777777778e29),
    ("0b" + "1" * 64, 1.8446744073709552e19),
    ("0b" + "1" * 65, "0b" + "1" * 65),
    ("-0b" + "1" * 65, "-0b" + "1" * 65),
    ("-9223372036854775809", -9.223372036854775808e18),
]
"""As sigs.k8s.io/yaml 1.6 reads them."""

KEYS = [
    ("1e3", "1000"),
    ("1e6", "1e+06"),
    ("100000.0", "100000"),
    ("999999.9", "999999.9"),
    ("16777217.5", "1.6777218e+07"),
    ("0.00001", "1e-05"),
    ("1e300", ".inf"),
    ("-1e300", "-.inf"),
    ("1e-300", "0"),
    ("18446744073709551616", "1.8446744e+19"),
    ("-9223372036854775809", "-9.223372e+18"),
    ("0" + "7" * 30, "7.777778e+29"),
    (DIGITS, DIGITS),
    ("0x" + "f" * 17, "0x" + "f" * 17),
]
"""As sigs.k8s.io/yaml 1.6 writes keys."""


@pytest.mark.parametrize(("text", "value"), INTEGERS)
def test_whole_numbers_of_yaml_beyond_64_bits(text: str, value: Any) -> None:
    found = parse_yaml(f"v: {text}")
    assert found == {"v": value}
    assert type(found["v"]) is type(value)


@pytest.mark.parametrize(("text", "key"), KEYS)
def test_numbers_of_yaml_as_keys(text: str, key: str) -> None:
    assert parse_yaml(f"{text}: a") == {key: "a"}


@pytest.mark.parametrize("text", ["9223372036854775808", "0xffffffffffffffff"])
def test_a_key_of_64_bits_without_a_sign_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"<text>:2:1: a number as a key"):
        parse_yaml(f"a: 1\n{text}: a")


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", DIGITS])
def test_json_has_finite_numbers_alone(text: str) -> None:
    with pytest.raises(NumberError):
        parse_json(f'{{"a": [{text}]}}')
    error = error_of(InputError, read_text, f'{{"x": "{text}",\n  "a": [{text}]}}', "f.json")
    assert str(error.location) == "f.json:2:9"


def test_a_number_behind_what_yaml_does_not_take() -> None:
    error = error_of(InputError, read_text, '{"a": "\\ud800",\n "b": NaN}', "f.json")
    assert str(error).startswith("f.json:1: 'NaN'")


def test_json_of_more_digits_than_python_takes() -> None:
    with pytest.raises(NumberError):
        parse_json("1" * 5_000)
    assert parse_json("0." + "1" * 5_000) == 0.1111111111111111
    assert parse_json("1" + "0" * 308) == 1e308


def test_json_nested_too_deeply() -> None:
    with pytest.raises(ValueError, match="nested"):
        parse_json("[" * 100_000)


def test_half_a_surrogate_pair_is_replaced() -> None:
    assert parse_json('{"a\\ud800": ["\\udfff", "\\ud83d\\ude00"]}') == {
        "a\ufffd": ["\ufffd", "😀"]
    }
    [document] = read_text('{"a": "\\ud800", "\\udfff": 1}')
    assert document.body == {"a": "\ufffd", "\ufffd": 1}
    assert without_surrogates(["a", 1, None, "\udcff"]) == ["a", 1, None, "\ufffd"]


def test_json_of_bytes() -> None:
    assert parse_json('{"ä": 1}'.encode()) == {"ä": 1}
    with pytest.raises(ValueError, match="utf-8"):
        parse_json(b'"\xff"')


class _Counted(str):
    """A text that counts how often it is searched."""

    searches = 0

    def __contains__(self, part: object) -> bool:
        type(self).searches += 1
        return isinstance(part, str) and self.find(part) >= 0


def test_a_sequence_is_searched_for_escapes_once() -> None:
    found = parse_sequence(_Counted('{"a": 1}\n' * 1000))
    assert [value for value, _, _ in found] == [{"a": 1}] * 1000
    assert _Counted.searches == 1
