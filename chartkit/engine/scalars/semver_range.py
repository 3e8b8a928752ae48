"""Ranges of semantic versions as blang/semver reads them: `>=1.2.0 <2.0.0 || 3.x`.

Its rules are not npm's: `~`, `^` and commas are unknown, and `x` works in the last place only.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from semver import Version

from chartkit.go import GoError
from chartkit.go.strconv import quote

_COMPARATORS: dict[str, Callable[[int], bool]] = {
    "": lambda order: order == 0,
    "=": lambda order: order == 0,
    "==": lambda order: order == 0,
    "!": lambda order: order != 0,
    "!=": lambda order: order != 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
}
_MAX_UINT64 = 2**64 - 1
_DIGITS = frozenset("0123456789")
_ALPHANUMERIC = frozenset("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-")
_FIRST_DIGIT = re.compile(r"\d")

InRange = Callable[[Version], bool]


class Comparison(NamedTuple):
    """An operator, empty for equality, and the version on its right."""

    operator: str
    version: Version


class SemverError(GoError):
    """Text that is neither a version nor a range, with the message of blang/semver."""


def parse_version(text: str) -> Version:
    """The version of a text; raises `SemverError`."""
    if not text:
        raise SemverError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise SemverError("No Major.Minor.Patch elements found")
    rest, plus, build = parts[2].partition("+")
    patch, dash, prerelease = rest.partition("-")
    numbers = _number(parts[0], "major"), _number(parts[1], "minor"), _number(patch, "patch")
    if dash:
        for part in prerelease.split("."):
            if not part:
                raise SemverError("Prerelease is empty")
            if _DIGITS.issuperset(part):
                if len(part) > 1 and part[0] == "0":
                    message = "Numeric PreRelease version must not contain leading zeroes"
                    raise SemverError(f"{message} {quote(part)}")
                _uint64(part)
            elif not _ALPHANUMERIC.issuperset(part):
                raise SemverError(f"Invalid character(s) found in prerelease {quote(part)}")
    if plus:
        for part in build.split("."):
            if not part:
                raise SemverError("Build meta data is empty")
            if not _ALPHANUMERIC.issuperset(part):
                fault = f"Invalid character(s) found in build meta data {quote(part)}"
                raise SemverError(fault)
    return Version(numbers[0], numbers[1], numbers[2], prerelease or None)


def _number(digits: str, name: str) -> int:
    if not _DIGITS.issuperset(digits):
        raise SemverError(f"Invalid character(s) found in {name} number {quote(digits)}")
    if len(digits) > 1 and digits[0] == "0":
        message = f"{name.capitalize()} number must not contain leading zeroes {quote(digits)}"
        raise SemverError(message)
    return _uint64(digits)


def _uint64(digits: str) -> int:
    if not digits:
        raise SemverError('strconv.ParseUint: parsing "": invalid syntax')
    if len(digits) > 20 or int(digits) > _MAX_UINT64:
        raise SemverError(f"strconv.ParseUint: parsing {quote(digits)}: value out of range")
    return int(digits)


@lru_cache(maxsize=1024)
def parse_range(text: str) -> InRange:
    """Return a function that reports whether a version is in the range; raises `SemverError`."""
    alternatives = [
        [(_COMPARATORS[sign], other) for sign, other in comparisons]
        for comparisons in read_range(text)
    ]
    return lambda version: any(
        all(holds(version.compare(other)) for holds, other in conditions)
        for conditions in alternatives
    )


def read_range(text: str) -> list[list[Comparison]]:
    """Return the alternatives of a range, the comparisons of each; raises `SemverError`."""
    parts = _split(text)
    groups: list[list[str]] = [[]]
    for index, part in enumerate(parts):
        if part != "||":
            groups[-1].append(part)
        elif index == 0:
            raise SemverError("First element in range is '||'")
        else:
            groups.append([])
    if not groups[-1]:
        raise SemverError("Last element in range is '||'")
    alternatives = [
        [_condition(part) for part in expanded]
        for expanded in [[piece for part in parts for piece in _expand(part)] for parts in groups]
    ]
    if not all(alternatives):
        raise SemverError("empty range")
    return alternatives


def _split(text: str) -> list[str]:
    """The conditions of a range; spaces after an operator do not split."""
    parts, last, before = [], 0, ""
    # Lengths count bytes, so each stands for one character here.
    text = text.encode("utf-8", "replace").decode("latin-1")
    for index, character in enumerate(text):
        if character != " ":
            before = character
        elif before not in {">", "<", "="}:
            if last < index - 1:
                parts.append(text[last:index])
            last = index + 1
    if last < len(text) - 1:
        parts.append(text[last:])
    return [part.replace(" ", "").encode("latin-1").decode("utf-8", "replace") for part in parts]


def _expand(part: str) -> list[str]:
    """A condition with `x` written out as conditions without."""
    if "x" not in part:
        return [part]
    operator, wildcard = _operator(part)
    flat = wildcard.replace(".x.x", ".x", 1).replace(".x", ".0", 1)
    if flat.count(".") == 1:
        flat += ".0"
    pieces = wildcard.split(".")
    following = _increment(flat, len(pieces) - 2) if pieces[-1] == "x" else ""
    if operator == ">":
        return [f">={following}"]
    if operator in {">=", "<"}:
        return [operator + flat]
    if operator == "<=":
        return [f"<{following}"]
    if operator in {"", "=", "=="}:
        return [f">={flat}", f"<{following}"]
    if operator in {"!", "!="}:
        return [f"<{flat}", f">={following}"]
    return [flat]


def _increment(flat: str, index: int) -> str:
    parts = flat.split(".")
    if index not in {0, 1} or not parts[index].isdigit():
        return ""
    parts[index] = str(int(parts[index][:20]) + 1)
    return ".".join(parts)


def _operator(part: str) -> tuple[str, str]:
    match = _FIRST_DIGIT.search(part)
    if match is None:
        raise SemverError(f"Could not get version from string: {quote(part)}")
    return part[: match.start()].strip(), part[match.start() :]


def _condition(part: str) -> Comparison:
    operator, text = _operator(part)
    whole = quote(operator + text)
    if operator not in _COMPARATORS:
        fault = f"Could not parse comparator {quote(operator)} in {whole}"
        raise SemverError(f"Could not parse Range {quote(part)}: {fault}")
    try:
        return Comparison(operator, parse_version(text))
    except SemverError as error:
        fault = f"Could not parse version {quote(text)} in {whole}: {error}"
        raise SemverError(f"Could not parse Range {quote(part)}: {fault}") from None
