"""Go's `time.Duration`: whole nanoseconds in 64 bits, written as `1h30m0.5s`."""

from __future__ import annotations

import re
from functools import lru_cache

from chartkit.go import GoError
from chartkit.go.strconv import or_none, quote_ascii

NANOSECOND = 1
MICROSECOND = 1000
MILLISECOND = 1000 * MICROSECOND
SECOND = 1000 * MILLISECOND
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE

MAX_DURATION = 2**63 - 1
MIN_DURATION = -(2**63)

_UNITS = {
    "ns": NANOSECOND,
    "us": MICROSECOND,
    "µs": MICROSECOND,
    "μs": MICROSECOND,
    "ms": MILLISECOND,
    "s": SECOND,
    "m": MINUTE,
    "h": HOUR,
}
_PART = re.compile(r"([0-9]*)(?:(\.)([0-9]*))?([^.0-9]*)")
_LIMIT = 2**63
_FRACTION_LIMIT = (2**63 - 1) // 10


class DurationError(GoError):
    """Text that is not a duration, with the message of Go's `time.ParseDuration`."""


def parse_duration(text: str) -> int:
    """The nanoseconds of a duration such as `1h30m`, `-1.5s` or `0`; raises `DurationError`."""
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return 0
    total, position = 0, 0
    while position < len(rest) or not rest:
        match = _PART.match(rest, position)
        if match is None or not (match[1] or match[3]):
            raise DurationError(f"time: invalid duration {quote_ascii(text)}")
        whole, fraction, unit_name = match[1], match[3] or "", match[4]
        significant = whole.lstrip("0")
        value = int(significant or "0") if len(significant) < 20 else _LIMIT + 1
        if value > _LIMIT:
            raise DurationError(f"time: invalid duration {quote_ascii(text)}")
        if not unit_name:
            raise DurationError(f"time: missing unit in duration {quote_ascii(text)}")
        unit = _UNITS.get(unit_name)
        if unit is None:
            named = f"{quote_ascii(unit_name)} in duration {quote_ascii(text)}"
            raise DurationError(f"time: unknown unit {named}")
        value *= unit
        if fraction:
            fraction_value, fraction_scale = 0, 1.0
            for digit in fraction:
                if fraction_value > _FRACTION_LIMIT:
                    break
                longer = fraction_value * 10 + int(digit)
                if longer > _LIMIT:
                    break
                fraction_value, fraction_scale = longer, fraction_scale * 10
            # Go multiplies as float64, so the last nanoseconds of a long fraction depend on it.
            value += int(float(fraction_value) * (float(unit) / fraction_scale))
        if value > _LIMIT:
            raise DurationError(f"time: invalid duration {quote_ascii(text)}")
        total += value
        if total > _LIMIT:
            raise DurationError(f"time: invalid duration {quote_ascii(text)}")
        position = match.end()
    if text[0] == "-":
        return -total
    if total == _LIMIT:
        raise DurationError(f"time: invalid duration {quote_ascii(text)}")
    return total


duration_or_none = lru_cache(maxsize=4096)(or_none(parse_duration))
"""The nanoseconds of a duration; None for an invalid text."""


def in_seconds(nanoseconds: int) -> float:
    """Go's `Duration.Seconds`."""
    whole, rest = divmod(abs(nanoseconds), SECOND)
    total = float(whole) + float(rest) / 1e9
    return -total if nanoseconds < 0 else total


def format_duration(nanoseconds: int) -> str:
    """The duration as Go prints it: `1h0m0s`, `1.5s`, `20ms`, `0s`."""
    sign = "-" if nanoseconds < 0 else ""
    left = abs(nanoseconds)
    if left == 0:
        return "0s"
    if left < SECOND:
        for unit, name in ((MILLISECOND, "ms"), (MICROSECOND, "µs"), (NANOSECOND, "ns")):
            if left >= unit:
                return f"{sign}{_decimal(left, unit)}{name}"
    minutes, rest = divmod(left, MINUTE)
    text = f"{_decimal(rest, SECOND)}s"
    if minutes:
        hours, minutes = divmod(minutes, 60)
        text = f"{hours}h{minutes}m{text}" if hours else f"{minutes}m{text}"
    return sign + text


def _decimal(value: int, unit: int) -> str:
    whole, rest = divmod(value, unit)
    if not rest:
        return str(whole)
    return f"{whole}.{rest:0{len(str(unit)) - 1}d}".rstrip("0")
