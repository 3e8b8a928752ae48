"""Conditions (`deny`, `preconditions`) as formulas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from chartkit.addons.satisfy.formula import (
    FALSE,
    TRUE,
    Atom,
    Formula,
    Place,
    Source,
    Unknown,
    all_of,
    any_of,
    opposite,
)
from chartkit.addons.satisfy.texts import Language, one_of_wildcards
from chartkit.addons.satisfy.values import (
    EITHER,
    MISSING,
    Test,
    filled_in,
    in_words,
    negated,
    present,
)
from chartkit.addons.satisfy.wants.comparisons import NotReadError
from chartkit.addons.satisfy.wants.paths import Names, Reader, Reading, Stream
from chartkit.addons.satisfy.wants.pattern import order_of
from chartkit.engine.cluster_policy.conditions.parse import (
    OPERATORS,
    Condition,
    FlatList,
    parse_conditions,
)
from chartkit.engine.scalars.wildcard import has_wildcard
from chartkit.errors import ChartkitError
from chartkit.go.quantity import quantity_or_none
from chartkit.go.strconv import mark_literals
from chartkit.model import Json

_OF_ALL: Final = frozenset(("AllIn", "In", "AllNotIn"))
_OF_SOME: Final = frozenset(("AnyIn", "AnyNotIn", "NotIn"))
"""Operators for lists: which of the elements they ask about."""
_EQUALS: Final = frozenset(("Equal", "Equals", "In", "AnyIn", "AllIn"))
_DIFFERS: Final = frozenset(("NotEqual", "NotEquals", "NotIn", "AnyNotIn", "AllNotIn"))
_LISTING: Final = ("AnyIn", "AllIn", "AnyNotIn", "AllNotIn")
_LISTS: Final = frozenset(
    ("add", "drop", "args", "command", "accessModes", "verbs", "resources", "apiGroups", "hosts")
)
_ORDERS: Final = {
    "GreaterThanOrEquals": "at least",
    "GreaterThan": "greater than",
    "LessThanOrEquals": "at most",
    "LessThan": "less than",
}


def conditions_formula(body: Json, source: Source, names: Names) -> Formula:
    """Return the formula under which conditions hold; source: the source of the conditions."""
    try:
        parsed = parse_conditions(body)
    except ChartkitError:
        return Unknown("conditions")
    if isinstance(parsed, FlatList):
        return all_of(*_each(parsed.conditions, "", source, names))
    both = list(_each(parsed.all or (), "/all", source, names))
    if parsed.any is not None:
        both.append(any_of(*_each(parsed.any, "/any", source, names)))
    return all_of(*both)


def _each(
    conditions: tuple[Condition, ...], below: str, source: Source, names: Names
) -> list[Formula]:
    return [
        condition_formula(
            condition, Source(source.policy, source.rule, f"{source.pointer}{below}/{index}"), names
        )
        for index, condition in enumerate(conditions)
    ]


def condition_formula(condition: Condition, source: Source, names: Names) -> Formula:
    """Return the formula under which a condition holds."""
    try:
        reader = Reader(names, source)
        reading = reader.key(condition.key)
        (value,) = mark_literals([reader.constant(condition.value)])
        operator = condition.operator
        if operator not in OPERATORS:
            raise NotReadError
        if reading.is_constant:
            (key,) = mark_literals([reading.constant])
            return TRUE if OPERATORS[operator](value)(key) else FALSE
        if reading.function == "length":
            return _of_length(reading, operator, value, source)
        if reading.function == "keys":
            return _of_keys(reading, operator, value, source)
        if reading.function or reading.condition is not None:
            formula = reader.is_true(reading)
            if operator not in _EQUALS | _DIFFERS or value not in (True, False, "true", "false"):
                raise NotReadError
            wanted = (value in (True, "true")) is (operator in _EQUALS)
            return formula if wanted else opposite(formula)
        if reading.is_list:
            parts = [_of_elements(stream, operator, value, source) for stream in reading.streams]
            return all_of(*parts) if operator in _OF_ALL else any_of(*parts)
        # Without a default a field that is not there is an error of the rule.
        test = operator_test(operator, value, needs_value=reading.otherwise is None)
        is_listed = isinstance(value, list) and operator in _LISTING

        def compared(place: Place) -> Formula:
            atom = Atom(place, test, reader.source)
            if not (is_listed and (bool(place.steps) and place.steps[-1] in _LISTS)):
                return atom
            # A list in place of the text is compared by its elements.
            elements = Stream((), place).elements()
            return any_of(atom, _of_elements(elements, operator, value, reader.source))

        return reader.chained(reading, compared)
    except (NotReadError, ChartkitError):
        return Unknown(str(condition.key))


def _of_elements(stream: Stream, operator: str, value: Json, source: Source) -> Formula:
    if operator not in _OF_ALL | _OF_SOME:
        raise NotReadError
    test = operator_test("AnyIn", value)

    def part(place: Place) -> Formula:
        among = Atom(place, test, source)
        return opposite(among) if operator in _DIFFERS else among

    return stream.every(part) if operator in _OF_ALL else stream.some(part)


def operator_test(operator: str, value: Json, *, needs_value: bool = False) -> Test:
    """Return the test of a scalar key that an operator compares with a constant value."""
    compare = OPERATORS[operator](value)

    is_negative = operator in _DIFFERS

    def holds(current: Json) -> bool:
        if needs_value and (current is MISSING or current is None):
            return False
        (marked,) = mark_literals([None if current is MISSING else current])
        try:
            return compare(marked) is not is_negative
        except ChartkitError:
            return False

    values = value if isinstance(value, list) else [value]
    texts = [str(item) for item in values]
    wants = _words(operator, values)
    sizes = tuple(text for text in texts if quantity_or_none(text) is not None)
    order = order_of(tuple(texts)) if texts else ""
    is_literal = not any(map(has_wildcard, texts)) and not sizes
    if operator in _EQUALS | _DIFFERS:
        test = Test(
            _words(operator.replace("Not", ""), values),
            holds,
            tuple(item for item in values if not has_wildcard(str(item))),
            is_closed=is_literal and not holds(MISSING),
            languages=_languages(values),
            order=order,
            points=sizes if order else (),
            needs_value=needs_value,
        )
        is_positive = (test.languages is not None or bool(order)) and not holds(MISSING)
        test = replace(test, is_positive=is_positive and order != EITHER)
        return negated(test) if is_negative else test
    order = "duration" if operator.startswith("Duration") else order
    return Test(
        wants,
        holds,
        (*values, MISSING),
        order=order,
        points=tuple(texts),
        is_positive=order not in ("", EITHER) and not holds(MISSING),
        needs_value=needs_value,
    )


def _words(operator: str, values: Sequence[Json]) -> str:
    """Return the values that an operator takes, in words."""
    listed = ", ".join(map(in_words, values))
    if order := _ORDERS.get(operator.removeprefix("Duration")):
        return f"{order} {listed}"
    differs = operator in _DIFFERS
    if len(values) == 1:
        return f"not {listed}" if differs else listed
    return f"{'none' if differs else 'one'} of {listed}"


def _languages(values: list[Json]) -> tuple[Language, ...] | None:
    """Return the language of the wanted texts."""
    if not all(isinstance(value, str) for value in values):
        return None
    if any(quantity_or_none(item) is not None for item in values):
        return None
    if len(values) == 1:
        return (Language(values[0]),)
    return (one_of_wildcards(values),)


def _of_length(reading: Reading, operator: str, value: Json, source: Source) -> Formula:
    compare = OPERATORS[operator](value)

    def holds(count: int) -> bool:
        (marked,) = mark_literals([count])
        return compare(marked)

    there, full = present(), filled_in()
    if reading.is_list:
        members: list[Json] = list(reading.streams)
    else:
        members = [stream.elements() for stream in reading.streams]
    some = [m.some(lambda place: Atom(place, there, source)) for m in members]
    if not reading.is_list:
        some += [stream.some(lambda place: Atom(place, full, source)) for stream in reading.streams]
    if not holds(0) and holds(1) and holds(1000):
        return any_of(*some)
    if holds(0) and not holds(1) and not holds(1000):
        return opposite(any_of(*some))
    (stream,) = reading.streams
    if stream.loops:
        raise NotReadError

    def of_size(current: Json) -> bool:
        return holds(len(current) if isinstance(current, list | dict | str) else 0)

    return Atom(stream.place, Test(f"a length of {_words(operator, [value])}", of_size), source)


def _of_keys(reading: Reading, operator: str, value: Json, source: Source) -> Formula:
    (stream,) = reading.streams
    names = value if isinstance(value, list) else [value]
    if stream.loops or any(not isinstance(key, str) or has_wildcard(key) for key in names):
        raise NotReadError
    there = [Atom(stream.place.child(name), present(), source) for name in names]
    if operator == "AnyIn":
        return any_of(*there)
    if operator == "AllNotIn":
        return all_of(*map(opposite, there))
    raise NotReadError
