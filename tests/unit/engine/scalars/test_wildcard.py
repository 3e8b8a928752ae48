"""Wildcards: `*` and `?`, and nothing else."""

import fnmatch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartkit.engine.scalars.wildcard import compile_wildcard, has_wildcard


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("", "", True),
        ("", "a", False),
        ("*", "", True),
        ("**", "a/b\nc", True),
        ("a*b", "ab", True),
        ("a*b", "aXbYb", True),
        ("ab*ba", "aba", False),
        ("*a*b*", "xxbxa", False),
        ("a?c", "abc", True),
        ("a?c", "ac", False),
        ("?", "é", True),
        ("?", "\n", True),
        ("a*?", "a", False),
        ("[ab]", "a", False),
        ("[ab]*", "[ab]x", True),
        ("a.c", "abc", False),
        ("a.c*?", "a.cd", True),
    ],
)
def test_wildcard_matches(pattern: str, text: str, matches: bool) -> None:
    assert compile_wildcard(pattern)(text) is matches


def test_many_stars_stay_fast() -> None:
    assert not compile_wildcard("*a" * 50 + "b")("a" * 20_000)
    assert not compile_wildcard("*a?" * 50 + "b")("a" * 5_000)


def test_tells_patterns_from_names() -> None:
    assert has_wildcard("a*")
    assert has_wildcard("a?")
    assert not has_wildcard("[a]")


@given(st.text("ab*?", max_size=8), st.text("ab", max_size=8))
def test_agrees_with_the_shell(pattern: str, text: str) -> None:
    assert compile_wildcard(pattern)(text) is fnmatch.fnmatchcase(text, pattern)
