"""Tests of a field's value, and a value that several tests take together.

A test knows whether it takes a value, and values worth trying. That no value passes several tests
is only said where it is shown: one of them takes a few values alone and the others refuse each,
no text is in all their languages, or no number is within all their bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from fractions import Fraction
from itertools import pairwise
from typing import Final

from chartkit.addons.satisfy.texts import Language, TooLargeError, shortest
from chartkit.engine.scalars.wildcard import has_wildcard
from chartkit.go.duration import duration_or_none
from chartkit.go.quantity import quantity_or_none
from chartkit.model import Json, same

Holds = Callable[[Json], bool]
_OPPOSITES: Final = (
    ("set", "not set"),
    ("less than ", "at least "),
    ("greater than ", "at most "),
    ("none of ", "one of "),
)
_MOST_TRIED: Final = 40
_EXAMPLES: Final[tuple[Json, ...]] = (
    *("example", "other", "example/example:1.0", "example-1", "example.com/example:1.0"),
    *(1, 2, True, False),
)
EITHER: Final = "either"
"""The order of what is a duration and a quantity, such as `90m`: it depends on the value."""
_LARGEST_EXPONENT: Final = 64


class _Missing(Enum):
    MISSING = auto()

    def __repr__(self) -> str:
        return "DELETE"


MISSING: Final = _Missing.MISSING
"""The value of a field that is not there."""


@dataclass(frozen=True, slots=True, eq=False)
class Test:
    """A test of one value.

    wants: what it takes, in words; probes: values worth trying; is_closed: whether it takes no
    value but those among the probes (and others that every test takes alike); is_safe: whether the
    first probe that it takes needs no decision by a person; languages: the texts that it takes or
    refuses, None where it does not look at texts; order: `quantity` or `duration` where it compares
    sizes; points: the sizes that it compares with; is_positive: whether it refuses everything but
    texts of its languages, or sizes; needs_value: whether its opposite, too, refuses a field that
    is not there; is_fallback: whether its probes come after all others; usual: those of them that
    manifests have in the field; derive: gives values worth trying, made of the current one;
    opposite_of: the test that it is the opposite of; takes_texts: whether it takes any text;
    shapes: the types of all values that it takes, empty where it does not say.
    """

    wants: str
    holds: Holds
    probes: tuple[Json, ...] = ()
    is_closed: bool = False
    is_safe: bool = False
    languages: tuple[Language, ...] | None = None
    order: str = ""
    points: tuple[str, ...] = ()
    is_positive: bool = False
    needs_value: bool = False
    is_fallback: bool = False
    usual: tuple[Json, ...] = ()
    derive: Callable[[Json], Iterable[Json]] | None = None
    opposite_of: Test | None = None
    takes_texts: bool = True
    shapes: tuple[type, ...] = ()

    @property
    def offers(self) -> list[Json]:
        """The probes that it takes."""
        return [probe for probe in self.probes if self.holds(probe)]


def opposite_words(wants: str) -> str:
    """Return the words for what a test refuses, from the words for what it takes."""
    for first, second in _OPPOSITES:
        for words, opposite in ((first, second), (second, first)):
            if wants == words or (words.endswith(" ") and wants.startswith(words)):
                return opposite + wants.removeprefix(words)
    return wants.removeprefix("not ") if wants.startswith("not ") else f"not {wants}"


def negated(test: Test, wants: str = "") -> Test:
    """Return the test that takes what another refuses; wants: the words for it, if known."""
    if test.opposite_of is not None:
        return test.opposite_of
    holds, needs_value = test.holds, test.needs_value
    opposites = tuple(not probe for probe in test.probes if isinstance(probe, bool))
    languages = test.languages
    if languages is not None:
        languages = (
            tuple(replace(language, wanted=not language.wanted) for language in languages)
            if len(languages) == 1
            else None
        )
    return replace(
        test,
        wants=wants or opposite_words(test.wants),
        holds=lambda value: (
            not holds(value) and not (needs_value and (value is MISSING or value is None))
        ),
        probes=(*opposites, MISSING, *test.probes),
        is_closed=False,
        is_safe=opposites == (False,),
        languages=languages,
        is_positive=False,
        opposite_of=test,
        shapes=(),
    )


def removable(test: Test) -> Test:
    """Return the test of a list's element, which also passes if it is taken away."""
    holds = test.holds
    return replace(
        test,
        holds=lambda value: value is MISSING or holds(value),
        probes=(MISSING, *test.probes),
        is_safe=True,
        is_positive=False,
        opposite_of=None,
    )


