"""Simplified expressions have the value, or the error, of the expressions that they come from."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from chartkit.engine.cel import (
    ENVIRONMENTS,
    CelCompileError,
    CelError,
    compile_expression,
    declaring,
)
from chartkit.engine.cel.syntax import format_expression, read, simplify
from tests.draws import draws
from tests.property.cel_expressions import expressions, objects

VPOL = declaring(ENVIRONMENTS["vpol"], ["unknown"])
OPAQUE = "dyn(quantity('1'))"
TERMS = st.sampled_from(
    (
        *("true", "false", "has(object.n)", "has(object.none)", "object.none", "1 / 0 == 1"),
        *("dyn('a')", "object", "object.n == 2", f"{OPAQUE} == dyn(1)", f"{OPAQUE} != object.n"),
        *(f"[{OPAQUE}].all(x, !(x == dyn(1)))", "object.l.exists(x, !(x != 2))", "{'a': 1}.b"),
        *(f"cel.bind(x, {OPAQUE}, !(x == object.n))", f"[{OPAQUE}].map(x, x)[0] == dyn('a')"),
        *(f"object.l.map(x, {OPAQUE}).exists(x, !(x == dyn(1)))", "unknown", "'a'.matches('(')"),
    )
)


def _grown(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    chains = st.lists(part, min_size=2, max_size=4)
    return st.one_of(
        part.map(lambda a: f"!({a})"),
        part.map(lambda a: f"!(!({a}))"),
        chains.map(lambda parts: " && ".join(f"({each})" for each in parts)),
        chains.map(lambda parts: " || ".join(f"({each})" for each in parts)),
        st.builds("(({}) && ({})) && ({})".format, part, part, part),
        st.builds("({}) ? ({}) : ({})".format, part, part, part),
        part.map(lambda a: f"({a}) ? true : false"),
        part.map(lambda a: f"({a}) ? false : true"),
        st.builds("({}) {} {}".format, part, st.sampled_from(["==", "!="]), TERMS),
        st.builds("!(({}) {} ({}))".format, part, st.sampled_from(["==", "!="]), part),
    )


CONDITIONS = st.recursive(TERMS, _grown, max_leaves=8)


def _answer(source: str, body: dict[str, Any]) -> str:
    try:
        return repr(compile_expression(source, VPOL).evaluate({"object": body, "unknown": "a"}))
    except CelError as error:
        return str(error)


def _check(source: str, body: dict[str, Any]) -> None:
    try:
        before = _answer(source, body)
    except CelCompileError:
        assume(False)
    tree = simplify(read(source, VPOL))
    assert simplify(tree) == tree
    assert _answer(format_expression(tree), body) == before


@given(CONDITIONS)
@draws(400)
def test_simplified_conditions_have_the_same_value(source: str) -> None:
    _check(source, {"n": 2, "l": [1, 2]})


@given(expressions(depth=5), objects)
@draws(200)
def test_simplified_expressions_have_the_same_value(source: str, body: dict[str, Any]) -> None:
    _check(source, body)
