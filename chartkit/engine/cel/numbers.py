"""Numbers that stay within their 64 bits, compared as CEL compares them."""

from __future__ import annotations

from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.values import INT_MAX, INT_MIN, UINT_MAX, Uint

INT_OVERFLOW = "integer overflow"
UINT_OVERFLOW = "unsigned integer overflow"


def checked_int(value: int) -> int:
    """The number, if an int holds it; raises `CelError`."""
    if INT_MIN <= value <= INT_MAX:
        return value
    raise CelError(INT_OVERFLOW)


def checked_uint(value: int) -> Uint:
    """The number as a uint, if one holds it; raises `CelError`."""
    if 0 <= value <= UINT_MAX:
        return Uint(value)
    raise CelError(UINT_OVERFLOW)


def divide(left: int, right: int) -> int:
    """The quotient, cut towards zero."""
    if not right:
        raise CelError("division by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def modulo(left: int, right: int) -> int:
    """Return the remainder of `divide`; it has the sign of the left number."""
    if not right:
        raise CelError("modulus by zero")
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def int_of_double(value: float) -> int:
    """A double cut towards zero; the two ends of int's range are out of it, as in cel-go."""
    if not -(2.0**63) < value < 2.0**63:
        raise CelError(INT_OVERFLOW)
    return int(value)


def uint_of_double(value: float) -> Uint:
    """A double cut towards zero; what is below zero overflows, if only by a fraction."""
    if not 0 <= value < 2.0**64:
        raise CelError(UINT_OVERFLOW)
    return Uint(value)


def lossless_int(value: object) -> int | None:
    """The whole number that a number of any type stands for; None for a fraction and no number."""
    kind = value.__class__
    if kind is int or kind is Uint:
        return int(value)  # type: ignore[call-overload, no-any-return]
    if kind is float and value.is_integer() and -(2.0**63) < value < 2.0**64:  # type: ignore[attr-defined, operator]
        return int(value)  # type: ignore[call-overload, no-any-return]
    return None
