"""`contains`, `startsWith`, `endsWith` and `matches`."""

from __future__ import annotations

from chartkit.engine.cel.declarations import Example, Overload, overload
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library import costs
from chartkit.engine.cel.library.searching import is_found, of_search
from chartkit.engine.cel.types import BOOL, STRING
from chartkit.go.regexp import RegexError, compile_regex

_MATCHES = "Whether a regular expression (RE2) is found anywhere in a text."


@overload(
    "contains",
    "contains_string",
    STRING,
    STRING,
    returns=BOOL,
    member=True,
    cost=costs.of_search,
    doc="Whether a text stands somewhere in another.",
    examples=(Example("'hello world'.contains('o w')", "true"),),
)
def contains(text: str, part: str) -> bool:
    return part in text


@overload(
    "endsWith",
    "ends_with_string",
    STRING,
    STRING,
    returns=BOOL,
    member=True,
    cost=costs.of_second,
    doc="Whether a text ends with another.",
    examples=(Example("'nginx:latest'.endsWith(':latest')", "true"),),
)
def ends_with(text: str, end: str) -> bool:
    return text.endswith(end)


@overload(
    "startsWith",
    "starts_with_string",
    STRING,
    STRING,
    returns=BOOL,
    member=True,
    cost=costs.of_second,
    doc="Whether a text begins with another.",
    examples=(Example("'ghcr.io/app'.startsWith('ghcr.io/')", "true"),),
)
def starts_with(text: str, start: str) -> bool:
    return text.startswith(start)


def _matches(text: str, pattern: str) -> bool:
    try:
        return is_found(compile_regex(pattern), text)
    except RegexError as error:
        raise CelError(str(error)) from None


OVERLOADS: tuple[Overload, ...] = (
    contains,
    ends_with,
    starts_with,
    Overload(
        "matches",
        "matches",
        (STRING, STRING),
        BOOL,
        _matches,
        cost=costs.of_matching,
        work=of_search,
        doc=_MATCHES,
        examples=(Example("matches('123-456', '^[0-9]+(-[0-9]+)?$')", "true"),),
    ),
    Overload(
        "matches",
        "matches_string",
        (STRING, STRING),
        BOOL,
        _matches,
        member=True,
        cost=costs.of_matching,
        work=of_search,
        doc=_MATCHES,
        examples=(Example("'hello'.matches('l+')", "true"),),
    ),
)
