"""Texts that wildcards and regular expressions take together."""

import re

import pytest

from chartkit.addons.satisfy.texts import Language, TooLargeError, is_readable, shortest
from chartkit.engine.scalars.wildcard import compile_wildcard

EMPTY = [
    [Language("reg.example/*"), Language("reg.example/*", wanted=False)],
    [Language("a*"), Language("b*")],
    [Language("^[0-9]+$", is_regex=True), Language("a*")],
    [Language("?"), Language("??")],
    [Language("^(a|b)$", True), Language("a", wanted=False), Language("b", wanted=False)],
    [Language("^x{3}$", True), Language("xxx", wanted=False)],
]


@pytest.mark.parametrize("languages", EMPTY)
def test_no_text(languages: list[Language]) -> None:
    assert shortest(languages) is None


FULL = [
    [Language("reg.example/*"), Language("*:latest", wanted=False), Language("*:*")],
    [Language("a*b"), Language("*ba*")],
    [Language("^(prod|dev)-[a-z]{3,5}$", True), Language("prod*", wanted=False)],
    [Language("foo|bar", True), Language("^b", True)],
    [Language(r"^[^a-y\d]+$", True)],
    [Language(r"^\w+\.\w+$", True), Language("*.x?")],
]


@pytest.mark.parametrize("languages", FULL)
def test_a_text_of_all(languages: list[Language]) -> None:
    text = shortest(languages)
    assert text is not None
    for each in languages:
        if each.is_regex:
            assert (re.search(each.pattern, text) is not None) is each.wanted
        else:
            assert compile_wildcard(each.pattern)(text) is each.wanted


@pytest.mark.parametrize("pattern", [r"\bword", "(?i)a", "a**b", "(", "[[:alpha:]]", "a{9999}"])
def test_expressions_that_are_not_known(pattern: str) -> None:
    assert not is_readable(pattern)


def test_a_product_is_bounded() -> None:
    ways = [Language(f"*{letter}{'?' * 12}") for letter in "abcd"]
    with pytest.raises(TooLargeError):
        shortest(ways)
