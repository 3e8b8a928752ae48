"""Text that is made from a pattern."""

from random import Random

import pytest

from chartkit.go.random_text import RandomTextError, generate
from chartkit.go.regexp import RegexError, compile_regex


@pytest.mark.parametrize(
    "pattern", ["[0-9a-z]{8}", "(ab|c){3}-[[:upper:]]+", "[^a-y]{2}", "x?y*", r"\.\x41", "^a$"]
)
def test_a_text_matches_its_pattern(pattern: str) -> None:
    for seed in range(20):
        text = generate(pattern, Random(seed).randrange)
        assert compile_regex(f"^(?:{pattern})$".replace("^^", "^")).matches(text)


def test_perl_classes_are_refused() -> None:
    with pytest.raises(RegexError, match="invalid escape sequence"):
        generate(r"\d", Random(1).randrange)


@pytest.mark.parametrize("pattern", ["(((()*)*)*)*", "((a{1000}b*)*)*", "(" * 900 + ")" * 900])
def test_a_pattern_that_explodes_is_stopped(pattern: str) -> None:
    with pytest.raises(RandomTextError):
        generate(pattern, lambda limit: limit - 1)