def present() -> Test:
    """Return the test of a field that is there."""
    return Test("set", lambda value: value is not MISSING and value is not None)


def absent() -> Test:
    """Return the test of a field that is not there."""
    return Test("not set", lambda value: value is MISSING, (MISSING,), is_closed=True)


def filled_in() -> Test:
    """Return the test of a mapping or a text that is not empty."""
    shapes = (dict, str)
    return Test("not empty", lambda value: isinstance(value, shapes) and bool(value), shapes=shapes)


def of_type(name: str, kind: type, empty: Json) -> Test:
    """Return the test of an object or a list."""
    return Test(name, lambda value: isinstance(value, kind), (empty,))


def one_of(values: Sequence[Json], wants: str = "", is_safe: bool = False) -> Test:
    """Return the test of a value that is one of the given ones."""
    members = tuple(values)
    listed = ", ".join(map(in_words, members))
    text = wants or (f"one of {listed}" if len(members) > 1 else listed)

    def holds(value: Json) -> bool:
        return any(value is member or same(value, member) for member in members)

    return Test(text, holds, members, is_closed=True, is_safe=is_safe or len(members) == 1)


def in_words(value: Json) -> str:
    """Return a value as messages have it."""
    if value is MISSING:
        return "not set"
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True)
class Meeting:
    """A value that several tests take. is_certain: whether they leave it, or take what is safe."""

    value: Json
    is_certain: bool


class Undecided(Exception):  # noqa: N818 - no error: a question without an answer
    """Tests of which it is not known whether any value passes all of them."""


def meet(tests: Sequence[Test], current: Json) -> Meeting | None:
    """Return a value that all tests take, the current one if they do; None if no value passes.
    Raises Undecided where neither is found."""
    if all(test.holds(current) for test in tests):
        return Meeting(current, True)
    closed = next((test for test in tests if test.is_closed), None)
    for value in _tried(tests, current):
        if _passes(value, tests):
            if any(test.is_safe and test.offers and same(test.offers[0], value) for test in tests):
                is_left = True
            elif closed is None:
                is_left = False
            else:
                is_left = all(
                    same(offer, value) for offer in closed.offers if _passes(offer, tests)
                )
            return Meeting(value, is_left)
    if closed is not None:
        return None
    shapes = [set(test.shapes) for test in tests if test.shapes]
    is_missing = _passes(MISSING, tests)
    no_shape = bool(shapes) and not is_missing and not set.intersection(*shapes)
    if no_shape or _no_text(tests) or _no_size(tests):
        return None
    try:
        text: str | None = shortest(_languages(tests))
    except TooLargeError:
        text = None
    if text is not None and _passes(text, tests):
        return Meeting(text, False)
    raise Undecided


def _passes(value: Json, tests: Iterable[Test]) -> bool:
    return all(test.holds(value) for test in tests)


def _tried(tests: Sequence[Test], current: Json) -> Iterator[Json]:
    for test in tests if current is MISSING else ():
        yield from test.usual
    for test in tests:
        if not test.is_fallback:
            yield from test.offers
    waiting, seen = [current], 0
    while waiting and seen < _MOST_TRIED:
        value = waiting.pop(0)
        failed = next((test for test in tests if not test.holds(value)), None)
        made = [] if failed is None else list(dict.fromkeys(_variants(failed, value)))
        yield from made
        waiting += made
        seen += 1
    for order in {test.order for test in tests} - {""}:
        own = [point for test in tests if test.order == order for point in test.points]
        yield from sizes_around(own, "duration" if order == EITHER else order)
    for test in tests:
        if test.is_fallback:
            yield from test.offers
    yield from _EXAMPLES


