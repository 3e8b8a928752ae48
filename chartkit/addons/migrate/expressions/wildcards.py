"""Kyverno's wildcards (`*`, `?`) as tests in CEL, by the function that says it plainest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax import build as cel
from chartkit.engine.cel.syntax.tree import Binary, Literal
from chartkit.engine.scalars.wildcard import (
    SPECIAL_CHARACTERS,
    has_wildcard,
    regular_expression,
)

_ANY: Final = "*"


def fits(text: Expr, pattern: str) -> Expr:
    """Return whether a text fits a pattern; text: evaluated once."""
    if not has_wildcard(pattern):
        return cel.equal(text, pattern)
    inner = pattern.strip(_ANY)
    if not inner:
        return cel.TRUE
    if inner == "?" and pattern != "?":
        return cel.not_equal(text, "")
    if has_wildcard(inner):
        return cel.method(text, "matches", regular_expression(pattern))
    begins, ends = pattern.endswith(_ANY), pattern.startswith(_ANY)
    function = "contains" if begins and ends else "startsWith" if begins else "endsWith"
    return cel.method(text, function, inner)


def fits_any(text: Expr, patterns: Iterable[str]) -> Expr:
    """Return whether a text fits one of several patterns."""
    patterns = list(dict.fromkeys(patterns))
    literals = [each for each in patterns if not has_wildcard(each)]
    tests = [fits(text, each) for each in patterns if has_wildcard(each)]
    if len(literals) == 1:
        tests.insert(0, cel.equal(text, literals[0]))
    elif literals:
        tests.insert(0, cel.contains(cel.list_of(literals), text))
    return cel.any_of(tests)


def fits_value(text: Expr, pattern: Expr) -> Expr:
    """Return whether a text fits a pattern that is computed, of which only the literal parts
    have wildcards. Raises `NotConvertible` where it says no plain thing."""
    match pattern:
        case Binary("+", before, Literal(str() as ending)) if has_wildcard(ending):
            if ending.strip(_ANY) and has_wildcard(ending.rstrip(_ANY)):
                raise NotConvertible("a computed text with wildcards in its midst")
            return cel.method(text, "startsWith", cel.concat(before, ending.rstrip(_ANY)))
    return cel.equal(text, pattern)


def fits_any_value(text: Expr, pattern: Expr) -> Expr:
    """Return whether a text fits a pattern that may have wildcards, which is known only then."""
    escaped = cel.call("regex.replace", pattern, SPECIAL_CHARACTERS, r"\\\1")
    written = cel.method(cel.method(escaped, "replace", "?", "."), "replace", _ANY, ".*")
    return cel.method(text, "matches", cel.concat("(?s)^", written, "$"))
