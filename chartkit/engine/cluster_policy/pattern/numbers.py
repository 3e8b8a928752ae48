"""Numbers as Go holds and prints them.

A pattern is read with int64 for whole numbers, the resource with float64 for every number, so a
plain `int` or `float` of a resource is a float64 here (`chartkit.go.int64`).
"""

from __future__ import annotations

from decimal import Decimal

from chartkit.go.int64 import Int64, as_float
from chartkit.model import Json


def go_number(value: Json) -> Int64 | float:
    """A number as the type that Go holds it in."""
    return value if type(value) is Int64 else as_float(value)


def exponent_text(number: float) -> str:
    """A float64 as `strconv.FormatFloat(number, 'E', -1, 64)`: `1.5E+00`."""
    mantissa, _, exponent = f"{Decimal(repr(number)).normalize():E}".partition("E")
    return f"{mantissa}E{int(exponent):+03d}"


def go_type(value: Json) -> str:
    """The name of the Go type that a JSON value is held in."""
    if value is None:
        return "<nil>"
    if isinstance(value, str):
        return "string"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, dict):
        return "map[string]interface {}"
    if isinstance(value, list):
        return "[]interface {}"
    return "int64" if isinstance(value, Int64) else "float64"
