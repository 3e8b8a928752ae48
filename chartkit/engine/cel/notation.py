"""CEL values as people read them: the expression that would give the value.

What JSON can hold looks as in JSON; the rest is what an author would write: `2u`, `b"abc"`,
`timestamp("2026-01-02T03:04:05Z")`, `optional.none()`, `quantity("1Gi")`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final

from chartkit.engine.cel import types
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
    if isinstance(value, Uint):
        return repr(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return repr(value)
        return (
            f'double("{"NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"}")'
        )
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
        maker = _MAKERS.get(value.cel_type.name)
        if maker is None:
            return f"{value.cel_type.name}({value})"
        return f"{maker}({json.dumps(str(value), ensure_ascii=False)})"
    raise TypeError(f"not a CEL value: {value.__class__.__name__}")


def _deeper(newline: str) -> str:
    return newline + _STEP if newline else ""


def _members(start: str, members: list[str], end: str, newline: str) -> str:
    if not members or not newline:
        return f"{start}{', '.join(members)}{end}"
    inner = _deeper(newline)
    return f"{start}{inner}{f',{inner}'.join(members)}{newline}{end}"


def _byte(byte: int) -> str:
    if 0x20 <= byte < 0x7F and byte not in b'"\\':
        return chr(byte)
    return f"\\x{byte:02x}"


def _duration(value: Duration) -> str:
    """The seconds; CEL's own text has too few digits for very long durations."""
    try:
        exact = duration_of_text(str(value)) == value
    except CelError:
        exact = False
    return f'duration("{value if exact else f"{value.nanoseconds}ns"}")'


_DECLARATION: Final = re.compile(r"([^ ]+): (?:(.+)\.)?([^ .()]+)\((.*)\) -> (.+)")
_GENERIC: Final[dict[str, Callable[..., Type]]] = {
    "list": types.list_of,
    "map": types.map_of,
    "optional_type": types.optional_of,
    "type": types.type_of_type,
}
_TYPES: Final[dict[str, Type]] = {
    **{each.name: each for each in (types.BOOL, types.BYTES, types.DOUBLE, types.DYN)},
    **{each.name: each for each in (types.INT, types.STRING, types.UINT)},
    **{each.name: each for each in (types.A, types.B, types.K, types.T, types.V)},
    **{each.name: each for each in (types.ANY, types.DURATION, types.TIMESTAMP)},
    "any": types.ANY,
    "duration": types.DURATION,
    "timestamp": types.TIMESTAMP,
}


def named(value: Type, alias: str = "") -> Type:
    """Return the type; declarations can name it from now on, by its name or its alias."""
    _TYPES[value.name] = _TYPES[alias or value.name] = value
    return value


@dataclass(frozen=True, slots=True)
class Signature:
    """An overload's id, function and types; a receiver is the first parameter."""

    id: str
    function: str
    parameters: tuple[Type, ...]
    returns: Type
    member: bool


def parse_signature(text: str) -> Signature:
    """Parse `id: function(types) -> type` or `id: receiver.function(types) -> type`.

    What stands before the dot is a receiver if it is a type, and part of the name otherwise.
    Raises `ValueError` for another form and for a type that nothing declares.
    """
    match = _DECLARATION.fullmatch(text)
    if match is None:
        raise ValueError(f"not a signature: {text}")
    id, before, function, inner, returns = match.groups()
    parameters = _types(inner)
    member = before is not None and (before in _TYPES or before.endswith(")"))
    if member:
        parameters = (parse_type(before), *parameters)
    elif before is not None:
        function = f"{before}.{function}"
    return Signature(id, function, parameters, parse_type(returns), member)


@cache
def _types(text: str) -> tuple[Type, ...]:
    """The types in a list with commas, in which parentheses may be nested."""
    parts: list[str] = []
    for piece in text.split(", ") if text else ():
        if parts and parts[-1].count("(") > parts[-1].count(")"):
            parts[-1] += f", {piece}"
        else:
            parts.append(piece)
    return tuple(map(parse_type, parts))


def parse_type(text: str) -> Type:
    """The type of a text; raises `ValueError` for one that nothing declares."""
    type_ = _TYPES.get(text)
    if type_ is not None:
        return type_
    name, parenthesis, inner = text.partition("(")
    if not parenthesis or name not in _GENERIC:
        raise ValueError(f"not a declared type: {text}")
    return _GENERIC[name](*_types(inner[:-1]))
