"""Scalars of a pattern, each compiled to a function that reports whether a value matches."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from chartkit.engine.cluster_policy.pattern.build import GO_SPACE
from chartkit.engine.scalars.wildcard import compile_wildcard, has_wildcard
from chartkit.go.strconv import Int64, as_float, or_none, parse_float, parse_int, truncate_to_int64
from chartkit.model import Json

if TYPE_CHECKING:
    from chartkit.go.quantity import Quantity


def go_number(value: Json) -> Int64 | float:
    """A number as the type that Go holds it in."""
    return value if type(value) is Int64 else as_float(value)


def exponent_text(number: float) -> str:
    """A float64 as `strconv.FormatFloat(number, 'E', -1, 64)`: `1.5E+00`."""
    mantissa, _, exponent = f"{Decimal(repr(number)).normalize():E}".partition("E")
    return f"{mantissa}E{int(exponent):+03d}"


Holds = Callable[[Json], bool]

_COMPARE: Final[dict[str, Callable[[int, int], bool]]] = {
    "": operator.eq,
    "!": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
}


def compile_operation(text: str) -> Holds:
    """One operator with its operand; text: what stands between `|` and `&`, spaces taken off."""
    operation = read_operation(text)
    if isinstance(operation, Operation):
        return _comparison(operation)
    low, high = map(_comparison, operation.operations)
    if operation.excludes:
        return lambda value: low(value) or high(value)
    return lambda value: low(value) and high(value)


def literal(text: str) -> str | None:
    """The only text that matches; None with an operator, a wildcard or a size."""
    operation = read_operation(text)
    if isinstance(operation, Range) or operation.prefix:
        return None
    operand = operation.operand
    is_special = has_wildcard(operand) or _sizes(operand) != (None, None)
    return None if is_special else operand


def text_of(value: Json) -> str | None:
    """The text of a scalar that wildcards are matched with; None for what has none."""
    kind = type(value)
    if kind is str:
        return str(value)
    if kind is bool:
        return "true" if value else "false"
    if value is None or isinstance(value, dict | list):
        return None
    number = go_number(value)
    return str(int(number)) if type(number) is Int64 else exponent_text(number)


def _comparison(operation: Operation) -> Holds:
    prefix, operand = operation
    by_text = _by_text(prefix, operand)
    duration, quantity = _sizes(operand)
    if duration is None and quantity is None:
        return by_text
    from chartkit.go.duration import duration_or_none
    from chartkit.go.quantity import quantity_or_none

    compare = _COMPARE[prefix]

    def holds(value: Json) -> bool:
        # The text of a value that is read as a duration or quantity; nothing counts as zero.
        kind = type(value)
        if kind is str:
            text: str | None = str(value)
        elif value is None:
            text = "0"
        elif kind is bool or isinstance(value, dict | list):
            text = None
        else:
            number = go_number(value)
            text = str(int(number)) if type(number) is Int64 else f"{number:f}"
        if text is not None:
            if duration is not None:
                given = duration_or_none(text)
                if given is not None:
                    return compare(given, duration)
            if quantity is not None:
                amount = quantity_or_none(text)
                if amount is not None:
                    return compare(amount.compare(quantity), 0)
        return by_text(value)

    return holds


def _sizes(operand: str) -> tuple[int | None, Quantity | None]:
    """Return an operand as a duration and as a quantity, each None if it is not one."""
    if _SIZE.fullmatch(operand) is None:
        return None, None
    from chartkit.go.duration import duration_or_none
    from chartkit.go.quantity import quantity_or_none

    return duration_or_none(operand), quantity_or_none(operand)


_SIZE: Final = re.compile(r"[-+.0-9numµμshkKMGTPEei]*")
"""The characters of durations and quantities: most operands have others."""


def _by_text(prefix: str, operand: str) -> Holds:
    if prefix not in ("", "!"):
        return lambda _: False
    matches = compile_wildcard(operand)
    wanted = not prefix

    def holds(value: Json) -> bool:
        text = value if type(value) is str else text_of(value)
        return text is not None and matches(text) is wanted

    return holds


_int = or_none(parse_int)
_float = or_none(parse_float)


def compile_scalar(pattern: Json) -> Holds:
    """A function from a value (no list: it answers False) to whether it matches.

    pattern: a text, number (`Int64` for int64, else float64), boolean or None.
    """
    if pattern is None:
        return _is_zero
    if isinstance(pattern, bool):
        return lambda value: value is pattern
    if isinstance(pattern, str):
        parts = read_alternatives(pattern)
        literals = [literal(both[0]) if len(both) == 1 else None for both in parts]
        texts = frozenset(text for text in literals if text is not None)
        if None not in literals:

            def is_among(value: Json) -> bool:
                if type(value) is str:
                    return value in texts or value == pattern
                return text_of(value) in texts

            return is_among
        alternatives = [_all_of([compile_operation(part) for part in both]) for both in parts]
        if len(alternatives) == 1:
            (only,) = alternatives
            return lambda value: value == pattern or only(value)

        def holds(value: Json) -> bool:
            if value == pattern:
                return True
            return any(alternative(value) for alternative in alternatives)

        return holds
    return partial(number_equals, go_number(pattern))


def _is_zero(value: Json) -> bool:
    return not value and not isinstance(value, dict | list)


def is_number(value: Json) -> bool:
    """Report whether a value is a JSON number; a boolean is not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def number_equals(number: Int64 | float, value: Json) -> bool:
    """Report whether a number equals a value: an int64 or float64, or the text of one."""
    if isinstance(value, str):
        return (_int if isinstance(number, Int64) else _float)(value) == number
    if not is_number(value):
        return False
    other = go_number(value)
    if isinstance(other, Int64) is isinstance(number, Int64):
        return other == number
    real, whole = (number, other) if isinstance(other, Int64) else (other, number)
    return float(real).is_integer() and truncate_to_int64(real) == whole


