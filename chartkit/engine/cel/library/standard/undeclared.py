"""Operands that operators accept though no checked expression can have them: only through `dyn`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Final

from chartkit.engine.cel.declarations import Overload
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.standard.arithmetic import negated
from chartkit.engine.cel.types import BOOL, BYTES, DOUBLE, DURATION, DYN, STRING, TIMESTAMP
from chartkit.engine.cel.values import Value


def _nan_is_unordered(left: Value, right: Value) -> bool:
    """NaN comes neither before nor after anything, of whatever type it is."""
    if any(isinstance(each, float) and math.isnan(each) for each in (left, right)):
        return False
    raise CelError("no such overload")


def _orderings(function: str) -> Iterator[Overload]:
    yield Overload(function, "unordered", (DOUBLE, DYN), BOOL, _nan_is_unordered)
    for kind in (BOOL, STRING, BYTES, TIMESTAMP, DURATION):
        yield Overload(function, f"unordered_{kind}", (kind, DOUBLE), BOOL, _nan_is_unordered)


UNDECLARED: Final[Mapping[str, tuple[Overload, ...]]] = {
    "-_": (Overload("-_", "negate_duration", (DURATION,), DURATION, negated),),
    **{function: tuple(_orderings(function)) for function in ("_<_", "_<=_", "_>_", "_>=_")},
}
"""By function; they are tried after the declared overloads."""
