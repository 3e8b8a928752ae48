"""Leaves of patterns as tests of a place: texts, wildcards, numbers, sizes and ranges.

An absent value counts as Kyverno counts it: it is no text, and zero where a number or a size is
compared (`pkg/engine/pattern`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions.place import TEXT, UNKNOWN, Place
from chartkit.addons.migrate.expressions.verdict import conjunction, disjunction
from chartkit.addons.migrate.expressions.wildcards import fits
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax import build as cel
from chartkit.engine.cel.syntax.tree import Binary, Literal
from chartkit.engine.cluster_policy.pattern.scalar import (
    ORDERS,
    Operation,
    Range,
    read_alternatives,
    read_operation,
)
from chartkit.engine.scalars.wildcard import has_wildcard
from chartkit.go.duration import duration_or_none
from chartkit.go.quantity import quantity_or_none
from chartkit.model import Json

_WHOLE: Final = re.compile(r"[-+]?\d+", re.ASCII)
_COMPARED: Final = {"": "==", "!": "!="}
_WORDS: Final = {"true": True, "false": False}
_ZEROS: Final[Mapping[str, Json]] = {TEXT: "", "int": 0, "bool": False, "double": 0.0}
_OBJECTS: Final = "the pattern compares an object or a list of objects with a text"


def leaf(place: Place, pattern: Json) -> Expr:
    """Return whether a value matches a pattern that is no object and no list.

    place: where it is, perhaps with nothing there. Raises `NotConvertible`.
    """
    if not place.is_known and pattern is not None:
        place = place.taken_for(_natural(pattern))
    if place.is_list:
        element = place.element("item")
        if element.is_map:
            raise NotConvertible(_OBJECTS)
        every = cel.macro(place.value, "all", "item", leaf(element, pattern))
        return conjunction(place.is_present(), every)
    if place.is_map:
        raise NotConvertible(_OBJECTS)
    if pattern is None and not place.is_known:
        raise NotConvertible("null is compared with a field of unknown type")
    if pattern is None:
        return _nothing(place)
    if isinstance(pattern, bool):
        if not place.is_optional:
            return place.value if pattern else cel.negate(place.value)
        if place.type == "bool" and pattern:
            return place.or_value(cel.FALSE)
        return cel.equal(place.or_value(cel.NULL), pattern)
    if isinstance(pattern, str):
        return _text(place, pattern)
    if place.type in ("int", "double"):
        return cel.equal(place.or_value(cel.NULL), pattern)
    if place.type == TEXT:
        raise NotConvertible(f"the number {pattern} is compared with a field that is a text")
    value = place.or_value(cel.NULL)
    return disjunction(cel.equal(value, pattern), cel.equal(value, str(pattern)))


def _natural(pattern: Json) -> str:
    """Return the type that a pattern is written for."""
    if isinstance(pattern, bool):
        return "bool"
    if isinstance(pattern, int):
        return "int"
    if isinstance(pattern, float):
        return "double"
    parts = [part for each in read_alternatives(str(pattern)) for part in each]
    if all(part.removeprefix("!") in _WORDS for part in parts):
        return "bool"
    operands = [operand for part in parts for operand in _operands(part)]
    sized = [quantity_or_none(operand) is not None for operand in operands]
    if any(sized) and not all(sized):
        raise NotConvertible("a text and a size are compared with a field of unknown type")
    if not all(sized):
        return TEXT
    return "int" if all(map(_WHOLE.fullmatch, operands)) else "quantity"


def _operands(part: str) -> list[str]:
    operation = read_operation(part)
    if isinstance(operation, Range):
        return [operation.low, operation.high]
    return [operation.operand]


def leaf_or_nothing(place: Place, pattern: Json) -> Expr:
    """Return whether a value matches a pattern, or there is none. Raises `NotConvertible`."""
    place = place if place.is_known or pattern is None else place.taken_for(_natural(pattern))
    settled = place.settled()
    test = leaf(settled, pattern)
    match test:
        case Binary("==", left, Literal() as wanted) if left == settled.value:
            # An absent value counts as the one that is wanted.
            return cel.equal(place.or_value(wanted), wanted)
    if test in (settled.value, cel.negate(settled.value)):
        value = place.or_value(test == settled.value)
        return value if test == settled.value else cel.negate(value)
    return disjunction(cel.negate(place.is_present()), test)


def _nothing(place: Place) -> Expr:
    zeros = [_ZEROS[place.type]] if place.type in _ZEROS else ["", 0, False]
    tests = [cel.equal(place.value, zero) for zero in zeros]
    if not place.is_optional:
        return cel.any_of(tests)
    if len(zeros) == 1 and place.is_known:
        return cel.equal(place.or_value(zeros[0]), zeros[0])
    return disjunction(cel.negate(place.is_present()), *tests)


def _text(place: Place, pattern: str) -> Expr:
    alternatives = [
        conjunction(*(_operation(place, part) for part in each))
        for each in read_alternatives(pattern)
    ]
    # Alternatives with those that compare with one text each as one `in`.
    value = place.or_value(cel.NULL) if place.is_optional else place.value
    texts = [_text_of(each, value) for each in alternatives]
    listed = [text for text in texts if text is not None]
    if len(listed) < 2:
        return disjunction(*alternatives)
    others = [each for each, text in zip(alternatives, texts, strict=True) if text is None]
    return disjunction(cel.contains(cel.list_of(listed), value), *others)


def _text_of(test: Expr, value: Expr) -> Expr | None:
    """Return the text that a test compares a value with; None for another test."""
    match test:
        case Binary("==", left, Literal(str()) as text) if left == value:
            return text
    return None


def _operation(place: Place, text: str) -> Expr:
    operation = read_operation(text)
    if isinstance(operation, Operation):
        return _comparison(place, operation)
    joined = disjunction if operation.excludes else conjunction
    return joined(*(_comparison(place, each) for each in operation.operations))


def _comparison(place: Place, operation: Operation) -> Expr:
    prefix, operand = operation
    quantity, duration = quantity_or_none(operand), duration_or_none(operand)
    if duration is not None and quantity is None:
        raise NotConvertible(f"a duration ({operand}) is compared")
    if quantity is not None:
        return _sized(place, prefix, operand)
    if prefix in ORDERS:
        return cel.FALSE
    wanted = not prefix
    if place.type == "bool":
        if has_wildcard(operand) or operand not in _WORDS:
            raise NotConvertible(f"the text '{operand}' is compared with a boolean")
        return cel.equal(place.or_value(cel.NULL), _WORDS[operand] is wanted)
    if place.type == "int":
        raise NotConvertible(f"the text '{operand}' is compared with a number")
    return _fits(place, operand) if wanted else _unlike(place, operand)


def _fits(place: Place, operand: str) -> Expr:
    if not has_wildcard(operand):
        test = cel.equal(place.or_value(cel.NULL), operand)
        if place.type == UNKNOWN and operand in _WORDS:
            return disjunction(cel.equal(place.or_value(cel.NULL), _WORDS[operand]), test)
        return test
    if not operand.strip("*"):
        return place.is_present()
    if operand.strip("*") == "?" and operand != "?":
        return cel.not_equal(place.or_value(""), "")
    return fits(place.or_value(""), operand)


def _unlike(place: Place, operand: str) -> Expr:
    if not place.is_optional:
        return cel.negate(fits(place.value, operand))
    # An absent value has no text, and Kyverno lets nothing match that.
    if not has_wildcard(operand):
        return conjunction(place.is_present(), cel.not_equal(place.value, operand))
    return conjunction(place.is_present(), cel.negate(fits(place.value, operand)))


def _sized(place: Place, prefix: str, operand: str) -> Expr:
    if place.type in ("int", "double"):
        number = _plain_number(operand)
        if number is None:
            raise NotConvertible(f"the size {operand} is compared with a number")
        value = place.or_value(0)
        if isinstance(number, float) and place.type == "int":
            value = cel.call("double", value)
        return cel.compare(_COMPARED.get(prefix, prefix), value, number)
    if place.type == "bool":
        raise NotConvertible(f"the size {operand} is compared with a boolean")
    text = place.or_value("0")
    if place.type != TEXT:
        text = cel.call("string", text)
    compared = cel.method(
        cel.call("quantity", text), "compareTo", cel.call("quantity", operand.removeprefix("+"))
    )
    test = cel.compare(_COMPARED.get(prefix, prefix), compared, 0)
    if place.type == "quantity":
        return test
    is_size = cel.call("isQuantity", text)
    if prefix in ORDERS:
        return conjunction(is_size, test)
    by_text = (cel.equal if not prefix else cel.not_equal)(text, operand)
    return cel.conditional(is_size, test, by_text)


def _plain_number(operand: str) -> int | float | None:
    if re.fullmatch(r"[-+]?\d+", operand, re.ASCII):
        return int(operand)
    if re.fullmatch(r"[-+]?\d+\.\d+", operand, re.ASCII):
        exact = Decimal(operand)
        return int(exact) if exact == exact.to_integral_value() else float(operand)
    return None
