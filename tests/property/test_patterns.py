"""Random patterns against random values: a Mismatch, nothing, or a typed error; never long."""

import copy
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from chartkit.engine.cluster_policy.pattern.build import MismatchKind
from chartkit.engine.cluster_policy.pattern.match import compile_pattern
from chartkit.go.strconv import mark_literals
from tests.cpu import ends_soon
from tests.draws import draws

_OPERATORS = ["", "!", ">", "<", ">=", "<=", "=", "!!", "*", "?*", "1-", "1!-", "a|", "a&"]
_OPERANDS = ["", "a", "1", "1.5", "10s", "1Gi", "-1", "*", "b?", "0", "9" * 30, "1e400", "é"]
_TEXTS = st.builds(str.__add__, st.sampled_from(_OPERATORS), st.sampled_from(_OPERANDS))
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.integers(-2, 2)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXTS
    | st.text(max_size=5)
)
_NAMES = st.sampled_from(["a", "b", "metadata", "labels", "annotations", "a*", "(a)"])
_FORMS = st.sampled_from(["{}", "({})", "=({})", "<({})", "X({})", "^({})", "+({})", " ({}) "])
_ANCHORED = st.builds(str.format, _FORMS, _NAMES)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=15,
)
_PATTERNS = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(_NAMES | _ANCHORED, inner, max_size=3)
    ),
    max_leaves=15,
)


@given(_PATTERNS, _VALUES)
@draws(500)
def test_a_comparison_ends_in_one_of_its_answers(pattern: Any, value: Any) -> None:
    before = copy.deepcopy((pattern, value))
    with ends_soon():
        mismatch = compile_pattern(mark_literals(pattern)).check(value)
    assert (pattern, value) == before
    if mismatch is not None:
        assert mismatch.message
        assert bool(mismatch.path) is (mismatch.kind is MismatchKind.FAIL)
        assert mismatch.path.endswith("/") or not mismatch.path


@given(_PATTERNS, _VALUES)
@draws(300)
def test_an_answer_does_not_depend_on_what_was_compared_before(pattern: Any, value: Any) -> None:
    compiled = compile_pattern(pattern)
    first = compiled.check(value)
    compiled.check({"metadata": {"labels": {"a": "1", "ab": "2"}}, "a": [{}], "b": value})
    assert compiled.check(value) == first == compile_pattern(pattern).check(value)


@given(_VALUES)
@draws(300)
def test_a_missing_key_decides_by_its_anchor(value: Any) -> None:
    for form in ("=({})", "<({})", "X({})", "^({})"):
        assert compile_pattern({form.format("missing"): value}).check({}) is None
    mismatch = compile_pattern({"(missing)": value}).check({})
    assert mismatch is not None
    assert mismatch.kind is MismatchKind.SKIP


@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), _TEXTS | st.booleans(), min_size=1))
@draws(300)
def test_a_value_matches_itself(value: dict[str, Any]) -> None:
    assert compile_pattern(value).check(value) is None
    assert compile_pattern({"a": [value]}).check({"a": [value, value]}) is None
    assert compile_pattern({"^(a)": [value]}).check({"a": [{}, value]}) is None


@given(_TEXTS, _SCALARS)
@draws(500)
def test_alternatives_hold_where_one_of_them_holds(text: str, value: Any) -> None:
    assume("|" not in text and value not in (text, f"{text}|zz"))
    alone = compile_pattern({"a": text}).check({"a": value}) is None
    either = compile_pattern({"a": f"{text}|zz"}).check({"a": value}) is None
    assert either == (alone or value == "zz")
