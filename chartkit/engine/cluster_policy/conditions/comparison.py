"""Values read as numbers, durations and texts, for all operators."""

from __future__ import annotations

from collections.abc import Callable

from chartkit.go.duration import parse_duration
from chartkit.go.fmt import go_sprint
from chartkit.go.int64 import Int64, as_float, as_floats
from chartkit.go.quantity import Quantity
from chartkit.go.strconv import parse_float, parse_int, truncate_to_int64
from chartkit.model import Json

Compare = Callable[[Json], bool]
Prepare = Callable[[Json], Compare]

SECOND = 1_000_000_000


def never(_: Json) -> bool:
    """The comparison with a value of a type that the operator does not take."""
    return False


def is_number(value: Json) -> bool:
    """Return whether a value is a JSON number; a boolean is none."""
    return isinstance(value, int | float) and value is not True and value is not False


def sprint(value: Json) -> str:
    """The value as Go's `fmt.Sprint` writes it, numbers being float64 unless marked."""
    if isinstance(value, str):
        return value
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, Int64):
        return str(int(value))
    return go_sprint(as_floats(value))


def read_duration(value: Json) -> int | None:
    """A text as a duration in nanoseconds; "0", which any number might be, is none."""
    if not isinstance(value, str) or value == "0":
        return None
    return read_any_duration(value)


def read_any_duration(text: str) -> int | None:
    """A text as a duration in nanoseconds, "0" included."""
    try:
        return parse_duration(text)
    except ValueError:
        return None


def read_quantity(text: str) -> Quantity | None:
    """A text as a Kubernetes quantity."""
    try:
        return Quantity.parse(text)
    except ValueError:
        return None


def read_float(text: str) -> float | None:
    """A text as a float64."""
    try:
        return parse_float(text)
    except ValueError:
        return None


def read_int(text: str) -> int | None:
    """A text as an int64."""
    try:
        return parse_int(text)
    except ValueError:
        return None


def pair_durations(key: Json, value: Json) -> tuple[float, float] | None:
    """Key and value in seconds, where one is a duration and the other a duration or a number."""
    left, right = read_duration(key), read_duration(value)
    if left is None and right is None:
        return None
    if left is None:
        left = seconds_of(key)
    if right is None:
        right = seconds_of(value)
    if left is None or right is None:
        return None
    return in_seconds(left), in_seconds(right)


def seconds_of(value: Json) -> int | None:
    """A number of whole seconds (a fraction is cut off) in nanoseconds; None for other types."""
    if not is_number(value):
        return None
    whole = value if isinstance(value, Int64) else truncate_to_int64(as_float(value))
    return _wrap(whole * SECOND)


def in_seconds(nanoseconds: int) -> float:
    """Go's `Duration.Seconds`."""
    whole, rest = divmod(abs(nanoseconds), SECOND)
    total = float(whole) + float(rest) / 1e9
    return -total if nanoseconds < 0 else total


def _wrap(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63
