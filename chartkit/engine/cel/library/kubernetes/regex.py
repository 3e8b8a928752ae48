"""`kubernetes.regex`: what a regular expression finds in a text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chartkit.engine.cel.declarations import Example, Library, declared, overload
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.costs import of_matching
from chartkit.engine.cel.library.searching import bounded_matches, of_search, of_search_for_all
from chartkit.engine.cel.types import INT, LIST_STRING, STRING
from chartkit.go.regexp import RegexError, compile_regex


def _found(text: str, pattern: str) -> Iterator[str]:
    try:
        regex = compile_regex(pattern)
    except RegexError as error:
        raise CelError(f"Illegal regex: {error}") from None
    return bounded_matches(regex, text, regex.find(text))


@overload(
    "find",
    "string_find_string",
    STRING,
    STRING,
    returns=STRING,
    member=True,
    cost=of_matching,
    work=of_search,
    doc="The first part of a text that a regular expression matches; empty where none does.",
    examples=(Example("'abc 123'.find('[0-9]+')", "'123'"), Example("'abc'.find('[0-9]+')", "''")),
)
def _find(text: str, pattern: str) -> str:
    return next(_found(text, pattern), "")


_FIND_ALL: Final = (
    "All parts of a text that a regular expression matches; a limit of 0 or more says how many."
)


@overload(
    "findAll",
    "string_find_all_string",
    STRING,
    STRING,
    returns=LIST_STRING,
    member=True,
    cost=of_matching,
    work=of_search_for_all,
    doc=_FIND_ALL,
    examples=(
        Example("'123 abc 456'.findAll('[0-9]+')", "['123', '456']"),
        Example("'123 abc 456'.findAll('[0-9]+', 1)", "['123']"),
        Example("'123 abc 456'.findAll('xyz')", "[]"),
    ),
)
def _find_all(text: str, pattern: str) -> list[str]:
    return list(_found(text, pattern))


@overload(
    "findAll",
    "string_find_all_string_int",
    STRING,
    STRING,
    INT,
    returns=LIST_STRING,
    member=True,
    cost=of_matching,
    work=of_search_for_all,
    doc=_FIND_ALL,
)
def _find_some(text: str, pattern: str, limit: int) -> list[str]:
    found = _found(text, pattern)
    if limit < 0:
        return list(found)
    return [part for _, part in zip(range(limit), found, strict=False)]


LIBRARY: Final = Library(
    "kubernetes.regex",
    overloads=declared(globals()),
    doc="What regular expressions (RE2) find in texts.",
)
