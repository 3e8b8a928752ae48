"""Regular expressions, wildcards, and text made at random from a pattern."""

from __future__ import annotations

from chartkit.engine.jmespath.declaration import (
    BOOLEAN,
    NUMBER,
    STRING,
    FunctionSpec,
    function,
)
from chartkit.engine.jmespath.errors import FunctionError, function_error
from chartkit.engine.jmespath.functions.collections import as_text
from chartkit.engine.jmespath.sources import current_sources
from chartkit.engine.values.random_text import RandomTextError, generate
from chartkit.engine.values.regexp import Regex, RegexError, compile_regex
from chartkit.engine.values.wildcard import compile_wildcard
from chartkit.model import Json


def _compile(pattern: str, name: str) -> Regex:
    try:
        return compile_regex(pattern)
    except RegexError as error:
        raise function_error(name, str(error)) from error


@function(
    "regex_match",
    STRING,
    STRING | NUMBER,
    returns=BOOLEAN,
    doc="Whether a regular expression is found in a text.",
    example="regex_match('^[a-z]+$', request.object.metadata.name)",
)
def regex_match(pattern: str, text: Json) -> bool:
    try:
        return compile_regex(pattern).matches(as_text(text) or "")
    except RegexError as error:
        raise FunctionError(str(error)) from error


@function(
    "regex_replace_all",
    STRING,
    STRING | NUMBER,
    STRING | NUMBER,
    returns=STRING,
    doc="Replaces every match of a regular expression; `$1` stands for its first group.",
    example="regex_replace_all('([a-z]+)-([0-9]+)', 'web-1', '$2-$1')",
)
def regex_replace_all(pattern: str, text: Json, replacement: Json) -> str:
    regex = _compile(pattern, "regex_replace_all")
    return regex.replace(as_text(text) or "", as_text(replacement) or "")


@function(
    "regex_replace_all_literal",
    STRING,
    STRING | NUMBER,
    STRING | NUMBER,
    returns=STRING,
    doc="Replaces every match of a regular expression by a text as it is.",
    example="regex_replace_all_literal('[0-9]+', 'web-1', '$1')",
)
def regex_replace_all_literal(pattern: str, text: Json, replacement: Json) -> str:
    regex = _compile(pattern, "regex_replace_all_literal")
    return regex.replace_literal(as_text(text) or "", as_text(replacement) or "")


@function(
    "pattern_match",
    STRING,
    STRING | NUMBER,
    returns=BOOLEAN,
    doc="Whether a text matches a pattern with the wildcards `*` and `?`.",
    example="pattern_match('web-*', request.object.metadata.name)",
)
def pattern_match(pattern: str, text: Json) -> bool:
    return compile_wildcard(pattern)(as_text(text) or "")


@function(
    "random",
    STRING,
    returns=STRING,
    doc="A text made at random that matches a regular expression of the POSIX kind.",
    example="random('[0-9a-z]{8}')",
)
def random(pattern: str) -> str:
    if not pattern:
        raise FunctionError("no pattern provided")
    try:
        return generate(pattern, current_sources().chance.randrange)
    except (RegexError, RandomTextError) as error:
        raise FunctionError(str(error)) from error


FUNCTIONS: tuple[FunctionSpec, ...] = (
    pattern_match,
    random,
    regex_match,
    regex_replace_all,
    regex_replace_all_literal,
)
