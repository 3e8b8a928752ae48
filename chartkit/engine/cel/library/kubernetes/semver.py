"""`Semver`: semantic versions."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, Final

from semver import Version

from chartkit.engine.cel.declarations import Library, declared, overloads
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.costs import of_first
from chartkit.engine.cel.library.kubernetes.refusing import Refusing, accepts
from chartkit.engine.cel.notation import named
from chartkit.engine.cel.types import Type, struct
from chartkit.engine.scalars.semver_range import SemverError, parse_version
from chartkit.errors import Reraise
from chartkit.go.strconv import wrapped

SEMVER: Final = named(struct("kubernetes.Semver"), "Semver")

_DIGITS: Final = frozenset("0123456789")
_USUAL_LENGTH: Final = 256


@dataclass(frozen=True, slots=True)
class SemverValue(Refusing):
    """A version; build data takes no part in comparisons."""

    cel_type: ClassVar[Type] = SEMVER

    version: Version
    build: str = field(default="", compare=False)

    def __str__(self) -> str:
        """The version with its prerelease and build data."""
        return f"{self.version}+{self.build}" if self.build else str(self.version)


def parse_semver(text: str, normalize: bool = False) -> SemverValue:
    """The version of a text; raises `CelError`."""
    # Only what is short is remembered: a prerelease may be of any length.
    parse = _remembered if len(text) <= _USUAL_LENGTH else _parse
    return parse(text, normalize)


def _parse(text: str, normalize: bool) -> SemverValue:
    with Reraise("", SemverError, CelError):
        # The version without a `v` in front and leading zeros, and with all three numbers
        if normalize:
            parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
            if len(parts) < 3 and ("+" in parts[-1] or "-" in parts[-1]):
                raise SemverError("short version cannot contain PreRelease/Build meta data")
            written = ".".join(parts + ["0"] * (3 - len(parts)))
        else:
            written = text
        version = parse_version(written)
    return SemverValue(version, written.split(".", 2)[2].partition("+")[2])


_remembered = lru_cache(maxsize=1024)(_parse)


def _without_zeros(part: str) -> str:
    if len(part.encode("utf-8", "replace")) < 2:
        return part
    rest = part.lstrip("0")
    return rest if rest[:1] in _DIGITS else f"0{rest}"


_MAKING: Final = overloads(
    {
        "string_to_semver: semver(string) -> Semver": parse_semver,
        "string_bool_to_semver: semver(string, bool) -> Semver": parse_semver,
        "is_semver_string: isSemver(string) -> bool": accepts(parse_semver),
        "is_semver_string_bool: isSemver(string, bool) -> bool": accepts(parse_semver),
    },
    cost=of_first,
)
_READING: Final = overloads(
    {
        "semver_is_greater_than: Semver.isGreaterThan(Semver) -> bool": (
            lambda left, right: left.version.compare(right.version) > 0
        ),
        "semver_is_less_than: Semver.isLessThan(Semver) -> bool": (
            lambda left, right: left.version.compare(right.version) < 0
        ),
        "semver_compare_to: Semver.compareTo(Semver) -> int": (
            lambda left, right: left.version.compare(right.version)
        ),
        "semver_major: Semver.major() -> int": lambda value: wrapped(value.version.major),
        "semver_minor: Semver.minor() -> int": lambda value: wrapped(value.version.minor),
        "semver_patch: Semver.patch() -> int": lambda value: wrapped(value.version.patch),
    }
)

LIBRARY: Final = Library("kubernetes.Semver", overloads=declared(globals()))
