"""`format`: texts with a value for each clause, in cel-go's first dialect, English (US)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.costs import MAX_WORK, bounded
from chartkit.engine.cel.library.standard.functions import text_of_bool, text_of_bytes
from chartkit.engine.cel.times import Duration, Timestamp
from chartkit.engine.cel.types import Type
from chartkit.engine.cel.values import Uint, Value, type_of
from chartkit.go.fmt import format_float
from chartkit.go.strconv import NumberError, parse_int, quote

_DEFAULT_PRECISION: Final = 6
_MEMBER_WEIGHT: Final = 5
"""The additional work of a character in a list, where it is quoted, compared with a text."""

_CLAUSES: Final = frozenset("sdfebxXo")

ONLY: Final = {
    "s": "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
    "types, durations, and timestamps",
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "b": "only integers and bools can be formatted as binary",
    "x": "only integers, byte buffers, and strings can be formatted as hex",
    "X": "only integers, byte buffers, and strings can be formatted as hex",
    "o": "octal clause can only be used on integers",
}
"""The message of each clause for a value of another type."""

_PRECISION: Final = re.compile(r"\.([0-9]*)")
_SPECIAL: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_SUPERSCRIPT: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause of a text; kind: its letter; precision: None where it has none."""

    kind: str
    precision: int | None


class UnfinishedClauseError(CelError):
    """A percent sign at the end of a text."""


def split_format(text: str) -> list[str | Clause | CelError]:
    """The plain parts and clauses of a text; a malformed clause is an error and the last part."""
    parts: list[str | Clause | CelError] = []
    start = 0
    while (at := text.find("%", start)) >= 0:
        parts.append(text[start:at])
        if text[at + 1 : at + 2] == "%":
            parts.append("%")
            start = at + 2
            continue
        try:
            clause_at = at + 1
            if clause_at >= len(text):
                raise UnfinishedClauseError("unexpected end of string")
            precision = None
            match = _PRECISION.match(text, clause_at)
            if match:
                clause_at = match.end()
                problem = "could not parse formatting clause: error while parsing precision"
                if clause_at >= len(text):
                    raise CelError(f"{problem}: could not find end of precision specifier")
                try:
                    precision = parse_int(match[1])
                except NumberError as error:
                    reason = str(error).replace("ParseInt", "Atoi")
                    message = f"{problem}: error while converting precision to integer: {reason}"
                    raise CelError(message) from None
            if text[clause_at] not in _CLAUSES:
                # Go reads a byte here, and shows it as a character.
                first = chr(text[clause_at].encode("utf-8", "replace")[0])
                reason = f'unrecognized formatting clause "{first}"'
                raise CelError(f"could not parse formatting clause: {reason}")
            clause, start = Clause(text[clause_at], precision), clause_at + 1
        except CelError as error:
            return [*parts, error]
        parts.append(clause)
    parts.append(text[start:])
    return parts


_CHARACTERS: Final = 10
"""Characters that take as long as a member that is written out."""


