"""`kyverno.math`: rounding to a number of decimals."""

from __future__ import annotations

import math

from chartkit.engine.cel.declarations import Library, declared, overload


@overload("math_round_float_int: math.round(double, int) -> double")
def round_decimals(number: float, decimals: int) -> float:
    shift = _power_of_ten(decimals)
    rounded = _rounded(number * shift)
    if shift:
        return rounded / shift
    return math.nan if not rounded or math.isnan(rounded) else math.copysign(math.inf, rounded)


def _power_of_ten(exponent: int) -> float:
    try:
        return 10.0**exponent
    except OverflowError:
        return math.inf


def _rounded(number: float) -> float:
    if not math.isfinite(number):
        return number
    whole = math.trunc(number)
    if abs(number - whole) >= 0.5:
        whole += 1 if number > 0 else -1
    return math.copysign(float(whole), number)


LIBRARY = Library("kyverno.math", overloads=declared(globals()))