def _all_of(operations: list[Holds]) -> Holds:
    if len(operations) == 1:
        return operations[0]
    return lambda value: all(operation(value) for operation in operations)


_NUMBER: Final = r"([-|+]?\d+(?:\.\d+)?[A-Za-z]*)"
_RANGE: Final = re.compile(f"{_NUMBER}(!?)-{_NUMBER}", re.ASCII)
_PREFIXES: Final = (">=", "<=", ">", "<", "!")
ORDERS: Final = frozenset(_PREFIXES[:4])
"""The prefixes that put values in order; the others are `!` and none."""


class Operation(NamedTuple):
    """A prefix, empty for equality, and its operand without spaces around it."""

    prefix: str
    operand: str


class Range(NamedTuple):
    """The two ends of `low-high` or, if it excludes, `low!-high`."""

    low: str
    high: str
    excludes: bool

    @property
    def operations(self) -> tuple[Operation, Operation]:
        """Return the comparisons of both ends: one holds if it excludes, otherwise both."""
        below, above = ("<", ">") if self.excludes else (">=", "<=")
        return Operation(below, self.low), Operation(above, self.high)


def read_alternatives(pattern: str) -> list[list[str]]:
    """Return the texts between `|`, and of each those between `&`, without spaces."""
    return [
        [part.strip(" ") for part in either.strip(" ").split("&")] for either in pattern.split("|")
    ]


def read_operation(text: str) -> Operation | Range:
    """Return the comparison in a text; a lone operator is an ordinary text."""
    prefix = next((symbol for symbol in _PREFIXES if text.startswith(symbol)), "")
    if len(text) > 1 and prefix:
        return Operation(prefix, text[len(prefix) :].strip(GO_SPACE))
    if match := _RANGE.fullmatch(text):
        return Range(match[1], match[3], bool(match[2]))
    return Operation("", text.strip(GO_SPACE))