def format_text(text: str, arguments: list[Value]) -> str:
    """The text with a value for each clause; raises `CelError`."""
    parts: list[str] = []
    size = used = 0
    for part in split_format(text):
        if not isinstance(part, str):
            if used >= len(arguments):
                raise CelError(f"index {used} out of range")
            if isinstance(part, CelError):
                raise part
            try:
                part = _FORMATS[part.kind](arguments[used], part)
            except _FormatError as error:
                raise CelError(f"error during formatting: {error}") from None
            used += 1
        parts.append(part)
        size += len(part)
        bounded(size // _CHARACTERS, MAX_WORK)
    return "".join(parts)


class _FormatError(CelError):
    """A value that its clause does not take."""


def _refused(kind: str, value: Value) -> _FormatError:
    return _FormatError(f"{ONLY[kind]}, was given {type_of(value)}")


def _string(value: Value, _: Clause) -> str:
    text = _Writer().text(value)
    if text is None:
        raise _refused("s", value)
    return text


class _Writer:
    """One value's text; what it is made of is counted, as a list may hold another many times."""

    __slots__ = ("_members", "_size")

    def __init__(self) -> None:
        self._members = self._size = 0

    def text(self, value: Value) -> str | None:
        """The value as `%s` has it; None where it has no text."""
        writer = _TEXTS.get(value.__class__)
        if writer is not None:
            return writer(value)
        if isinstance(value, list):
            return f"[{', '.join(map(self._member, value))}]"
        return self._map(value) if isinstance(value, dict) else None

    def _map(self, entries: dict[Value, Value]) -> str:
        pairs = sorted(
            ((_key_text(key), self._member(value)) for key, value in entries.items()),
            key=lambda pair: pair[0],
        )
        return "{" + ", ".join(f"{key}:{value}" for key, value in pairs) + "}"

    def _member(self, value: Value) -> str:
        """A member of a list or map: texts in quotes, doubles with six digits."""
        self._members += 1
        bounded(self._members, MAX_WORK)
        text = _member_text(value) if value.__class__ in _OWN_TEXTS else self.text(value)
        if text is None:
            raise _FormatError(f"no formatting function for {type_of(value)}")
        self._size += len(text) * _MEMBER_WEIGHT
        bounded(self._size)
        return text


def _bytes_text(value: bytes) -> str:
    try:
        return text_of_bytes(value)
    except CelError as error:
        raise _FormatError(f"could not convert argument {quote(str(error))} to string") from None


def _key_text(key: Value) -> str:
    if key.__class__ is str:
        return quote(key)
    if key.__class__ in (bool, int, Uint):
        return _TEXTS[key.__class__](key)
    raise _FormatError(f"no formatting function for map key of type {type_of(key)}")


def _member_text(value: Value) -> str:
    if isinstance(value, float):
        return f"{value:.6f}" if math.isfinite(value) else quote(format_float(value))
    text = quote(_TEXTS[value.__class__](value))
    if isinstance(value, Timestamp):
        return f"timestamp({text})"
    if isinstance(value, Duration):
        return f"duration({text})"
    return f"b{text}" if isinstance(value, bytes) else text


def _whole(kind: str, *classes: type) -> Callable[[Value, Clause], str]:
    def written(value: Value, _: Clause) -> str:
        if value.__class__ not in (int, Uint, *classes):
            raise _refused(kind, value)
        return f"{value:{kind}}"

    return written


def _double(value: Value, kind: str) -> float:
    if isinstance(value, float):
        return value
    special = _SPECIAL.get(value) if isinstance(value, str) else None
    if special is None:
        raise _refused(kind, value)
    return special


def _not_finite(number: float) -> str:
    return "NaN" if math.isnan(number) else "∞" if number > 0 else "-∞"


def _fixed(value: Value, clause: Clause) -> str:
    number = _double(value, "f")
    if not math.isfinite(number):
        return _not_finite(number)
    precision = _DEFAULT_PRECISION if clause.precision is None else clause.precision
    bounded(precision)
    # Go keeps as many digits as 16 bits say, and at least as many as 8 bits say.
    whole, _, digits = f"{number or 0.0:,.{precision % 65536}f}".partition(".")
    if precision > 255:
        digits = digits.rstrip("0").ljust(precision % 256, "0")
    return f"{whole}.{digits}" if digits else whole


def _scientific(value: Value, clause: Clause) -> str:
    number = _double(value, "e")
    # The precision is taken for the width, and six digits are always shown.
    width = _DEFAULT_PRECISION if clause.precision is None else clause.precision
    bounded(width)
    if not math.isfinite(number):
        return _not_finite(number).rjust(width)
    mantissa, _, exponent = f"{number or 0.0:.{_DEFAULT_PRECISION}e}".partition("e")
    power = exponent.removeprefix("+").translate(_SUPERSCRIPT)
    return f"{mantissa}×10{power}".rjust(width)


def _hexadecimal(value: Value, clause: Clause) -> str:
    if isinstance(value, str):
        value = value.encode("utf-8", "replace")
    if isinstance(value, bytes):
        text = value.hex()
    elif value.__class__ in (int, Uint):
        text = f"{value:x}"
    else:
        raise _refused("x", value)
    return text.upper() if clause.kind == "X" else text


_TEXTS: Final[dict[type, Callable[..., str]]] = {
    type(None): lambda _: "null",
    str: str,
    bool: text_of_bool,
    int: str,
    Uint: lambda value: str(int(value)),
    float: format_float,
    bytes: _bytes_text,
    Timestamp: str,
    Duration: str,
    Type: lambda value: value.name,
}
_OWN_TEXTS: Final = frozenset({float, str, bytes, Timestamp, Duration})
"""The values that are written differently in a list or map."""

_FORMATS: Final[dict[str, Callable[[Value, Clause], str]]] = {
    "s": _string,
    "d": _whole("d"),
    "f": _fixed,
    "e": _scientific,
    "b": _whole("b", bool),
    "o": _whole("o"),
    "x": _hexadecimal,
    "X": _hexadecimal,
}
