"""Overloads called by their ids, as the tests of the libraries do."""

import math
from collections.abc import Sequence

from chartkit.engine.cel.declarations import Library
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.values import Value


def answer(library: Library, id: str, args: Sequence[Value]) -> tuple[str, Value]:
    """The class of the value and the value, or `error` and the message."""
    overload = next(each for each in library.overloads if each.id == id)
    try:
        value = overload.implementation(*args)
    except CelError as error:
        return "error", str(error)
    if isinstance(value, float) and (math.isnan(value) or value == 0):
        # NaN is not equal to itself, and the two zeros are equal.
        return "float", repr(value)
    return type(value).__name__, value