def _variants(test: Test, value: Json) -> Iterator[Json]:
    """Yield texts made of another one that a test refuses, which the test may take."""
    if test.derive is not None:
        yield from test.derive(value)
    for language in test.languages or ():
        if language.wanted and not language.is_regex:
            yield from filled(language.pattern, value)
    speaks_of_tags = any(":" in language.pattern for language in test.languages or ())
    if isinstance(value, str) and speaks_of_tags:
        name, _, tag = value.rpartition(":")
        yield f"{value if '/' in tag else name}:1.0"


def filled(wildcard: str, current: Json) -> Iterator[str]:
    """Yield texts of a wildcard: with the end of the current text, or an example, in its place."""
    if not has_wildcard(wildcard):
        yield wildcard
        return
    ends = [current, current.rpartition("/")[2]] if isinstance(current, str) else []
    for end in [*ends, "example", "1.0", "1"]:
        text = wildcard.replace("?*", "*").replace("**", "*").replace("?", "1")
        yield text.replace("*", end)
        yield text.replace("*", end, 1).replace("*", "")


def size_of(text: Json, order: str) -> Fraction | None:
    """Return a size as a number: of a quantity, or of a duration in nanoseconds."""
    shown = str(text) if isinstance(text, str | int | float) else ""
    if order == "duration":
        duration = duration_or_none(shown)
        return None if duration is None else Fraction(duration)
    amount = quantity_or_none(shown)
    if amount is None or abs(amount.exponent) > _LARGEST_EXPONENT:
        return None
    return Fraction(amount.unscaled) * Fraction(10) ** amount.exponent


def sizes_around(points: Iterable[str], order: str) -> Iterator[Json]:
    """Yield a size at, between, below and beyond some points: what comparisons with them can tell
    apart. Whole numbers come as numbers and as texts."""
    points_by_size: dict[Fraction, str] = {}
    for point in points:
        size = size_of(point, order)
        if size is not None:
            points_by_size.setdefault(size, point)
    if not points_by_size:
        return
    is_duration = order == "duration"
    sizes = sorted(points_by_size)
    between = [(low + high) / 2 for low, high in pairwise(sizes)]
    beyond = [sizes[-1] + 1_000_000_000 if is_duration else sizes[-1] * 2 + 1]
    below = [sizes[0] / 2] if sizes[0] > 0 else [sizes[0] - 1]
    # Whole numbers near those between, for fields that take no others.
    whole = [Fraction(math.floor(size) + more) for size in between for more in (0, 1)]
    for size in [*sizes, *beyond, *between, *whole, *below]:
        if size.denominator == 1 and not is_duration:
            yield int(size)
        yield points_by_size.get(size) or _written(size, is_duration)


def _written(size: Fraction, is_duration: bool) -> str:
    if is_duration:
        return f"{round(size)}ns"
    if size.denominator == 1:
        return str(size.numerator)
    return f"{round(size * 1_000_000_000)}n"


def _no_size(tests: Sequence[Test]) -> bool:
    """Report whether a test takes sizes alone, and no size passes all tests of sizes."""
    if _passes(MISSING, tests):
        return False
    for order in {test.order for test in tests if test.is_positive} - {"", EITHER}:
        # Of durations, `90m` is one as well: it is a quantity only where no duration is compared.
        orders = (order, EITHER) if order == "duration" else (order,)
        comparing = [test for test in tests if test.order in orders]
        points = [point for test in comparing for point in test.points]
        if points and not any(_passes(size, comparing) for size in sizes_around(points, order)):
            return True
    return False


def _languages(tests: Sequence[Test]) -> list[Language]:
    return [language for test in tests for language in test.languages or ()]


def _no_text(tests: Sequence[Test]) -> bool:
    """Report whether a test takes texts alone, and no text is in all languages."""
    if not any(test.is_positive and test.languages for test in tests):
        return False
    if _passes(MISSING, tests):
        return False
    if not all(test.takes_texts for test in tests):
        return True
    try:
        return shortest(_languages(tests)) is None
    except TooLargeError:
        return False
