"""Operators that decide before all operands are known: `&&`, `||`, `or`, `orValue`, loops that
continue."""

from __future__ import annotations

from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.interpreter.frame import Frame, Step, absorbed
from chartkit.engine.cel.values import OptionalValue, Value


def conjunction(left: Step, right: Step) -> Step:
    """`left && right`: false where either is, even where the other fails."""
    return _junction(left, right, False)


def disjunction(left: Step, right: Step) -> Step:
    """`left || right`: true where either is, even where the other fails."""
    return _junction(left, right, True)


def _junction(left: Step, right: Step, decisive: bool) -> Step:
    neutral = not decisive

    def run(frame: Frame) -> Value:
        error = None
        try:
            value = left(frame)
            if value is decisive:
                return decisive
            if value is not neutral:
                error = CelError("no such overload")
        except CelError as failure:
            error = absorbed(failure, frame)
        try:
            value = right(frame)
        except CelError as failure:
            # The first error is the one that is told.
            raise error or failure from None
        if value is decisive:
            return decisive
        if error is not None:
            raise error
        if value is not neutral:
            raise CelError("no such overload")
        return neutral

    return run


def not_strictly_false(argument: Step) -> Step:
    """False for false alone: a loop goes on past errors."""

    def run(frame: Frame) -> Value:
        frame.cost += 1
        try:
            return argument(frame) is not False
        except CelError as failure:
            absorbed(failure, frame)
            return True

    return run


def or_optional(left: Step, right: Step) -> Step:
    """`left.or(right)`: the first optional value that is there; right is not run for nothing."""

    def run(frame: Frame) -> Value:
        value = left(frame)
        if value.__class__ is not OptionalValue:
            raise CelError("no such overload")
        return value if value.present else right(frame)

    return run


def or_value(left: Step, right: Step) -> Step:
    """`left.orValue(right)`: what is in an optional value, or else right."""

    def run(frame: Frame) -> Value:
        value = left(frame)
        if value.__class__ is not OptionalValue:
            raise CelError("no such overload")
        return value.value if value.present else right(frame)

    return run
