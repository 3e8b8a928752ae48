"""Values as Go prints them: `fmt`'s `%v` and `encoding/json`.

A plain `int` or `float` is a float64; `Int64` is a whole number that Go holds as int64.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable

from chartkit.go import GoError
from chartkit.go.strconv import Int64
from chartkit.model import Json

_ENCODER = json.JSONEncoder(ensure_ascii=False)
_HTML = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


class UnsupportedValueError(GoError):
    """A number that JSON cannot represent, with the message of Go's `encoding/json`."""


def go_sprint(value: Json) -> str:
    """The value as `fmt.Sprint` prints it: `map[a:1 b:[x <nil>]]`, `1e+06`, `true`."""
    kind = type(value)
    if kind is str:
        return str(value)
    if value is None:
        return "<nil>"
    if kind is bool:
        return "true" if value else "false"
    if kind is Int64:
        return str(int(value))
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{go_sprint(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(go_sprint, value)) + "]"
    return format_float(value)


def go_type(value: Json) -> str:
    """The Go type that a JSON value is held in, as `%T` prints it."""
    if value is None:
        return "<nil>"
    if isinstance(value, str):
        return "string"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, dict):
        return "map[string]interface {}"
    if isinstance(value, list):
        return "[]interface {}"
    return "int64" if isinstance(value, Int64) else "float64"


def go_json(value: Json) -> str:
    """The value as `json.Marshal` writes it: keys sorted, no spaces, `<`, `>` and `&` escaped.

    Raises `UnsupportedValueError` for NaN and the infinities.
    """
    return _json(value, json_float)


def embedded_json(value: Json) -> str:
    """The value as Kyverno writes it into a text, with json-iterator: exponents have two digits.

    Raises `UnsupportedValueError` for NaN and the infinities.
    """
    return _json(value, _iterator_float)


def indented_json(value: Json, indent: str = "") -> str:
    """Return the value as `json.MarshalIndent` writes it with two spaces, but with `<`, `>` and `&`
    as they are.

    Raises `UnsupportedValueError` for NaN and the infinities.
    """
    inner = indent + "  "
    if isinstance(value, dict) and value:
        members = (
            f"{inner}{_ENCODER.encode(key)}: {indented_json(value[key], inner)}"
            for key in sorted(value)
        )
        return "{\n" + ",\n".join(members) + f"\n{indent}}}"
    if isinstance(value, list) and value:
        items = (inner + indented_json(item, inner) for item in value)
        return "[\n" + ",\n".join(items) + f"\n{indent}]"
    return _ENCODER.encode(value) if isinstance(value, str) else _json(value, json_float)


def _json(value: Json, show_float: Callable[[float], str]) -> str:
    kind = type(value)
    if kind is str:
        return _json_string(value)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is Int64:
        return str(int(value))
    if isinstance(value, dict):
        members = (f"{_json_string(key)}:{_json(value[key], show_float)}" for key in sorted(value))
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_json(item, show_float) for item in value) + "]"
    return show_float(value)


def _json_string(text: str) -> str:
    written: str = _ENCODER.encode(text)
    return written.translate(_HTML)


def format_float(number: float) -> str:
    """A float64 as `%v` prints it: fewest digits, an exponent below 1e-4 and from 1e+06 on."""
    if special := _special(number):
        return special
    negative, digits, point = _shortest(number)
    if -4 <= point - 1 < 6:
        return _fixed(negative, digits, point)
    return _scientific(negative, digits, point)


def json_float(number: float) -> str:
    """A float64 as `encoding/json` writes it: an exponent below 1e-6 and from 1e21 on.

    Raises `UnsupportedValueError` for NaN and the infinities.
    """
    return _iterator_float(number).replace("e-0", "e-")


def _iterator_float(number: float) -> str:
    if special := _special(number):
        raise UnsupportedValueError(f"json: unsupported value: {special}")
    negative, digits, point = _shortest(number)
    if -6 <= point - 1 < 21:
        return _fixed(negative, digits, point)
    return _scientific(negative, digits, point)


def format_float32(number: float) -> str:
    """The number as float32 without an exponent: `strconv.FormatFloat(number, 'f', -1, 32)`.

    Kyverno turns numbers into text in this way for its regular expressions, so that only
    about seven digits are right.
    """
    from ctypes import c_float

    single = c_float(number).value
    if special := _special(single):
        return special
    for precision in range(9):
        text = f"{single:.{precision}e}"
        if c_float(float(text)).value == single:
            break
    return _fixed(*_digits(text))


def _special(number: float) -> str:
    try:
        number = float(number)
    except OverflowError:
        return "+Inf" if number > 0 else "-Inf"
    if math.isfinite(number):
        return ""
    return "NaN" if math.isnan(number) else "+Inf" if number > 0 else "-Inf"


def _shortest(number: float) -> tuple[bool, str, int]:
    return _digits(repr(float(number)))


def _digits(text: str) -> tuple[bool, str, int]:
    """Sign, significant digits and where the decimal point stands among them."""
    negative = text.startswith("-")
    mantissa, _, exponent = text.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    point = len(whole) + int(exponent or "0")
    digits = (whole + fraction).lstrip("0")
    point -= len(whole) + len(fraction) - len(digits)
    digits = digits.rstrip("0")
    return (negative, digits, point) if digits else (negative, "0", 1)


def _fixed(negative: bool, digits: str, point: int) -> str:
    sign = "-" if negative else ""
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    if point >= len(digits):
        return sign + digits + "0" * (point - len(digits))
    return f"{sign}{digits[:point]}.{digits[point:]}"


def _scientific(negative: bool, digits: str, point: int) -> str:
    sign = "-" if negative else ""
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{point - 1:+03d}"
