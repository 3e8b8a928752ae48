"""Scalars of patterns against values of every type."""

import pytest

from chartkit.engine.cluster_policy.pattern.scalar import compile_scalar
from chartkit.go.strconv import Int64
from chartkit.model import Json

VALUES: list[Json] = [
    None, "", "abc", "1", "1.0", "true", 0, 1, 1.5, True, False, {}, {"a": 1}, [], ["abc"]
]  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "held"),
    [
        (None, [None, "", 0, False]),
        (True, [True]),
        (False, [False]),
        (Int64(1), ["1", 1]),
        (1.0, ["1", "1.0", 1]),
        (1.5, [1.5]),
        ("1", ["1", "1.0", 1]),
        ("true", ["true", True]),
        ("null", []),
        ("", [""]),
        ("*", ["", "abc", "1", "1.0", "true", 0, 1, 1.5, True, False]),
        ("?*", ["abc", "1", "1.0", "true", 0, 1, 1.5, True, False]),
        ("abc|true", ["abc", "true", True]),
        ("abc | true", ["abc", "true", True]),
        ("abc|", ["", "abc"]),
        ("abc&", []),
        (">0&<2", ["1", "1.0", 1, 1.5]),
        ("<1|>1", [None, 0, 1.5]),
        ("a*|>1", ["abc", 1.5]),
    ],
)
def test_scalar(pattern: Json, held: list[Json]) -> None:
    holds = compile_scalar(pattern)
    assert list(map(repr, filter(holds, VALUES))) == list(map(repr, held))


def test_the_whole_text_comes_first() -> None:
    for text in ("1-5", "a|b", ">=1", "!x", "a & b"):
        assert compile_scalar(text)(text)


def test_numbers_that_do_not_fit() -> None:
    assert not compile_scalar(Int64(1))("9" * 30)
    assert not compile_scalar(Int64(1))(10**400)
    assert not compile_scalar(1.0)("1e999")
    assert compile_scalar(Int64(-(2**63)))(1e30)


def test_int64_value_of_a_context() -> None:
    assert compile_scalar(2.0)(Int64(2))
    assert not compile_scalar(2.5)(Int64(2))
    assert compile_scalar("2")(Int64(2))
