"""Literals that can never be right."""

import pytest

from chartkit.engine.cel.checker import check
from chartkit.engine.cel.errors import CelCompileError
from chartkit.engine.cel.parser.entry import parse
from tests.data import from_table
from tests.unit.engine.cel.checker.environments import LENIENT, STRICT, complaints

_BREAKS = "an optional member of type dyn, at which cel-go breaks off"


@from_table("source", "expected")
def test_validators_arguments(source: str, expected: dict[int, str]) -> None:
    assert complaints(source) == expected
    assert complaints(source, LENIENT) == {}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("[1, 'a', 'b']", {5: "expected type 'int' but found 'string'"}),
        ("[1, object.a]", {11: "expected type 'int' but found 'dyn'"}),
        ("[object.a, 1]", {12: "expected type 'dyn' but found 'int'"}),
        ("[pod.weight, 1]", {}),
        ("[?optional.of('a'), 1]", {21: "expected type 'string' but found 'int'"}),
        ("{'a': 1, ?'b': dyn(optional.of(1))}", {19: _BREAKS}),
        ("[?dyn(optional.of(1))]", {6: _BREAKS}),
        ("[[1], []]", {}),
        ("[[], 1]", {6: "expected type 'list(dyn)' but found 'int'"}),
        (
            "{'a': 1, 2: 'b', 'c': 3.0}",
            {
                10: "expected type 'string' but found 'int'",
                13: "expected type 'int' but found 'string'",
                23: "expected type 'int' but found 'double'",
            },
        ),
        ("[{'a': [1, 'x']}]", {12: "expected type 'int' but found 'string'"}),
        ("'%s'.format([[1, 'a']])", {}),
        ("'%s'.format([[1].map(x, [x, 'a'])])", {}),
    ],
)
def test_mixed_literals(source: str, expected: dict[int, str]) -> None:
    assert complaints(source) == expected
    assert complaints(source, LENIENT) == {}


_READING = "could not parse formatting clause: "
_PRECISION = f"{_READING}error while parsing precision: "
_ATOI = f"{_PRECISION}error while converting precision to integer: strconv.Atoi: parsing"
_STRING = (
    "error during formatting: string clause can only be used on strings, bools, bytes, ints, "
    "doubles, maps, lists, types, durations, and timestamps, was given"
)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("'%s %d%% %.2f %e'.format(['a', 1, 1.0, 'NaN'])", {}),
        ("'%x %X %o %b %b'.format(['a', b'a', 1u, true, object.a])", {}),
        ("'%s'.format([pod.since])", {}),
        ("'%s'.format([])", {12: "index 0 out of range"}),
        ("'%'.format([1])", {11: "unexpected end of string"}),
        ("'%z'.format([1])", {12: f'{_READING}unrecognized formatting clause "z"'}),
        ("'%é'.format([1])", {12: f'{_READING}unrecognized formatting clause "Ã"'}),
        ("'%.f'.format([1.0])", {13: f'{_ATOI} "": invalid syntax'}),
        (
            "'%.9223372036854775808f'.format([1.0])",
            {32: f'{_ATOI} "9223372036854775808": value out of range'},
        ),
        ("'%.2'.format([1.0])", {13: f"{_PRECISION}could not find end of precision specifier"}),
        (
            "''.format([1, 2])",
            {10: "too many arguments supplied to string.format (expected 0, got 2)"},
        ),
        (
            "'%s %d'.format([1, 'a'])",
            {
                20: "error during formatting: decimal clause can only be used on integers, "
                "was given string"
            },
        ),
        ("'%s'.format([pod])", {14: f"{_STRING} Pod"}),
        ("'%s'.format([result.kind])", {20: f"{_STRING} google.protobuf.Any"}),
        ("'%s'.format([[1, {'a': pod}]])", {24: f"{_STRING} Pod"}),
        ("'%s'.format([optional.of(1)])", {25: f"{_STRING} optional_type"}),
        (
            "'%d'.format([[1]])",
            {
                14: "error during formatting: decimal clause can only be used on integers, "
                "was given list"
            },
        ),
        (
            "'%d'.format([pod.weight])",
            {},
        ),
        ("object.format([1])", {}),
    ],
)
def test_format_strings(source: str, expected: dict[int, str]) -> None:
    assert complaints(source) == expected
    assert complaints(source, LENIENT) == expected


def test_inner_complaints_come_first_where_both_have_one_place() -> None:
    source = "'%d%d'.format([1, ('%s %d'.format(['a']))])"
    with pytest.raises(CelCompileError) as caught:
        check(parse(source, STRICT), STRICT)
    messages = [issue.message for issue in caught.value.issues]
    assert messages == [
        "index 1 out of range",
        "error during formatting: decimal clause can only be used on integers, was given string",
    ]
