"""CEL values as people read them: the expression that would give the value.

What JSON can hold looks as in JSON; the rest is what an author would write: `2u`, `b"abc"`,
`timestamp("2026-01-02T03:04:05Z")`, `optional.none()`, `quantity("1Gi")`.
"""

from __future__ import annotations

import json
import math
from typing import Final

from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.times import Duration, Timestamp, duration_of_text
from chartkit.engine.cel.types import Type
from chartkit.engine.cel.values import Opaque, OptionalValue, Struct, Uint, Value

_MAKERS: Final = {
    "kubernetes.Quantity": "quantity",
    "kubernetes.Semver": "semver",
    "kubernetes.URL": "url",
    "kyverno.image": "image",
    "net.CIDR": "cidr",
    "net.IP": "ip",
}
"""The function that makes a named type's value from its text."""

_STEP: Final = "  "


def notation(value: Value, *, lines: bool = False) -> str:
    """The value as an expression; with lines, each member of lists and maps has its own."""
    return _write(value, "\n" if lines else "")


def _write(value: Value, newline: str) -> str:
    if isinstance(value, list):
        return _members("[", [_write(item, _deeper(newline)) for item in value], "]", newline)
    if isinstance(value, dict):
        inner = _deeper(newline)
        pairs = [f"{_write(key, '')}: {_write(item, inner)}" for key, item in value.items()]
        return _members("{", pairs, "}", newline)
    if isinstance(value, Struct):
        inner = _deeper(newline)
        pairs = [f"{name}: {_write(item, inner)}" for name, item in value.fields.items()]
        return _members(f"{value.type.name}{{", pairs, "}", newline)
    if isinstance(value, OptionalValue):
        held = _write(value.value, newline)
        return f"optional.of({held})" if value.present else "optional.none()"
    return _scalar(value)


def _deeper(newline: str) -> str:
    return newline + _STEP if newline else ""


def _members(start: str, members: list[str], end: str, newline: str) -> str:
    if not members or not newline:
        return f"{start}{', '.join(members)}{end}"
    inner = _deeper(newline)
    return f"{start}{inner}{f',{inner}'.join(members)}{newline}{end}"


def _scalar(value: Value) -> str:
    if isinstance(value, Uint):
        return repr(value)
    if isinstance(value, float):
        return _double(value)
    if value is None or isinstance(value, bool | int | str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bytes):
        return f'b"{"".join(map(_byte, value))}"'
    if isinstance(value, Timestamp):
        return f'timestamp("{value}")'
    if isinstance(value, Duration):
        return _duration(value)
    if isinstance(value, Type):
        return value.name
    if isinstance(value, Opaque):
        return _opaque(value)
    raise TypeError(f"not a CEL value: {value.__class__.__name__}")


def _double(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return f'double("{"NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"}")'


def _byte(byte: int) -> str:
    if 0x20 <= byte < 0x7F and byte not in b'"\\':
        return chr(byte)
    return f"\\x{byte:02x}"


def _opaque(value: Opaque) -> str:
    maker = _MAKERS.get(value.cel_type.name)
    if maker is None:
        return f"{value.cel_type.name}({value})"
    return f"{maker}({json.dumps(str(value), ensure_ascii=False)})"


def _duration(value: Duration) -> str:
    """Seconds; of very long ones CEL's own text has too few digits."""
    try:
        exact = duration_of_text(str(value)) == value
    except CelError:
        exact = False
    return f'duration("{value if exact else f"{value.nanoseconds}ns"}")'
