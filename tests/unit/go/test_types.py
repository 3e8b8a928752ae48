"""Values of Go: types, durations, printing, numbers, certificates and errors of YAML."""

import json
import math
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartkit.engine.jmespath import JMESPathError, compile_expression
from chartkit.errors import EvaluationError
from chartkit.go.duration import (
    MAX_DURATION,
    MIN_DURATION,
    DurationError,
    format_duration,
    parse_duration,
)
from chartkit.go.fmt import UnsupportedValueError, embedded_json, format_float32, go_json, go_sprint
from chartkit.go.json_decoder import yaml_problem
from chartkit.go.random_text import RandomTextError, generate
from chartkit.go.regexp import RegexError, compile_regex
from chartkit.go.strconv import Int64, as_floats, mark_literals
from chartkit.go.types import GoTypes
from chartkit.go.x509 import CertificateError, decode_pem, holds_certificate
from chartkit.model import Json
from tests.data import from_table
from tests.errors import error_of
from tests.self_signed import self_signed

TYPES = GoTypes(
    {
        "a/v1.Root": {"metadata": "v1.Meta", "spec": "a/v1.Spec", "labels": "map[string]string"},
        "v1.Meta": {"at": "Time", "raw": "Raw"},
        "a/v1.Spec": {
            "flag": "bool",
            "small": "int32",
            "big": "int64",
            "name": "v1.Name=string",
            "items": "[]a/v1.Item",
            "names": "[]v1.Name=string",
            "limits": "v1.Limits=map[string]Quantity",
            "port": "Inner Outer IntOrString",
            "again": "a/v1.Spec",
        },
        "a/v1.Item": {"flag": "bool"},
    }
)


def decode(spec: Any) -> Any:
    return TYPES.decode("a/v1.Root", {"spec": spec}).get("spec")


def test_known_fields_are_kept_and_nulls_dropped() -> None:
    spec = {"flag": True, "x": 1, "small": 1.0, "name": None, "again": {"big": 2**62, "y": 1}}
    assert decode(spec) == {"flag": True, "small": 1, "again": {"big": 2**62}}
    assert TYPES.decode("a/v1.Root", None) == {}


def test_names_fit_without_regard_to_case() -> None:
    assert decode({"FLAG": True, "Name": "a", "\u212aey": 1, "item\u017f": []}) == {
        "flag": True,
        "name": "a",
        "items": [],
    }


def test_null_elements_are_zero() -> None:
    assert decode({"items": [None], "names": [None], "limits": {"a": None}}) == {
        "items": [{}],
        "names": [""],
        "limits": {"a": None},
    }
    assert TYPES.decode("a/v1.Root", {"labels": {"a": None}}) == {"labels": {"a": ""}}


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ("x", "string into Go struct field Root.spec of type v1.Spec"),
        ({"flag": "x"}, "string into Go struct field Spec.spec.flag of type bool"),
        ({"flag": 1}, "number into Go struct field Spec.spec.flag of type bool"),
        ({"small": 2**31}, "number 2147483648 into Go struct field Spec.spec.small of type int32"),
        ({"small": 1.5}, "number 1.5 into Go struct field Spec.spec.small of type int32"),
        ({"big": 10**30}, "number 1e+30 into Go struct field Spec.spec.big of type int64"),
        ({"small": True}, "bool into Go struct field Spec.spec.small of type int32"),
        ({"name": 1}, "number into Go struct field Spec.spec.name of type v1.Name"),
        ({"names": "x"}, "string into Go struct field Spec.spec.names of type []v1.Name"),
        ({"names": [1]}, "number into Go struct field Spec.spec.names of type v1.Name"),
        ({"items": {}}, "object into Go struct field Spec.spec.items of type []v1.Item"),
        ({"items": [[]]}, "array into Go struct field Spec.spec.items of type v1.Item"),
        (
            {"items": [{"flag": ""}]},
            "string into Go struct field Item.spec.items.flag of type bool",
        ),
        ({"limits": []}, "array into Go struct field Spec.spec.limits of type v1.Limits"),
        ({"port": {}}, "object into Go struct field Spec.spec.Inner.Outer.port of type int32"),
        ({"small": "b", "flag": 1}, "number into Go struct field Spec.spec.flag of type bool"),
    ],
)
def test_wrong_types(spec: Any, fault: str) -> None:
    assert error_of(EvaluationError, decode, spec).message == f"json: cannot unmarshal {fault}"


def test_a_text_that_cannot_be_read_comes_before_wrong_types() -> None:
    with pytest.raises(EvaluationError, match="quantities must match the regular expression"):
        decode({"flag": 1, "limits": {"cpu": "x"}})
    with pytest.raises(EvaluationError, match='parsing time "x" as'):
        TYPES.decode("a/v1.Root", {"metadata": {"at": "x"}})
    with pytest.raises(EvaluationError, match=r"field Meta\.metadata\.at of type string"):
        TYPES.decode("a/v1.Root", {"metadata": {"at": 1}})


