"""JMESPath, variables and conditions of any shape: answers or typed errors, and their laws."""

from contextlib import suppress
from typing import Any

import jmespath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartkit.engine.budget import Budget
from chartkit.engine.cluster_policy.conditions.blocks import compile_conditions
from chartkit.engine.cluster_policy.conditions.parse import OPERATORS, check_conditions
from chartkit.engine.context.context import Context, admission_context
from chartkit.engine.context.entries import check_entries, compile_entries
from chartkit.engine.context.images import extract_images
from chartkit.engine.context.variables import compile_template
from chartkit.engine.jmespath import JMESPathError, compile_expression
from chartkit.engine.jmespath.traced import Traced
from chartkit.engine.jmespath.tracing import compile_trace
from chartkit.errors import ChartkitError
from chartkit.go.strconv import mark_literals
from chartkit.model import Body, Json
from tests.conformance.engine import read_cases
from tests.data import from_table
from tests.shared import shared

NUMBERS = st.integers(-1000, 1000)
TEXTS = st.text("abc-/.", max_size=5)
ITEMS = st.fixed_dictionaries(
    {"n": NUMBERS, "t": TEXTS, "l": st.lists(NUMBERS, max_size=3), "b": st.booleans()}
)
DOCUMENTS = st.fixed_dictionaries(
    {"items": st.lists(ITEMS, max_size=5), "one": ITEMS, "words": st.lists(TEXTS, max_size=4)}
)


@from_table("text")
@given(document=DOCUMENTS)
def test_gives_what_the_reference_gives(text: str, document: dict[str, Any]) -> None:
    expected = jmespath.search(text, document)
    if text.startswith("to_string"):
        expected = expected.replace(", ", ",")
    assert compile_expression(text).search(document) == expected


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


PIECES = st.sampled_from(
    ["{{", "}}", "{", "}", "\\", "$(", ")", "-", "@", " ", "/", "é", "x", "request.object", ".s"]
)
EDGE_TEXTS = st.lists(PIECES, max_size=8).map("".join) | st.text(max_size=8)
WORDS = st.sampled_from(
    ["1h", "0", "1Gi", "500m", "1-10", "a*", "?", '["a"]', "1.2.3", "1e400", ""]
)
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | EDGE_TEXTS | WORDS
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(EDGE_TEXTS, inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(sorted(OPERATORS))
OBJECT = {"s": "abc", "t": "{{ request.object.s }}", "l": [1, {"t": "{{ request.object.s }}"}]}


def _context() -> Context:
    return admission_context(OBJECT, namespace="n")


@given(VALUES)
def test_templates_resolve_or_raise_what_is_known(value: Json) -> None:
    with suppress(ChartkitError):
        compile_template(value).resolve(_context())


@given(VALUES)
def test_constants_are_returned_as_they_are(value: Json) -> None:
    template = compile_template(value)
    if template.is_constant:
        assert template.resolve(Context({})) is template.value


@given(NAMES, VALUES, VALUES)
def test_operators_answer_or_raise_what_is_known(name: str, key: Json, value: Json) -> None:
    with suppress(ChartkitError):
        assert OPERATORS[name](mark_literals(value))(mark_literals(key)) in (True, False)


@given(VALUES.filter(lambda key: key is not None), VALUES)
def test_not_equals_is_the_opposite_of_equals(key: Json, value: Json) -> None:
    assert OPERATORS["Equals"](value)(key) is not OPERATORS["NotEquals"](value)(key)


@given(SCALARS.filter(lambda key: key is not None), st.lists(SCALARS, max_size=3))
def test_one_key_makes_any_and_all_the_same(key: Json, values: list[Json]) -> None:
    any_in = OPERATORS["AnyIn"](values)(key)
    assert any_in is OPERATORS["AllIn"](values)(key)
    assert any_in is not OPERATORS["AnyNotIn"](values)(key)
    assert any_in is not OPERATORS["AllNotIn"](values)(key)


@given(st.lists(SCALARS, max_size=3), st.lists(SCALARS, max_size=3))
def test_lists_that_are_not_in(keys: list[Json], values: list[Json]) -> None:
    assert OPERATORS["AnyIn"](values)(keys) is not OPERATORS["AllNotIn"](values)(keys)
    assert OPERATORS["AllIn"](values)(keys) is not OPERATORS["AnyNotIn"](values)(keys)


@given(SCALARS, SCALARS)
def test_orders_agree(key: Json, value: Json) -> None:
    greater = OPERATORS["GreaterThan"](value)(key)
    at_least = OPERATORS["GreaterThanOrEquals"](value)(key)
    less = OPERATORS["LessThan"](value)(key)
    at_most = OPERATORS["LessThanOrEquals"](value)(key)
    assert not (greater and less)
    assert at_least or not greater
    assert at_most or not less
    assert (at_least and at_most) == (at_least or at_most) or greater or less


@given(VALUES)
def test_conditions_of_any_shape(body: Json) -> None:
    with suppress(ChartkitError):
        check_conditions(body, "preconditions")
        compile_conditions(body).evaluate(_context())


@given(
    st.sampled_from(["variable", "configMap", "apiCall", "globalReference", "imageRegistry"]),
    st.dictionaries(st.sampled_from(["value", "jmesPath", "default", "name", "urlPath"]), VALUES),
)
def test_entries_of_any_shape(kind: str, body: dict[str, Json]) -> None:
    entries = [{"name": "x", kind: body}]
    with suppress(ChartkitError):
        context = _context().child()
        compile_entries(entries).attach(context)
        context.query_text("x")
    if all(isinstance(body.get(key), str | None) for key in ("jmesPath", "name", "urlPath")):
        check_entries(entries)


@given(VALUES)
def test_images_of_any_shape(spec: Json) -> None:
    with suppress(ChartkitError):
        extract_images({"kind": "Pod", "spec": {"containers": spec}})
