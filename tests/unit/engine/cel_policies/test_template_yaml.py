"""The YAML of templates: scalars as go-yaml's version 3 has them, and its complaints."""

import math

import pytest

from chartkit.engine.cel_policies.generation import (
    TemplateError,
    read_documents,
    value_of,
)
from chartkit.model import Json


def value(text: str) -> Json:
    """The value of a text's one document."""
    (node,) = read_documents(text)
    return value_of(node)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("yes", "yes"),
        ("n", "n"),
        ("on", "on"),
        ("true", True),
        ("False", False),
        ("~", None),
        ("", None),
        ("'~'", "~"),
        ("!!str 5", "5"),
        ("5", 5),
        ("+5", 5),
        ("-0x10", -16),
        ("010", 8),
        ("0o17", 15),
        ("08", 8.0),
        ("0b101", 5),
        ("1_000", 1000),
        ("18446744073709551615", 18446744073709551615),
        ("18446744073709551616", 1.8446744073709552e19),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("1.", 1.0),
        (".inf", math.inf),
        ("1.2.3", "1.2.3"),
        ("2020-1-2", "2020-01-02T00:00:00Z"),
        ("2020-01-02 3:04:05.50", "2020-01-02T03:04:05.5Z"),
        ("2020-01-02T03:04:05+01:00", "2020-01-02T03:04:05+01:00"),
    ],
)
def test_template_yaml_scalars(written: str, expected: Json) -> None:
    found = value(f"k: {written}")["k"]
    assert found == expected
    assert type(found) is type(expected)


def test_aliases_and_merge_keys() -> None:
    assert value("a: &x {b: 1}\nc: {<<: *x, d: 2}\ne: [*x]") == {
        "a": {"b": 1},
        "c": {"b": 1, "d": 2},
        "e": [{"b": 1}],
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1", "failed to parse YAML: yaml: line 1: did not find expected ',' or ']'"),
        ("a: b: c", "failed to parse YAML: yaml: mapping values are not allowed in this context"),
        (
            "a:\n\t- b",
            "failed to parse YAML: yaml: line 2: found character that cannot start any token",
        ),
        ("a: *x", "failed to parse YAML: yaml: unknown anchor 'x' referenced"),
        (
            "a: 1\na: 2",
            'line 1: yaml: unmarshal errors:\n  line 2: mapping key "a" already defined at line 1',
        ),
        ("a: &x [*x]", "line 1: yaml: an anchor's value contains itself"),
        ("a: {[b]: c}", "line 1: only scalar mapping keys are supported"),
        (
            "a: {<<: b}",
            "line 1: yaml: map merge requires map or sequence of maps as the value",
        ),
    ],
)
def test_template_yaml_complaints(text: str, message: str) -> None:
    with pytest.raises(TemplateError) as caught:
        value(text)
    assert str(caught.value) == message


def test_aliases_cannot_grow_without_end() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    with pytest.raises(TemplateError, match="excessive aliasing"):
        value("\n".join(lines))


def test_depth_is_bounded() -> None:
    with pytest.raises(TemplateError, match="nested deeper"):
        value("a: " + "[" * 5000 + "]" * 5000)
