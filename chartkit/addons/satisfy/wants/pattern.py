"""Patterns of validate rules as formulas.

A condition that an object does not meet makes the pattern pass over the object, or over the element
of a list around it, so that conditions rise to there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Final

from chartkit.addons.satisfy.formula import (
    TRUE,
    Atom,
    Formula,
    Place,
    Some,
    Source,
    Unknown,
    all_of,
    any_of,
    every,
    opposite,
)
from chartkit.addons.satisfy.texts import Language
from chartkit.addons.satisfy.values import EITHER, MISSING, Test, absent, in_words, of_type, present
from chartkit.engine.cluster_policy.pattern.build import Anchor, AnchorKind, parse_anchor
from chartkit.engine.cluster_policy.pattern.scalar import (
    ORDERS,
    Range,
    compile_operation,
    compile_scalar,
    literal,
    read_alternatives,
    read_operation,
)
from chartkit.engine.context.variables import has_reference, has_variable
from chartkit.engine.scalars.wildcard import has_wildcard
from chartkit.go.duration import duration_or_none
from chartkit.go.quantity import quantity_or_none
from chartkit.go.strconv import mark_literals
from chartkit.model import Json, pointer_of

_names: Final = count()
_SAFE: Final = (
    *("false", "!true", "!privileged", "RuntimeDefault", "RuntimeDefault | Localhost"),
    *("Localhost | RuntimeDefault", "runtime/default", "ALL", "Default"),
)


def fresh(name: str = "element") -> str:
    """Return the name of a variable that no other loop has."""
    return f"{name}#{next(_names)}"


@dataclass(frozen=True, slots=True)
class _Read:
    """A part of a pattern: when it applies, and what it wants then."""

    applies: Formula
    wants: Formula


def pattern_formula(pattern: Json, place: Place, source: Source) -> Formula:
    """Return the formula of a pattern for a value; source: the source of the pattern."""
    read = _Reader(source).part(pattern, place, ())
    return any_of(opposite(read.applies), read.wants)


class _Reader:
    def __init__(self, source: Source) -> None:
        self._source = source

    def part(self, pattern: Json, place: Place, written: tuple[str | int, ...]) -> _Read:
        if isinstance(pattern, dict):
            applies: list[Formula] = []
            wants: list[Formula] = [self._atom(place, of_type("an object", dict, {}), written)]
            for key, member in pattern.items():
                anchor = parse_anchor(key)
                name = key if anchor is None else anchor.key
                here = (*written, key)
                if has_variable(key) or has_reference(key) or has_wildcard(name):
                    wants.append(Unknown(key))
                    continue
                read = self._key(anchor, member, place.child(name), here)
                applies.append(read.applies)
                wants.append(read.wants)
            return _Read(all_of(*applies), all_of(*wants))
        if isinstance(pattern, list):
            return _Read(TRUE, self._list(pattern, place, written))
        if isinstance(pattern, str) and (has_variable(pattern) or has_reference(pattern)):
            return _Read(TRUE, Unknown(pattern))
        tests = (self._atom(place, test, written) for test in scalar_tests(pattern))
        return _Read(TRUE, any_of(*tests))

    def _atom(self, place: Place, test: Test, written: tuple[str | int, ...]) -> Atom:
        source = self._source
        pointer = source.pointer + pointer_of(*written)
        return Atom(place, test, Source(source.policy, source.rule, pointer))

    def _key(
        self, anchor: Anchor | None, member: Json, place: Place, here: tuple[str | int, ...]
    ) -> _Read:
        gone = self._atom(place, absent(), here)
        if anchor is None:
            if member == "*":
                return _Read(TRUE, self._atom(place, present(), here))
            return self.part(member, place, here)
        if anchor.kind is AnchorKind.NEGATION:
            return _Read(TRUE, gone)
        if anchor.kind is AnchorKind.EXISTENCE:
            if not isinstance(member, list):
                existence: Formula = Unknown("an existence anchor without a list")
            else:
                parts: list[Formula] = []
                for index, element in enumerate(member):
                    variable = fresh()
                    read = self.part(element, Place(variable), (*here, index))
                    parts.append(Some(variable, place, all_of(read.applies, read.wants)))
                existence = all_of(*parts)
            return _Read(TRUE, any_of(existence, gone))
        read = self.part(member, place, here)
        there = opposite(gone)
        if anchor.kind is AnchorKind.CONDITION:
            return _Read(all_of(there, read.applies, read.wants), TRUE)
        if anchor.kind is AnchorKind.GLOBAL:
            return _Read(any_of(gone, all_of(read.applies, read.wants)), TRUE)
        if anchor.kind is AnchorKind.EQUALITY:
            return _Read(any_of(gone, read.applies), any_of(read.wants, gone))
        return _Read(Unknown(str(anchor)), Unknown(str(anchor)))

    def _list(self, pattern: list[Json], place: Place, written: tuple[str | int, ...]) -> Formula:
        listed = self._atom(place, of_type("a list", list, []), written)
        if not pattern or isinstance(pattern[0], list):
            return Unknown("a list of lists")
        variable = fresh()
        read = self.part(pattern[0], Place(variable), (*written, 0))
        return all_of(listed, every(variable, place, any_of(opposite(read.applies), read.wants)))


def scalar_tests(pattern: Json) -> Iterator[Test]:
    """Yield the tests of a scalar pattern, of which one must pass."""
    (marked,) = mark_literals([pattern])
    if not isinstance(pattern, str):
        holds = _elementwise(compile_scalar(marked))
        if pattern is None:
            yield Test("empty", holds, (MISSING, "", 0, False), is_closed=True, is_safe=True)
            return
        probes = (pattern, str(pattern)) if not isinstance(pattern, bool) else (pattern,)
        yield Test(in_words(pattern), holds, probes, is_closed=True, is_safe=True)
        return
    alternatives = read_alternatives(pattern)
    literals = [part[0] for part in alternatives if len(part) == 1 and literal(part[0]) is not None]
    if len(literals) == len(alternatives) > 1:
        # One test for a choice of texts: its first is taken where nothing speaks against it.
        holds = _elementwise(compile_scalar(pattern))
        probes = (*literals, *(value for text in literals for value in _typed(text)))
        yield Test(pattern, holds, (*probes, pattern), is_closed=True, is_safe=pattern in _SAFE)
        return
    for alternative in alternatives:
        yield conjunction(alternative, is_safe=pattern in _SAFE)


def conjunction(operations: list[str], is_safe: bool) -> Test:
    """Return the test of texts that stand between `&`."""
    checks = [compile_operation(operation) for operation in operations]
    read = [operation_test(operation) for operation in operations]
    text = " & ".join(operations)
    orders = {test.order for test in read}
    languages = [test.languages for test in read if test.languages is not None]
    return Test(
        text,
        _elementwise(lambda value: all(check(value) for check in checks)),
        tuple(probe for test in read for probe in test.probes),
        is_closed=any(test.is_closed for test in read),
        is_safe=is_safe or (len(read) == 1 and read[0].is_safe),
        languages=tuple(part for language in languages for part in language)
        if len(languages) == len(read)
        else None,
        order=orders.pop() if len(orders) == 1 else "",
        points=tuple(point for test in read for point in test.points),
        is_positive=any(test.is_positive for test in read),
    )


def operation_test(text: str) -> Test:
    """Return the test of one operator with its operand."""
    operation = read_operation(text)
    check = compile_operation(text)

    def holds(value: Json) -> bool:
        return check(None if value is MISSING else value)

    if isinstance(operation, Range):
        points = (operation.low, operation.high)
        order = order_of(points)
        return Test(text, holds, points, order=order, points=points, is_positive=True)
    prefix, operand = operation
    order = order_of((operand,))
    if prefix in ORDERS:
        return Test(text, holds, (operand,), order=order, points=(operand,), is_positive=True)
    language = Language(operand, wanted=not prefix)
    if order:
        # A size: `5` is `5.0`, too, and `!5` is whatever is no 5.
        probes = (operand, *_typed(operand))
        others = () if not prefix else ("example", MISSING)
        bounds = not prefix and order != EITHER
        return Test(
            text, holds, (*probes, *others), order=order, points=(operand,), is_positive=bounds
        )
    if prefix:
        opposite_of = {"true": False, "false": True}
        probes = tuple(opposite_of[operand] for _ in range(operand in opposite_of))
        return Test(text, holds, probes, languages=(language,), is_safe=operand == "true")
    if has_wildcard(operand):
        probes = ("example",) if not operand.strip("?*") else ()
        return Test(text, holds, probes, languages=(language,), is_positive=True)
    probes = (operand, *_typed(operand))
    return Test(
        text, holds, probes, is_closed=True, is_safe=True, languages=(language,), is_positive=True
    )


def order_of(points: tuple[str, ...]) -> str:
    """Return the order that sizes are compared in, EITHER where that depends on the value; empty
    for texts that are no sizes."""
    quantities = [quantity_or_none(point) is not None for point in points]
    durations = [point != "0" and duration_or_none(point) is not None for point in points]
    if all(quantities):
        return EITHER if all(durations) else "" if any(durations) else "quantity"
    return "duration" if all(durations) else ""


def _typed(text: str) -> tuple[Json, ...]:
    """Return the booleans and numbers that Kyverno reads as a text."""
    if text in ("true", "false"):
        return (text == "true",)
    return (int(text),) if text.isdecimal() and len(text) < 18 else ()


def _elementwise(check: Json) -> Json:
    """Return a check that takes a list if it takes every element, as leaves of patterns do."""

    def holds(value: Json) -> bool:
        if isinstance(value, list):
            return all(map(check, value))
        return bool(check(None if value is MISSING else value))

    return holds
