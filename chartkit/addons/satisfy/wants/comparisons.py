"""Tests that comparisons and functions of expressions make of a value."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any as AnyType
from typing import Final

from chartkit.addons.satisfy.texts import Language, is_readable
from chartkit.addons.satisfy.values import MISSING, Test, in_words
from chartkit.engine.scalars.wildcard import has_wildcard
from chartkit.go import GoError
from chartkit.go.quantity import quantity_or_none
from chartkit.go.regexp import compile_regex
from chartkit.model import Json, same


class NotReadError(Exception):
    """An expression that does more than read fields."""


FLIPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
"""The relations with both sides exchanged."""
OPPOSITES: Final = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
ORDERS: Final[dict[str, Callable[[AnyType, AnyType], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_WORDS: Final = {
    "<": "less than ",
    "<=": "at most ",
    ">": "greater than ",
    ">=": "at least ",
    "==": "",
    "!=": "not ",
}


def relation_words(sign: str, value: Json) -> str:
    """Return what a relation with a constant takes, in words."""
    return f"{_WORDS[sign]}{in_words(value)}"


def comparison(sign: str, value: Json, is_size: bool) -> Test:
    """Return the test that a comparison with a constant makes; a missing field is null."""

    def equal(found: Json) -> bool:
        known = None if found is MISSING else found
        if is_size:
            one, other = quantity_or_none(str(known)), quantity_or_none(str(value))
            return one is not None and one == other
        return same(known, value)

    if sign in ORDERS:
        order = ORDERS[sign]
        points = (str(value),) if isinstance(value, int | float) else ()

        def holds(found: Json) -> bool:
            numbers = all(
                isinstance(each, int | float) and not isinstance(each, bool)
                for each in (found, value)
            )
            return numbers and order(float(found), float(value))

        kind = "quantity" if points else ""
        return Test(relation_words(sign, value), holds, (value,), order=kind, points=points)
    wanted = sign == "=="
    others = () if not isinstance(value, bool) else (not value,)
    probes = (value,) if wanted else others
    closed = wanted and not is_size
    text = relation_words(sign, value)
    return Test(text, lambda found: equal(found) is wanted, probes, closed, closed)


def function_test(name: str, argument: str) -> Test:
    """Return the test that a function of texts makes of its subject."""
    wants = f"{name.replace('_', ' ')} {argument}"
    if name in ("regex_match", "matches"):
        try:
            regex = compile_regex(argument)
        except GoError:
            raise NotReadError from None
        language = Language(argument, is_regex=True)
        known = (language,) if is_readable(argument) else None
        return Test(
            wants,
            lambda value: isinstance(value, str | int) and regex.matches(str(value)),
            languages=known,
            is_positive=known is not None,
        )
    shape = {"contains": "*{}*", "starts_with": "{}*", "ends_with": "*{}"}[name]
    if has_wildcard(argument):
        raise NotReadError
    checks: dict[str, Callable[[str], bool]] = {
        "contains": lambda text: argument in text,
        "starts_with": lambda text: text.startswith(argument),
        "ends_with": lambda text: text.endswith(argument),
    }
    check = checks[name]
    return Test(
        wants,
        lambda value: isinstance(value, str) and check(value),
        languages=(Language(shape.format(argument)),),
        is_positive=True,
    )
