"""Values as cel-go's error messages show them: Go's `%v`."""

from __future__ import annotations

from chartkit.engine.cel.times import Duration, Timestamp
from chartkit.engine.cel.values import OptionalValue, Value
from chartkit.go.duration import format_duration
from chartkit.go.fmt import format_float


def show(value: Value) -> str:
    """The text of a value: `abc`, `1e+06`, `[1, 2]`, `{a: 1}`, `1h0m0s`."""
    if value is None:
        # Go prints the number of protobuf's null.
        return "0"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return format_float(value)
    if isinstance(value, bytes):
        return "[" + " ".join(map(str, value)) + "]"
    if isinstance(value, list):
        return "[" + ", ".join(map(show, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{show(key)}: {show(each)}" for key, each in value.items()) + "}"
    if isinstance(value, OptionalValue):
        return f"optional({show(value.value)})" if value.present else "optional.none()"
    if isinstance(value, Duration):
        return format_duration(value.nanoseconds)
    if isinstance(value, Timestamp):
        return _show_time(value)
    return str(value)


def _show_time(value: Timestamp) -> str:
    text = str(value)
    if text.endswith("Z"):
        day, _, time = text[:-1].partition("T")
        return f"{day} {time} +0000 UTC"
    day, _, time = text[:-6].partition("T")
    zone = text[-6:].replace(":", "")
    return f"{day} {time} {zone} {zone}"
