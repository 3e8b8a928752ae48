"""Values around a literal of a policy: equal to it, next to it, and unlike it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Final

from chartkit.engine.cluster_policy.pattern.scalar import compile_scalar
from chartkit.go.duration import DurationError, format_duration, parse_duration
from chartkit.go.strconv import mark_literals
from chartkit.model import Json

_NUMBER: Final = re.compile(r"([+-]?\d+(?:\.\d+)?)([A-Za-z]*)", re.ASCII)
_RANGE: Final = re.compile(
    r"([+-]?\d+(?:\.\d+)?[A-Za-z]*)!?-([+-]?\d+(?:\.\d+)?[A-Za-z]*)", re.ASCII
)
_PREFIXES: Final = (">=", "<=", ">", "<", "!")
_SUFFIXES: Final = frozenset(("", *"numkMGTPE", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))
_LONGEST_NUMBER: Final = 40
"""Characters: a longer text is beyond the numbers of CEL and JSON."""
MOST: Final = 14
"""The most values of one literal."""


def around(value: Json) -> list[Json]:
    """Return values around a literal, the literal first; other types of it last."""
    if isinstance(value, bool):
        return [value, not value]
    if isinstance(value, int | float):
        return [value, value + 1, value - 1, 0, value * 2]
    if isinstance(value, str):
        return list(_unique(around_text(value)))[:MOST]
    return [value]


def around_text(text: str) -> Iterator[str]:
    """Yield texts around one, which may be a wildcard, quantity or duration."""
    if "*" in text or "?" in text:
        yield text.replace("*", "x").replace("?", "a")
        yield text.replace("*", "").replace("?", "a")
        yield text.replace("*", "X-1.y").replace("?", "b")
        yield text.replace("*", "1").replace("?", "1")
        bare = text.replace("*", "").replace("?", "")
        if bare:
            yield f"x{bare}x"
        yield from ("unlike", "")
        return
    yield text
    yield from _measured(text)
    if text:
        yield text.swapcase()
        yield f"{text}x"
        yield f"x{text}"
        yield text[:-1]
    yield "unlike"


def _measured(text: str) -> Iterator[str]:
    """Yield quantities, durations and numbers next to one."""
    match = _NUMBER.fullmatch(text)
    if match and match[2] in _SUFFIXES:
        number, suffix = Decimal(match[1]), match[2]
        yield f"{number + 1}{suffix}"
        yield f"{number - 1}{suffix}"
        for other in ("m", "Ki", "Mi", "Gi"):
            if suffix and other != suffix:
                yield f"{number}{other}"
        if suffix.endswith("i"):
            yield (
                f"{number * 1024}{'KMGTPE'['KMGTPE'.index(suffix[0]) - 1]}i"
                if suffix != "Ki"
                else f"{number * 1024}"
            )
        yield str(number)
    try:
        nanoseconds = parse_duration(text)
    except DurationError:
        return
    yield format_duration(nanoseconds + 1_000_000_000)
    yield format_duration(max(nanoseconds - 1_000_000_000, 0))
    yield format_duration(nanoseconds * 60)


def of_pattern(pattern: Json) -> tuple[list[Json], list[Json]]:
    """Return the values around a scalar of a pattern that it takes, and those that it refuses."""
    holds = compile_scalar(mark_literals([pattern])[0])
    found = _unique(_of_pattern(pattern))
    met: list[Json] = []
    missed: list[Json] = []
    for value in found:
        (met if holds(mark_literals([value])[0]) else missed).append(value)
    return met[:MOST], missed[:MOST]


def _of_pattern(pattern: Json) -> Iterator[Json]:
    if not isinstance(pattern, str):
        yield from around(pattern) if pattern is not None else [0, 1, "", "x"]
        return
    for either in pattern.split("|"):
        for part in either.split("&"):
            operand = part.strip()
            match = _RANGE.fullmatch(operand)
            if match:
                yield from (*_scalars(match[1]), *_scalars(match[2]))
                continue
            prefix = next((one for one in _PREFIXES if operand.startswith(one)), "")
            yield from _scalars(operand[len(prefix) :].strip())


def _scalars(text: str) -> Iterator[Json]:
    """Yield texts around one and what they are as numbers and booleans."""
    yield from around_text(text)
    for one in tuple(around_text(text)):
        if one in ("true", "false"):
            yield one == "true"
        match = _NUMBER.fullmatch(one)
        if match and not match[2] and len(one) <= _LONGEST_NUMBER:
            yield float(one) if "." in one else int(one)
    if text in ("true", "false"):
        yield text != "true"


def _unique(values: Iterable[Json]) -> Iterator[Json]:
    seen = set()
    for value in values:
        key = (type(value), str(value))
        if key not in seen:
            seen.add(key)
            yield value
