"""Values as people read them are the expressions that give them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartkit.engine.cel import ENVIRONMENTS, compile_expression
from chartkit.engine.cel.notation import notation
from chartkit.engine.cel.times import Duration, Timestamp
from chartkit.engine.cel.types import INT, opaque
from chartkit.engine.cel.values import NONE, OptionalValue, Struct, Uint, Value, equal, type_of

SCALARS: st.SearchStrategy[Value] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63) + 1, 2**63 - 1),
    st.integers(0, 2**64 - 1).map(Uint),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.binary(max_size=8),
    st.integers(-(10**18), 10**18).map(Duration),
    st.integers(0, 10**18).map(Timestamp),
)
VALUES: st.SearchStrategy[Value] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.text("abc", max_size=2), inner, max_size=3),
        inner.map(lambda value: OptionalValue(True, value)),
        st.just(NONE),
    ),
    max_leaves=6,
)


@given(VALUES, st.booleans())
def test_the_expression_gives_the_value(value: Value, lines: bool) -> None:
    # In gpol the members of a literal need not have one type.
    program = compile_expression(notation(value, lines=lines), ENVIRONMENTS["gpol"])
    back = program.evaluate({})
    assert type_of(back) == type_of(value)
    assert equal(back, value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (math.nan, 'double("NaN")'),
        (-math.inf, 'double("-Infinity")'),
        (b'\x00"a', r'b"\x00\x22a"'),
        (INT, "int"),
        (Struct(opaque("Object"), {"a": [1]}), "Object{a: [1]}"),
        ({1: True, "b": {}}, '{1: true, "b": {}}'),
    ],
)
def test_what_is_written(value: Value, text: str) -> None:
    assert notation(value) == text


def test_notation_lines() -> None:
    assert notation({"a": [1, 2], "b": []}, lines=True) == (
        '{\n  "a": [\n    1,\n    2\n  ],\n  "b": []\n}'
    )


def test_named_values_are_what_makes_them() -> None:
    text = '[dyn(quantity("1Gi")), dyn(ip("10.0.0.1")), dyn(image("nginx:1.27"))]'
    value = compile_expression(text, ENVIRONMENTS["vpol"]).evaluate({})
    assert notation(value) == text.replace("dyn(", "").replace("))", ")")
