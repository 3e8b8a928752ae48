"""Texts: cut, joined and compared; regular expressions, wildcards, and text made at random."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

from chartkit.engine.budget import Budget
from chartkit.engine.jmespath.declaration import function, functions
from chartkit.engine.jmespath.expression import FunctionError, function_error
from chartkit.engine.jmespath.functions.selection import as_text
from chartkit.engine.jmespath.nodes import current_sources
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.errors import Reraise
from chartkit.go.strconv import Int64, equal_fold, to_lower, to_upper, truncate_to_int64
from chartkit.model import Json

if TYPE_CHECKING:
    from chartkit.go.regexp import Regex

_INSTRUCTIONS: Final = 64
"""The number of instructions of a regular expression that run in a step."""


@function("regex_match(string, string|number) bool")
def regex_match(budget: Budget, pattern: str, text: Json) -> bool:
    from chartkit.go.regexp import compile_regex

    regex = compile_regex(pattern)
    return regex.matches(_searched(regex, text, "regex_match()", budget))


def _searched(regex: Regex, text: Json, name: str, budget: Budget) -> str:
    """The text that is searched, its search counted."""
    searched = as_text(text) or ""
    budget.spend(regex.size * len(searched) // _INSTRUCTIONS, name)
    return searched


@function("regex_replace_all(string, string|number, string|number) string")
def regex_replace_all(budget: Budget, pattern: str, text: Json, replacement: Json) -> str:
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


@function("regex_replace_all_literal(string, string|number, string|number) string")
def regex_replace_all_literal(budget: Budget, pattern: str, text: Json, replacement: Json) -> str:
    name = "regex_replace_all_literal"
    return _replaced(budget, name, pattern, text, replacement, literal=True)


@function("random(string) string")
def random(pattern: str) -> str:
    if not pattern:
        raise FunctionError("no pattern provided")
    from chartkit.go.random_text import generate

    return generate(pattern, current_sources().chance.randrange)


@function("replace(string, string, string, number) string")
def replace(budget: Budget, text: str, old: str, new: str, count: float) -> str:
    most = max(-1, truncate_to_int64(count))
    matches = text.count(old)
    made = matches if most < 0 else min(matches, most)
    budget.take(len(text) + made * len(new), "replace()")
    return text.replace(old, new, most)


@function("replace_all(string, string, string) string", cel="text.replace(old, new)")
def replace_all(budget: Budget, text: str, old: str, new: str) -> str:
    budget.take(len(text) + text.count(old) * len(new), "replace_all()")
    return text.replace(old, new)


@function("split(string, string) array[string]", cel="text.split(separator)")
def split(text: str, separator: str) -> list[str]:
    return text.split(separator) if separator else list(text)


@function("to_boolean(string) bool")
def to_boolean(text: str) -> bool:
    lower = to_lower(text)
    if lower not in ("true", "false"):
        expected = "lowercase argument must be 'true' or 'false'"
        raise function_error("to_boolean", f"{expected} (provided: '{text}')")
    return lower == "true"


@function("path_canonicalize(string) string")
def path_canonicalize(path: str) -> str:
    if not path:
        return ""
    # POSIX keeps two leading slashes apart from one; Go does not.
    clean = posixpath.normpath(path)
    return clean[1:] if clean.startswith("//") else clean


FUNCTIONS = functions(
    {
        "pattern_match(string, string|number) bool": lambda pattern, text: compile_wildcard(
            pattern
        )(as_text(text) or ""),
        # Kyverno's result is Go's int, which equals no number of the language.
        "compare(string, string) number": lambda first, second: Int64(
            (first > second) - (first < second)
        ),
        "equal_fold(string, string) bool": equal_fold,
        "to_upper(string) string": to_upper,
        "to_lower(string) string": to_lower,
        "trim(string, string) string": str.strip,
        "trim_prefix(string, string) string": str.removeprefix,
        "starts_with(string, string) bool": str.startswith,
        "ends_with(string, string) bool": str.endswith,
        "truncate(string, number) string": lambda text, length: text[
            : max(0, truncate_to_int64(max(length, 0)))
        ],
    }
)
