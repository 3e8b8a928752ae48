"""The one trace of Go's number types that a policy's answer shows.

Kyverno reads JSON in two ways. A policy's own containers (lists and objects written in a
condition) keep whole numbers as int64; scalars written in a condition, the resource, everything
in the context and every JMESPath result are float64. Most operators make no difference, but the
text of a number does: a million is `1000000` as int64 and `1e+06` as float64, and deep equality
of objects tells the two apart.

So in the engine a plain `int` or `float` means float64, whatever YAML read it from, and `Int64`
means int64: members of literal containers (`mark_literals`) and a foreach's element index.
"""

from __future__ import annotations

import math

from chartkit.model import Json


class Int64(int):
    """A whole number that Go holds as int64."""

    __slots__ = ()


_LEAST, _MOST = -(2**63), 2**63 - 1


def wrapped(number: int) -> int:
    """Return the lowest 64 bits of a number as an int64, as Go's conversions and sums do."""
    return (number - _LEAST) % 2**64 + _LEAST


def mark_literals(value: Json) -> Json:
    """A literal container with its whole numbers marked; a scalar is returned as it is."""
    if isinstance(value, dict):
        return {
            key: member if member.__class__ is str else marked(member)
            for key, member in value.items()
        }
    if isinstance(value, list):
        return [member if member.__class__ is str else marked(member) for member in value]
    return value


def marked(value: Json) -> Json:
    """The value with its whole numbers marked, a number of its own among them."""
    kind = value.__class__
    if kind is int and _LEAST <= value <= _MOST:
        return Int64(value)
    # A policy passes through JSON, which writes 1.0 as 1.
    if kind is float and value.is_integer() and _LEAST <= value < -_LEAST:
        return Int64(value)
    return mark_literals(value)


def has_float64(value: Json) -> bool:
    """Return whether a whole number of the value is a float64 that reading JSON makes an int64."""
    kind = value.__class__
    if kind is dict:
        return any(map(has_float64, value.values()))
    if kind is list:
        return any(map(has_float64, value))
    return type(marked(value)) is Int64 and kind is not Int64


def as_float(number: float) -> float:
    """The float64 of a number; an infinity for a whole number that is too large for one."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def as_floats(value: Json) -> Json:
    """The value with every number that is not marked as the float64 it stands for."""
    kind = value.__class__
    if kind is int:
        return as_float(value)
    if kind is dict:
        return {key: as_floats(member) for key, member in value.items()}
    if kind is list:
        return [as_floats(member) for member in value]
    return value