def test_an_object_that_is_none() -> None:
    with pytest.raises(EvaluationError) as error:
        TYPES.decode("a/v1.Root", "x")
    assert error.value.message == ("json: cannot unmarshal string into Go value of type v1.Root")


def test_types_what_comes_in_is_not_changed() -> None:
    spec = {"items": [{"flag": True, "x": 1}], "port": "http"}
    assert decode(spec) == {"items": [{"flag": True}], "port": "http"}
    assert spec == {"items": [{"flag": True, "x": 1}], "port": "http"}


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


@pytest.mark.parametrize("number", [0, 1, -1, 1.0, -(2**63), 2**63 - 1])
def test_whole_members_are_marked(number: Json) -> None:
    (marked,) = mark_literals([number])
    assert type(marked) is Int64
    assert marked == number


@pytest.mark.parametrize("member", [1.5, True, "1", None, 2**63, 1e21])
def test_other_members_are_not(member: Json) -> None:
    (marked,) = mark_literals([member])
    assert type(marked) is type(member)


def test_scalars_and_the_original_stay() -> None:
    assert type(mark_literals(5)) is int
    original = {"a": [1, {"b": 2}]}
    marked = mark_literals(original)
    assert type(marked["a"][1]["b"]) is Int64
    assert type(original["a"][0]) is int


def test_as_floats_leaves_marked_numbers() -> None:
    shown = as_floats({"a": [1, Int64(2), True, "3"]})
    assert [type(member) for member in shown["a"]] == [float, Int64, bool, str]


@pytest.mark.parametrize(
    "pattern", ["[0-9a-z]{8}", "(ab|c){3}-[[:upper:]]+", "[^a-y]{2}", "x?y*", r"\.\x41", "^a$"]
)
def test_a_text_matches_its_pattern(pattern: str) -> None:
    for seed in range(20):
        text = generate(pattern, Random(seed).randrange)
        assert compile_regex(f"^(?:{pattern})$".replace("^^", "^")).matches(text)


def test_perl_classes_are_refused() -> None:
    with pytest.raises(RegexError, match="invalid escape sequence"):
        generate(r"\d", Random(1).randrange)


@pytest.mark.parametrize("pattern", ["(((()*)*)*)*", "((a{1000}b*)*)*", "(" * 900 + ")" * 900])
def test_a_pattern_that_explodes_is_stopped(pattern: str) -> None:
    with pytest.raises(RandomTextError):
        generate(pattern, lambda limit: limit - 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bad", "failed to decode PEM block"),
        ("-----BEGIN FOO-----\nYQ==\n-----END FOO-----", "PEM block neither contains"),
        ("-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----", "malformed certificate"),
        ("-----BEGIN CERTIFICATE-----\nY$\n-----END CERTIFICATE-----", "failed to decode"),
    ],
)
def test_what_is_no_certificate_is_refused(text: str, message: str) -> None:
    with pytest.raises(CertificateError, match=message):
        decode_pem(text)


def test_without_its_package_certificates_are_a_clear_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(CertificateError, match="package cryptography: install"):
        decode_pem("-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----")


def test_the_blocks_that_are_certificates_are_found(tmp_path: Path) -> None:
    broken = "-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n"
    assert not holds_certificate(broken)
    assert holds_certificate(broken + self_signed(tmp_path).read_text())


NULL = "unsupported map key of type: %!s(<nil>), key: <nil>, value: "
LIST = "yaml: invalid map key: "


@from_table("text", "said")
def test_keys_that_json_has_no_place_for(text: str, said: str) -> None:
    with pytest.raises(JMESPathError, match=r"^") as caught:
        compile_expression("parse_yaml(@)").search(text)
    assert str(caught.value).endswith(said)


def test_a_text_with_aliases_is_not_written_out() -> None:
    layers = [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 9)]
    assert yaml_problem("\n".join(["a0: &a0 [x]", *layers, "null: *a8"])) is None


@from_table("data", "said")
def test_bytes_that_are_no_text_are_an_error_of_the_function(data: str, said: str) -> None:
    with pytest.raises(JMESPathError) as caught:
        compile_expression(f"parse_yaml(base64_decode('{data}'))").search({"a": 1})
    assert str(caught.value) == said


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
    assert str(error_of(DurationError, parse_duration, text)) == message


@given(st.integers(MIN_DURATION, MAX_DURATION))
def test_duration_reads_what_it_prints(nanoseconds: int) -> None:
    assert parse_duration(format_duration(nanoseconds)) == nanoseconds
