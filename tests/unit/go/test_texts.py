"""Texts read as numbers, JSON, versions, images, URLs and times, with Go's messages."""

import json
import math
from collections.abc import Callable, Sequence
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartkit.engine.scalars.image_reference import ImageReferenceError, parse_image
from chartkit.engine.scalars.semver_range import SemverError, parse_range, parse_version
from chartkit.go.json_decoder import JsonError, parse_json, yaml_problem
from chartkit.go.regexp import RegexError, compile_regex
from chartkit.go.strconv import (
    NumberError,
    equal_fold,
    parse_float,
    parse_int,
    to_lower,
    to_upper,
    truncate_to_int64,
)
from chartkit.go.time_layout import RFC3339, TimeError, parse_time
from chartkit.go.url import UrlError, parse_url
from tests.data import from_table
from tests.errors import error_of


@pytest.mark.parametrize(
    ("text", "number"),
    [("1e3", 1000), (".5", 0.5), ("5.", 5), ("1_000", 1000), ("0x1p-2", 0.25), ("-inf", -math.inf)],
)
def test_go_texts_floats(text: str, number: float) -> None:
    assert parse_float(text) == number


def test_go_texts_integers() -> None:
    assert parse_int("+0042") == 42
    assert parse_int("-9223372036854775808") == -(2**63)
    assert truncate_to_int64(-1.9) == -1
    assert truncate_to_int64(math.nan) == truncate_to_int64(1e19) == -(2**63)


@from_table("text", "message")
def test_json_errors(text: str, message: str) -> None:
    assert str(error_of(JsonError, parse_json, text)) == message


def test_json_values() -> None:
    assert parse_json('"\\ud800"') == "\ufffd"
    assert math.copysign(1, parse_json("-0")) == -1
    assert parse_json("12345678901234567890") == 12345678901234567000.0
    with pytest.raises(JsonError):
        parse_json("[" * 100_000)


@given(st.recursive(st.none() | st.booleans() | st.text() | st.integers(-99, 99), st.lists))
def test_json_round_trip(value: object) -> None:
    assert parse_json(json.dumps(value)) == value


@from_table("version", "version_range", "inside")
def test_version_ranges(version: str, version_range: str, inside: bool) -> None:
    assert parse_range(version_range)(parse_version(version)) is inside


def test_go_texts_images() -> None:
    image = parse_image("ghcr.io/a/b/c:1")
    assert (image.registry, image.path, image.name, image.tag) == ("ghcr.io", "a/b/c", "c", "1")
    assert str(parse_image("nginx")) == "docker.io/nginx:latest"
    digest = f"sha256:{'b' * 64}"
    assert str(parse_image(f"localhost:5000/x:1@{digest}")) == f"localhost:5000/x@{digest}"
    for text in ("NGINX", "", "a..b", "nginx:", f"nginx@sha256:{'b' * 32}", "a" * 300, "x" * 9999):
        with pytest.raises(ImageReferenceError):
            parse_image(text)


def test_go_texts_hosts() -> None:
    assert parse_url("https://user:pw@example.org:8080/a?b#c").host_name == "example.org"
    assert parse_url("http://[::1]:80/").host_name == "::1"
    assert parse_url("mailto:a@b").host_name == parse_url("8.8.8.8").host_name == ""
    for text in ("http://a b", "%zz", "http://h:port", ":foo", "8.8.8.8:80", "http://[::1", "\x00"):
        with pytest.raises(UrlError):
            parse_url(text)


@from_table("address", "problem")
def test_address_problems(address: str, problem: str) -> None:
    error = error_of(UrlError, parse_url, f"http://[{address}]/")
    message = f'invalid host: ParseAddr("{address}"): {problem}'
    assert str(error) == f'parse "http://[{address}]/": {message}'


@from_table("layout", "text", "shown")
def test_go_texts_times(layout: str, text: str, shown: str) -> None:
    assert str(parse_time(layout, text)) == shown


@pytest.mark.parametrize(
    ("parse", "refusal", "texts"),
    [
        (parse_float, NumberError, ["", " 1", "1 ", "_1", "1__0", "0x10", "1e", "١", "1e400", "."]),
        (parse_int, NumberError, ["9223372036854775808", "1" * 5000, "1.0", "", "١"]),
        (parse_range, SemverError, ["", "~1.2.0", "^1.2.0", "1.2", "01.2.3", "|| 1.0.0", "abc"]),
        (
            parse_version,
            SemverError,
            ["", "v1.2.3", "1.2", "1.2.3-01", "1.2.3-", "1.2.3+", "1.02.3"],
        ),
        (
            partial(parse_time, RFC3339),
            TimeError,
            ["", "2024-13-01T00:00:00Z", "2024-02-30T00:00:00Z", "2024-01-01"],
        ),
    ],
)
def test_other_texts_are_refused(
    parse: Callable[[str], object], refusal: type[Exception], texts: Sequence[str]
) -> None:
    for text in texts:
        with pytest.raises(refusal):
            parse(text)


def test_regular_expressions() -> None:
    assert compile_regex("(a)(b)?").replace("ab-a", "<$2$1$$${x}>") == "<ba$>-<a$>"
    assert compile_regex("x*").replace("abc", "-") == "-a-b-c-"
    assert compile_regex("a").replace("a", "$1", literal=True) == "$1"
    with pytest.raises(RegexError, match="missing closing"):
        compile_regex("(")
    with pytest.raises(RegexError, match="invalid escape sequence"):
        compile_regex("\\d", perl=False)


def test_yaml_problems() -> None:
    assert yaml_problem("[1,2") == "yaml: line 1: did not find expected ',' or ']'"
    assert yaml_problem("a: *x") == "yaml: unknown anchor 'x' referenced"
    assert yaml_problem("a: .nan") == "json: unsupported value: NaN"
    assert yaml_problem("a: 1") is None


def test_go_texts_letters() -> None:
    assert to_upper("straße ŉ") == "STRAßE ŉ"
    assert to_lower("İΑΣ") == "iας"[:1] + "ασ"
    assert equal_fold("K", "\u212a")
    assert not equal_fold("ß", "ss")
