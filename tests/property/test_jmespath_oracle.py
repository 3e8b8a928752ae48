"""JMESPath against the `jmespath` package, over what both have: fields that are there."""

from typing import Any

import jmespath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartkit.engine.jmespath import compile_expression

NUMBERS = st.integers(-1000, 1000)
TEXTS = st.text("abc-/.", max_size=5)
ITEMS = st.fixed_dictionaries(
    {"n": NUMBERS, "t": TEXTS, "l": st.lists(NUMBERS, max_size=3), "b": st.booleans()}
)
DOCUMENTS = st.fixed_dictionaries(
    {"items": st.lists(ITEMS, max_size=5), "one": ITEMS, "words": st.lists(TEXTS, max_size=4)}
)
EXPRESSIONS = [
    "one.n",
    "items[*].n",
    "items[].l",
    "items[].l[]",
    "items[?n > `0`].t",
    "items[?b && n <= `10`] | [0].t",
    "items[?t == 'a' || !b].{name: t, first: l[0]}",
    "items[*].[n, t]",
    "items[::-1].n",
    "items[1:3].t",
    "words[-1]",
    "length(items)",
    "keys(one) | sort(@)",
    "sort_by(items, &n)[*].n",
    "max_by(items[?n > `0`], &n).n",
    "join(', ', words)",
    "items[?contains(l, `1`)].n",
    "words[?starts_with(@, 'a')]",
    "to_string(words)",
    "not_null(items[0].l[0], `7`)",
    "reverse(words)",
    "map(&length(l), items)",
    "type(one.t)",
    "@.words | length(@)",
]


@pytest.mark.parametrize("text", EXPRESSIONS)
@given(document=DOCUMENTS)
def test_gives_what_the_reference_gives(text: str, document: dict[str, Any]) -> None:
    expected = jmespath.search(text, document)
    if text.startswith("to_string"):
        expected = expected.replace(", ", ",")
    assert compile_expression(text).search(document) == expected
