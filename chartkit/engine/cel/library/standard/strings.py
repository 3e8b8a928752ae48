"""`contains`, `startsWith`, `endsWith` and `matches`."""

from __future__ import annotations

import operator

from chartkit.engine.cel.declarations import Overload, overload, overloads
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library import costs
from chartkit.engine.cel.library.searching import is_found, of_search
from chartkit.go.regexp import RegexError, compile_regex


def _matches(text: str, pattern: str) -> bool:
    try:
        return is_found(compile_regex(pattern), text)
    except RegexError as error:
        raise CelError(str(error)) from None


OVERLOADS: tuple[Overload, ...] = (
    overload("contains_string: string.contains(string) -> bool", cost=costs.of_search)(
        operator.contains
    ),
    *overloads(
        {
            "ends_with_string: string.endsWith(string) -> bool": str.endswith,
            "starts_with_string: string.startsWith(string) -> bool": str.startswith,
        },
        cost=costs.of_second,
    ),
    *overloads(
        {
            "matches: matches(string, string) -> bool": _matches,
            "matches_string: string.matches(string) -> bool": _matches,
        },
        cost=costs.of_matching,
        work=of_search,
    ),
)
