"""`kubernetes.regex`: what a regular expression finds in a text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chartkit.engine.cel.declarations import Library, declared, overload
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.costs import of_matching
from chartkit.engine.cel.library.searching import bounded_matches, of_search, of_search_for_all
from chartkit.errors import Reraise
from chartkit.go.regexp import RegexError, compile_regex


def _found(text: str, pattern: str) -> Iterator[str]:
    with Reraise("Illegal regex: ", RegexError, CelError):
        regex = compile_regex(pattern)
    return bounded_matches(regex, text, regex.find(text))


_find = overload(
    "string_find_string: string.find(string) -> string", cost=of_matching, work=of_search
)(lambda text, pattern: next(_found(text, pattern), ""))

_find_all = overload(
    "string_find_all_string: string.findAll(string) -> list(string)",
    cost=of_matching,
    work=of_search_for_all,
)(lambda text, pattern: list(_found(text, pattern)))


@overload(
    "string_find_all_string_int: string.findAll(string, int) -> list(string)",
    cost=of_matching,
    work=of_search_for_all,
)
def _find_some(text: str, pattern: str, limit: int) -> list[str]:
    matches = _found(text, pattern)
    if limit < 0:
        return list(matches)
    return [part for _, part in zip(range(limit), matches, strict=False)]


LIBRARY: Final = Library("kubernetes.regex", overloads=declared(globals()))
