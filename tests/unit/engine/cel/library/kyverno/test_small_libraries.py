"""Texts, times, numbers, lists and JSON; the answers are those of Kyverno's own libraries."""

import base64
import gzip
import math

import pytest

from chartkit.engine.cel.errors import CelError
from tests.data import from_table
from tests.errors import error_of
from tests.unit.engine.cel.library.kyverno.evaluation import value


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("math.round(1.005, 2)", 1.0),
        ("math.round(0.49999999999999994, 0)", 0.0),
        ("math.round(double('inf'), 1)", math.inf),
        ("string(time.truncate(timestamp('2024-01-01T12:34:56+05:30'), duration('24h')))",
         "2024-01-01T05:30:00+05:30"),
        ("string(time.truncate(timestamp('2024-01-01T12:34:56Z'), duration('-1h')))",
         "2024-01-01T12:34:56Z"),
        ("time.toCron(timestamp('2024-01-01T00:34:56+05:00'))", "34 0 1 1 1"),
        ("yaml.parse('a: 010').a", 8.0),
        ("yaml.parse('a: 1\\n---\\nb: 2')", {"a": 1.0}),
        ("yaml.parse('')", None),
        ("listObjToMap([{'k': 'a'}], [{'z': 1}], 'k', 'v')", {"a": None}),
        ("listObjToMap([{'k': 'a'}], [{'v': optional.of(1)}], 'k', 'v')", {"a": 1}),
        ("parseServiceAccount('system:serviceaccount:ns').Namespace", ""),
        ("has(parseServiceAccount('alice').Name)", False),
        ("user.ServiceAccount{Name: ''} == parseServiceAccount('x')", True),
        ("mylib_version", ""),
        ("type(resource) == resource.Context", True),
        ("dyn(resource) == dyn(http)", False),
    ],
)  # fmt: skip
def test_an_expression_comes_to_its_value(expression: str, wanted: object) -> None:
    assert value(expression) == wanted


@from_table("expression", "message")
def test_an_expression_fails_in_kyvernos_words(expression: str, message: str) -> None:
    assert str(error_of(CelError, value, expression)) == message


@pytest.mark.parametrize("text", ["", "hello", "é" * 50, "abc" * 5_000])
def test_compressed_bytes_are_gzip(text: str) -> None:
    made = value(f"gzip.compress('{text}')")
    assert isinstance(made, bytes)
    assert gzip.decompress(made).decode() == text
    assert value(f"gzip.decompress(base64.decode('{base64.b64encode(made).decode()}'))") == text


def test_a_short_text_is_compressed_to_gos_own_bytes() -> None:
    made = value("base64.encode(gzip.compress('hello'))")
    assert made == "H4sIAAAAAAAA/8pIzcnJBwQAAP//hqYQNgUAAAA="


def test_a_text_that_grows_beyond_bounds_is_stopped() -> None:
    bomb = gzip.compress(bytes(17 * 1024 * 1024))
    packed = base64.b64encode(bomb).decode()
    with pytest.raises(CelError, match="larger than"):
        value(f"gzip.decompress(base64.decode('{packed}'))")


def test_members_after_one_another_are_one_text() -> None:
    assert value("gzip.decompress(gzip.compress('a') + gzip.compress('b'))") == "ab"


def test_the_type_of_an_image_is_not_told() -> None:
    error = error_of(CelError, value, "type(image('nginx'))")
    assert str(error) == "type conversion error from 'kyverno.image' to 'type'"


@from_table("written", "text")
def test_values_are_written_as_go_writes_them(written: str, text: str) -> None:
    assert value(f"json.marshal({written})") == text


@from_table("written", "message")
def test_what_has_no_json_is_refused(written: str, message: str) -> None:
    assert str(error_of(CelError, value, f"json.marshal({written})")) == message


def test_numbers_that_are_read_are_doubles() -> None:
    read = value("""json.unmarshal('{"a": [1, 9007199254740993, -0]}').a""")
    assert [(each, type(each)) for each in read] == [  # type: ignore[attr-defined]
        (1.0, float),
        (9007199254740992.0, float),
        (-0.0, float),
    ]


@from_table("argument", "message")
def test_what_is_no_json_is_refused(argument: str, message: str) -> None:
    assert str(error_of(CelError, value, f"json.unmarshal({argument})")) == message


def test_a_deep_text_ends_in_an_error() -> None:
    with pytest.raises(CelError, match="exceeded max depth"):
        value("json.unmarshal('" + "[" * 90_000 + "')")
