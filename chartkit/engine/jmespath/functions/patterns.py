"""Regular expressions, wildcards, and text made at random from a pattern."""

from __future__ import annotations

from functools import partial
from typing import Final

from chartkit.engine.budget import Budget
from chartkit.engine.jmespath.declaration import function
from chartkit.engine.jmespath.errors import FunctionError
from chartkit.engine.jmespath.functions.collections import as_text
from chartkit.engine.jmespath.sources import current_sources
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.errors import Reraise
from chartkit.go.random_text import generate
from chartkit.go.regexp import Regex, RegexError, compile_regex
from chartkit.model import Json

_INSTRUCTIONS: Final = 64
"""The number of instructions of a regular expression that run in a step."""


def _compile(pattern: str, name: str) -> Regex:
    with Reraise(f"JMESPath function '{name}': ", RegexError, FunctionError):
        return compile_regex(pattern)


@function(
    "regex_match(string, string|number) bool",
    "regex_match('^[a-z]+$', request.object.metadata.name)",
)
def regex_match(budget: Budget, pattern: str, text: Json) -> bool:
    """Return whether a regular expression is found in a text."""
    regex = compile_regex(pattern)
    return regex.matches(_searched(regex, text, "regex_match()", budget))


def _searched(regex: Regex, text: Json, name: str, budget: Budget) -> str:
    """The text that is searched, its search counted."""
    searched = as_text(text) or ""
    budget.spend(regex.size * len(searched) // _INSTRUCTIONS, name)
    return searched


@function(
    "regex_replace_all(string, string|number, string|number) string",
    "regex_replace_all('([a-z]+)-([0-9]+)', 'web-1', '$2-$1')",
)
def regex_replace_all(budget: Budget, pattern: str, text: Json, replacement: Json) -> str:
    """Replaces every match of a regular expression; `$1` stands for its first group."""
    name = "regex_replace_all"
    regex = _compile(pattern, name)
    searched = _searched(regex, text, f"{name}()", budget)
    return regex.replace(searched, as_text(replacement) or "", partial(_made, budget, name))


def _made(budget: Budget, name: str, size: int) -> None:
    budget.spend(1, f"{name}()")
    budget.take(size, f"{name}()")


@function(
    "regex_replace_all_literal(string, string|number, string|number) string",
    "regex_replace_all_literal('[0-9]+', 'web-1', '$1')",
)
def regex_replace_all_literal(budget: Budget, pattern: str, text: Json, replacement: Json) -> str:
    """Replaces every match of a regular expression by a text as it is."""
    name = "regex_replace_all_literal"
    regex = _compile(pattern, name)
    searched = _searched(regex, text, f"{name}()", budget)
    made = partial(_made, budget, name)
    return regex.replace_literal(searched, as_text(replacement) or "", made)


@function(
    "pattern_match(string, string|number) bool",
    "pattern_match('web-*', request.object.metadata.name)",
)
def pattern_match(pattern: str, text: Json) -> bool:
    """Return whether a text matches a pattern with the wildcards `*` and `?`."""
    return compile_wildcard(pattern)(as_text(text) or "")


@function("random(string) string", "random('[0-9a-z]{8}')")
def random(pattern: str) -> str:
    """A text made at random that matches a regular expression of the POSIX kind."""
    if not pattern:
        raise FunctionError("no pattern provided")
    return generate(pattern, current_sources().chance.randrange)
