"""Arithmetic on numbers, quantities and durations, with the rules of Kyverno's operands."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

from chartkit.engine.jmespath.declaration import ItemsList, function, functions, is_number
from chartkit.engine.jmespath.expression import FunctionError, function_error
from chartkit.go.duration import (
    SECOND,
    DurationError,
    format_duration,
    in_seconds,
    parse_duration,
)
from chartkit.go.fmt import format_float
from chartkit.go.quantity import Quantity, QuantityError
from chartkit.go.strconv import NumberError, parse_float, truncate_to_int64, wrapped
from chartkit.model import Json


class _Duration(int):
    """Nanoseconds, distinct from a number."""


_Operand = float | Quantity | _Duration


def _operand(value: Json, name: str) -> _Operand:
    if is_number(value):
        return float(value)
    if isinstance(value, str):
        try:
            return Quantity.parse(value)
        except QuantityError:
            pass
        try:
            return _Duration(parse_duration(value))
        except DurationError:
            pass
    raise function_error(name, "invalid operand")


def _mismatch(name: str) -> FunctionError:
    return function_error(name, "Types mismatch")


def _zero_divisor(name: str) -> FunctionError:
    return function_error(name, "Zero divisor passed")


def _from_seconds(seconds: float) -> str:
    return format_duration(truncate_to_int64(seconds * float(SECOND)))


def _scalar_quantity(number: float) -> Quantity:
    return Quantity.parse(format_float(number))


def _combined(name: str, left: Json, right: Json, combine: Callable[[Any, Any], Any]) -> Json:
    """Return two operands of one type combined, as a value of that type."""
    first, second = _operand(left, name), _operand(right, name)
    if isinstance(first, Quantity) and isinstance(second, Quantity):
        return str(combine(first, second))
    if isinstance(first, _Duration) and isinstance(second, _Duration):
        return format_duration(wrapped(combine(first, second)))
    if isinstance(first, float) and isinstance(second, float):
        return combine(first, second)
    raise _mismatch(name)


@function("sum(array) any")
def sum_(items: list[Json]) -> Json:
    if items.__class__ is ItemsList:
        raise _mismatch("sum")
    if not items:
        raise function_error("sum", "at least one element in the array is required")
    return reduce(lambda total, item: _combined("sum", total, item, operator.add), items)


@function("multiply(any, any) any")
def multiply(left: Json, right: Json) -> Json:
    first, second = _operand(left, "multiply"), _operand(right, "multiply")
    if isinstance(first, float):
        if isinstance(second, float):
            return first * second
        first, second = second, first
    if not isinstance(second, float):
        raise _mismatch("multiply")
    if isinstance(first, Quantity):
        return str(first * _scalar_quantity(second))
    return _from_seconds(in_seconds(int(first)) * second)


@function("divide(any, any) any")
def divide(left: Json, right: Json) -> Json:
    first, second = _operand(left, "divide"), _operand(right, "divide")
    if isinstance(first, float):
        if not isinstance(second, float):
            raise _mismatch("divide")
        return _quotient(first, second)
    if isinstance(second, float):
        if second == 0:
            raise _zero_divisor("divide")
        if isinstance(first, Quantity):
            try:
                return str(first / _scalar_quantity(second))
            except ZeroDivisionError:
                raise _zero_divisor("divide") from None
        return _from_seconds(in_seconds(int(first)) / second)
    if isinstance(first, Quantity) and isinstance(second, Quantity):
        return _quotient(float(first), float(second))
    if isinstance(first, _Duration) and isinstance(second, _Duration):
        return _quotient(in_seconds(first), in_seconds(second))
    raise _mismatch("divide")


def _quotient(first: float, second: float) -> float:
    if second == 0:
        raise _zero_divisor("divide")
    return first / second


@function("modulo(any, any) any")
def modulo(left: Json, right: Json) -> Json:
    first, second = _operand(left, "modulo"), _operand(right, "modulo")
    if isinstance(first, _Duration) and isinstance(second, _Duration):
        if not second:
            raise _zero_divisor("modulo")
        return format_duration(_remainder(first, second))
    if isinstance(first, Quantity) and isinstance(second, Quantity):
        remainder = _whole_remainder(float(first), float(second))
        return str(Quantity(remainder, 0, first.format))
    if isinstance(first, float) and isinstance(second, float):
        return float(_whole_remainder(first, second))
    raise _mismatch("modulo")


def _whole_remainder(first: float, second: float) -> int:
    dividend, divisor = truncate_to_int64(first), truncate_to_int64(second)
    if first != float(dividend) or second != float(divisor):
        raise function_error("modulo", "Non-integer argument(s) passed for modulo")
    if not divisor:
        raise _zero_divisor("modulo")
    return _remainder(dividend, divisor)


def _remainder(dividend: int, divisor: int) -> int:
    remainder = abs(dividend) % abs(divisor)
    return -remainder if dividend < 0 else remainder


@function("round(number, number) number")
def round_(number: float, decimals: float) -> float:
    if not math.isfinite(decimals) or decimals != truncate_to_int64(decimals):
        raise function_error("round", "Non-integer argument(s) passed for round off")
    if decimals < 0:
        missing = "%!d(MISSING) argument is out of bounds (%!d(MISSING))"
        raise function_error("round", missing)
    shift = _power_of_ten(int(decimals)) if decimals <= 308 else math.inf
    scaled = float(number) * shift
    if not math.isfinite(scaled):
        return scaled / shift
    whole = float(math.trunc(scaled))
    if abs(scaled - whole) >= 0.5:
        whole += math.copysign(1.0, scaled)
    return math.copysign(whole, scaled) / shift


def _power_of_ten(exponent: int) -> float:
    """Go's `math.Pow(10, exponent)`, whose last digit differs from the C library's."""
    result, factor, scale, shift = 1.0, 0.625, 0, 4
    while exponent:
        if exponent & 1:
            result, scale = result * factor, scale + shift
        factor, shift = factor * factor, shift * 2
        if factor < 0.5:
            factor, shift = factor * 2, shift - 1
        exponent >>= 1
    return math.ldexp(result, scale)


def _whole(rounded: Callable[[float], int], number: float) -> float:
    return math.copysign(rounded(number), number) if math.isfinite(number) else number


@function("avg(array[number]) number")
def avg(numbers: list[float]) -> float:
    total = 0.0
    for number in numbers:
        total += number
    return total / len(numbers) if numbers else math.nan


@function("to_number(any) number")
def to_number(value: Json) -> Json:
    if is_number(value):
        return value
    if isinstance(value, str):
        try:
            return parse_float(value)
        except NumberError:
            return None
    if value is None or value.__class__ in (bool, list, dict):
        return None
    raise FunctionError("unknown type")


FUNCTIONS = functions(
    {
        "add(any, any) any": lambda left, right: _combined("add", left, right, operator.add),
        "subtract(any, any) any": lambda left, right: _combined(
            "subtract", left, right, operator.sub
        ),
        "abs(number) number": abs,
        "ceil(number) number": lambda number: _whole(math.ceil, number),
        "floor(number) number": lambda number: _whole(math.floor, number),
    }
)
