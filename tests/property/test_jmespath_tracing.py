"""Traced searches give the values of compiled ones, for expressions of every construct."""

import pytest

from chartkit.engine.budget import Budget
from chartkit.engine.jmespath import JMESPathError, compile_expression
from chartkit.engine.jmespath.traced import Traced
from chartkit.engine.jmespath.tracing import compile_trace
from chartkit.model import Body
from tests.conformance.engine import read_cases
from tests.shared import shared

_DATA: Body = {
    "a": {"b": [{"c": 1, "d": "x"}, {"c": 2}, {"d": None}], "e": "text", "f": {}},
    "l": [3, 1, 2],
    "m": [["x"], [], None, ["y", "z"]],
}
_EXPRESSIONS = (
    *("a.b[].c", "a.b[*].d", "a.b[?c].c", "a.b[?c == `2`] | [0].c", "a.b[?@]", "l[?@ > `1`]"),
    *("m[]", "m[][]", "l[1:]", "l[-1]", "l[9]", "a.*", "a.b[0].*", "a.f.x || 'no'", "!a.f"),
    *("a.x && a.e", "a.e && a.b", "[a.e, l]", "{x: a.e, y: l[0]}", "length(a.b[?c])"),
    *("sort(l)", "sort_by(a.b[?c], &c)", "map(&c, a.b)", "max(l)", "max_by(a.b[?c], &c).d"),
    *("keys(a)", "values(a.b[0])", "items(a.b[0], 'k', 'v')", "contains(l, `3`)", "reverse(l)"),
    *("to_array(a.e)", "not_null(a.x, a.e)", "merge(a.f, a.b[0])", "lookup(a, 'e')", "a.b[3].c"),
    *("a.b[*].[c, d]", "a.b[?c].{x: d}", "a.b[?not_null(d)] | length(@)", "join(',', keys(a))"),
    *("a.b[?contains(keys(@), 'd')].c", "length(l) > `2` && l[0] == `3`", "a.x.y", "x"),
)


@pytest.mark.parametrize("text", _EXPRESSIONS)
def test_values_are_those_of_the_search(text: str) -> None:
    assert _traced(text, _DATA) == _searched(text, _DATA)


def test_recorded_queries() -> None:
    compared = 0
    for case in read_cases(shared("conformance/engine/jmespath.jsonl")):
        text, data = case.get("query"), case.get("input")
        if not isinstance(text, str) or any(name in text for name in ("random", "time_")):
            continue
        # NaN is not equal to itself.
        assert repr(_traced(text, data)) == repr(_searched(text, data)), case["id"]
        compared += 1
    assert compared > 300


def _searched(text: str, data: object) -> object:
    try:
        return compile_expression(text).search(data)
    except JMESPathError as error:
        return type(error).__name__.removeprefix("NotFound").removeprefix("MissingField")


def _traced(text: str, data: object) -> object:
    try:
        return compile_trace(text)(Traced(data, ()), Budget()).value
    except JMESPathError as error:
        return type(error).__name__.removeprefix("NotFound").removeprefix("MissingField")
