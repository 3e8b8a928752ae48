"""Declarations as one text: `string_trim: string.trim() -> string` and `1 + 2  // 3`.

Types are written as the checker's messages have them: `list(int)`, `timestamp`, `optional_type(V)`,
`net.IP`; one capital letter is a type variable.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final

from chartkit.engine.cel import types
from chartkit.engine.cel.types import Type

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
        parameters = (_type(before), *parameters)
    elif before is not None:
        function = f"{before}.{function}"
    return Signature(id, function, parameters, _type(returns), member)


@cache
def _types(text: str) -> tuple[Type, ...]:
    """The types in a list with commas, in which parentheses may be nested."""
    parts: list[str] = []
    for piece in text.split(", ") if text else ():
        if parts and parts[-1].count("(") > parts[-1].count(")"):
            parts[-1] += f", {piece}"
        else:
            parts.append(piece)
    return tuple(map(_type, parts))


def _type(text: str) -> Type:
    known = _TYPES.get(text)
    if known is not None:
        return known
    name, parenthesis, inner = text.partition("(")
    if not parenthesis or name not in _GENERIC:
        raise ValueError(f"not a declared type: {text}")
    return _GENERIC[name](*_types(inner[:-1]))
