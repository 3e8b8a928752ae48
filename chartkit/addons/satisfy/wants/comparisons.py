"""Tests that comparisons and functions of expressions make of a value, or of a part of an image
(`images.containers.*.registry`)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any as AnyType
from typing import Final

from chartkit.addons.satisfy.texts import (
    Language,
    TooLargeError,
    is_readable,
    one_of_wildcards,
    shortest,
)
from chartkit.addons.satisfy.values import MISSING, Test, in_words, negated
from chartkit.engine.scalars.image_reference import ImageReference, ImageReferenceError, parse_image
from chartkit.engine.scalars.wildcard import compile_wildcard, has_wildcard
from chartkit.go import GoError
from chartkit.go.quantity import quantity_or_none
from chartkit.go.regexp import compile_regex
from chartkit.model import Json, same

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
PARTS: Final = frozenset(("registry", "path", "name", "tag", "digest"))
_DIGEST: Final = f"sha256:{'0' * 64}"
_EXAMPLE: Final = ImageReference("registry.example", "app", "1.0", "")
_DEFAULT: Final = "docker.io"
"""The registry of an image that names none."""


class NotReadError(Exception):
    """An expression that does more than read fields."""


def relation_words(sign: str, value: Json) -> str:
    """Return the values that a relation with a constant takes, in words."""
    return f"{_WORDS[sign]}{in_words(value)}"


def comparison(sign: str, value: Json, is_size: bool) -> Test:
    """Return the test that a comparison with a constant makes; a missing field is null."""

    def equal(current: Json) -> bool:
        given = None if current is MISSING else current
        if is_size:
            size, other = quantity_or_none(str(given)), quantity_or_none(str(value))
            return size is not None and size == other
        return same(given, value)

    if sign in ORDERS:
        order = ORDERS[sign]
        points = (str(value),) if isinstance(value, int | float) else ()

        def holds(current: Json) -> bool:
            numbers = all(
                isinstance(side, int | float) and not isinstance(side, bool)
                for side in (current, value)
            )
            return numbers and order(float(current), float(value))

        kind = "quantity" if points else ""
        return Test(relation_words(sign, value), holds, (value,), order=kind, points=points)
    wanted = sign == "=="
    others = () if not isinstance(value, bool) else (not value,)
    probes = (value,) if wanted else others
    closed = wanted and not is_size
    text = relation_words(sign, value)
    return Test(text, lambda current: equal(current) is wanted, probes, closed, closed)


def function_test(name: str, argument: str) -> Test:
    """Return the test that a function of texts makes of its subject."""
    wants = f"{name.replace('_', ' ')} {argument}"
    if name in ("regex_match", "matches"):
        try:
            regex = compile_regex(argument)
        except GoError:
            raise NotReadError from None
        language = Language(argument, is_regex=True)
        languages = (language,) if is_readable(argument) else None
        return Test(
            wants,
            lambda value: isinstance(value, str | int) and regex.matches(str(value)),
            languages=languages,
            is_positive=languages is not None,
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


def _parsed(image: Json) -> ImageReference | None:
    try:
        return parse_image(image) if isinstance(image, str) else None
    except ImageReferenceError:
        return None


def of_part(test: Test, part: str) -> Test:
    """Return the test of an image whose part passes a test."""
    if test.opposite_of is not None:
        return negated(of_part(test.opposite_of, part), f"{part} {test.wants}")
    holds = test.holds

    def passes(image: Json) -> bool:
        parsed = _parsed(image)
        return parsed is not None and holds(getattr(parsed, part))

    def derived(current: Json) -> Iterator[Json]:
        parts = _parsed(current) or _EXAMPLE
        probes = test.probes or _examples(test)
        for probe in (*probes, *((_DIGEST,) if part == "digest" else ())):
            if isinstance(probe, str) and probe:
                value = probe.replace("*", "example").replace("?", "1")
                changed = replace(parts, **{part: value})
                if changed.tag and changed.digest:
                    changed = replace(changed, tag="")
                yield str(changed)

    return replace(
        test,
        wants=f"{part} {test.wants}",
        holds=passes,
        probes=(),
        derive=derived,
        is_closed=False,
        is_safe=False,
        languages=_languages(test, part),
        order="",
        points=(),
        is_positive=test.is_positive and part == "registry",
        needs_value=True,
        shapes=(),
    )


def _examples(test: Test) -> tuple[str, ...]:
    try:
        text = shortest(test.languages or ())
    except TooLargeError:
        return ()
    return () if text is None else (text,)


def _languages(test: Test, part: str) -> tuple[Language, ...] | None:
    """Return the languages of images, from the languages of their registry, which begins them,
    unless it is the default one that is left out."""
    if part != "registry" or not test.languages:
        return None
    images = []
    for language in test.languages:
        texts = [probe for probe in test.probes if isinstance(probe, str)]
        patterns = texts if language.is_regex else [language.pattern]
        if not patterns or any(compile_wildcard(pattern)(_DEFAULT) for pattern in patterns):
            return None
        if not language.wanted and not all("." in glob or ":" in glob for glob in patterns):
            return None
        images.append(one_of_wildcards((f"{pattern}/*" for pattern in patterns), language.wanted))
    return tuple(images)
