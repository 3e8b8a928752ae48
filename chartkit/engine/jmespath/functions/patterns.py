"""Texts: cut, joined and compared; regular expressions, wildcards, and text made at random."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

from chartkit.engine.budget import Budget
from chartkit.engine.jmespath.declaration import function
from chartkit.engine.jmespath.expression import FunctionError, function_error
from chartkit.engine.jmespath.functions.selection import as_text
from chartkit.engine.jmespath.nodes import current_sources
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.errors import Reraise
from chartkit.go import strconv
from chartkit.go.strconv import Int64, truncate_to_int64
from chartkit.model import Json

if TYPE_CHECKING:
    from chartkit.go.regexp import Regex

_INSTRUCTIONS: Final = 64
"""The number of instructions of a regular expression that run in a step."""


@function(
    "regex_match(string, string|number) bool",
    "regex_match('^[a-z]+$', request.object.metadata.name)",
)
def regex_match(budget: Budget, pattern: str, text: Json) -> bool:
    """Report whether a regular expression is found in a text."""
    from chartkit.go.regexp import compile_regex

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
    """Replaces every match of a regular expression; `$1` is its first group."""
    return _replaced(budget, "regex_replace_all", pattern, text, replacement)


def _replaced(
    budget: Budget, name: str, pattern: str, text: Json, new: Json, *, literal: bool = False
) -> str:
    from chartkit.go.regexp import RegexError, compile_regex

    with Reraise(f"JMESPath function '{name}': ", RegexError, FunctionError):
        regex = compile_regex(pattern)

    def count(size: int) -> None:
        budget.spend(1, f"{name}()")
        budget.take(size, f"{name}()")

    searched = _searched(regex, text, f"{name}()", budget)
    return regex.replace(searched, as_text(new) or "", count, literal=literal)


@function(
    "regex_replace_all_literal(string, string|number, string|number) string",
    "regex_replace_all_literal('[0-9]+', 'web-1', '$1')",
)
def regex_replace_all_literal(budget: Budget, pattern: str, text: Json, replacement: Json) -> str:
    """Replaces every match of a regular expression by a text as it is."""
    name = "regex_replace_all_literal"
    return _replaced(budget, name, pattern, text, replacement, literal=True)


@function(
    "pattern_match(string, string|number) bool",
    "pattern_match('web-*', request.object.metadata.name)",
)
def pattern_match(pattern: str, text: Json) -> bool:
    """Report whether a text matches a pattern with the wildcards `*` and `?`."""
    return compile_wildcard(pattern)(as_text(text) or "")


@function("random(string) string", "random('[0-9a-z]{8}')")
def random(pattern: str) -> str:
    """A text made at random that matches a regular expression of the POSIX kind."""
    if not pattern:
        raise FunctionError("no pattern provided")
    from chartkit.go.random_text import generate

    return generate(pattern, current_sources().chance.randrange)


@function("compare(string, string) number", "compare('a', 'b')")
def compare(first: str, second: str) -> Int64:
    # Kyverno's result is Go's int, which equals no number of the language.
    """-1, 0 or 1: whether the first text sorts before, with or after the second."""
    return Int64((first > second) - (first < second))


@function("equal_fold(string, string) bool", "equal_fold('Go', 'GO')")
def equal_fold(first: str, second: str) -> bool:
    """Report whether two texts are equal but for upper and lower case."""
    return strconv.equal_fold(first, second)


@function("replace(string, string, string, number) string", "replace('a-b-c', '-', '.', `1`)")
def replace(budget: Budget, text: str, old: str, new: str, count: float) -> str:
    """Replaces so many occurrences of a text; all of them where the number is negative."""
    most = max(-1, truncate_to_int64(count))
    matches = text.count(old)
    made = matches if most < 0 else min(matches, most)
    budget.take(len(text) + made * len(new), "replace()")
    return text.replace(old, new, most)


@function(
    "replace_all(string, string, string) string",
    "replace_all('a-b-c', '-', '.')",
    cel="text.replace(old, new)",
)
def replace_all(budget: Budget, text: str, old: str, new: str) -> str:
    """Replaces every occurrence of a text."""
    budget.take(len(text) + text.count(old) * len(new), "replace_all()")
    return text.replace(old, new)


@function("to_upper(string) string", "to_upper('abc')")
def to_upper(text: str) -> str:
    """The text in upper case."""
    return strconv.to_upper(text)


@function("to_lower(string) string", "to_lower('ABC')")
def to_lower(text: str) -> str:
    """The text in lower case."""
    return strconv.to_lower(text)


@function("trim(string, string) string", "trim('--a--', '-')")
def trim(text: str, characters: str) -> str:
    """The text without the second one's characters at both ends."""
    return text.strip(characters)


@function("trim_prefix(string, string) string", "trim_prefix('v1.2.3', 'v')")
def trim_prefix(text: str, prefix: str) -> str:
    """The text without a prefix, where it has it."""
    return text.removeprefix(prefix)


@function(
    "split(string, string) array[string]",
    "split('a,b,c', ',')",
    cel="text.split(separator)",
)
def split(text: str, separator: str) -> list[str]:
    """The parts of a text between the occurrences of another."""
    return text.split(separator) if separator else list(text)


@function("starts_with(string, string) bool", "starts_with(request.object.metadata.name, 'kube-')")
def starts_with(text: str, prefix: str) -> bool:
    """Report whether a text begins with another."""
    return text.startswith(prefix)


@function("ends_with(string, string) bool", "ends_with(request.object.metadata.name, '-prod')")
def ends_with(text: str, suffix: str) -> bool:
    """Report whether a text ends with another."""
    return text.endswith(suffix)


@function("truncate(string, number) string", "truncate(request.object.metadata.name, `9`)")
def truncate(text: str, length: float) -> str:
    """The first characters of a text."""
    return text[: max(0, truncate_to_int64(max(length, 0)))]


@function("to_boolean(string) bool", "to_boolean('True')")
def to_boolean(text: str) -> bool:
    """Return the boolean of the texts true and false, in any case of letters."""
    lower = strconv.to_lower(text)
    if lower not in ("true", "false"):
        expected = "lowercase argument must be 'true' or 'false'"
        raise function_error("to_boolean", f"{expected} (provided: '{text}')")
    return lower == "true"


@function("path_canonicalize(string) string", "path_canonicalize('/var//lib/../run')")
def path_canonicalize(path: str) -> str:
    """A path without `.`, `..` and doubled slashes."""
    if not path:
        return ""
    # POSIX keeps two leading slashes apart from one; Go does not.
    clean = posixpath.normpath(path)
    return clean[1:] if clean.startswith("//") else clean
