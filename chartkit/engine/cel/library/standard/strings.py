"""`contains`, `startsWith`, `endsWith` and `matches`."""

from __future__ import annotations

import operator

from chartkit.engine.cel.declarations import Overload, overload
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library import costs
from chartkit.engine.cel.library.searching import is_found, of_search
from chartkit.go.regexp import RegexError, compile_regex

_MATCHES = "Whether a regular expression (RE2) is found anywhere in a text."

contains = overload(
    "contains_string: string.contains(string) -> bool",
    "Whether a text stands somewhere in another.",
    "'hello world'.contains('o w')  // true",
    cost=costs.of_search,
)(operator.contains)

ends_with = overload(
    "ends_with_string: string.endsWith(string) -> bool",
    "Whether a text ends with another.",
    "'nginx:latest'.endsWith(':latest')  // true",
    cost=costs.of_second,
)(str.endswith)

starts_with = overload(
    "starts_with_string: string.startsWith(string) -> bool",
    "Whether a text begins with another.",
    "'ghcr.io/app'.startsWith('ghcr.io/')  // true",
    cost=costs.of_second,
)(str.startswith)


def _matches(text: str, pattern: str) -> bool:
    try:
        return is_found(compile_regex(pattern), text)
    except RegexError as error:
        raise CelError(str(error)) from None


OVERLOADS: tuple[Overload, ...] = (
    contains,
    ends_with,
    starts_with,
    overload(
        "matches: matches(string, string) -> bool",
        _MATCHES,
        "matches('123-456', '^[0-9]+(-[0-9]+)?$')  // true",
        cost=costs.of_matching,
        work=of_search,
    )(_matches),
    overload(
        "matches_string: string.matches(string) -> bool",
        _MATCHES,
        "'hello'.matches('l+')  // true",
        cost=costs.of_matching,
        work=of_search,
    )(_matches),
)
