"""`kubernetes.Semver`: semantic versions."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, Final

from semver import Version

from chartkit.engine.cel.declarations import Example, Library, declared, overload
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.costs import of_first
from chartkit.engine.cel.library.kubernetes.refusing import Refusing
from chartkit.engine.cel.types import BOOL, INT, STRING, Type, struct
from chartkit.engine.scalars.semver_range import SemverError, parse_version

SEMVER: Final = struct("kubernetes.Semver")

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
    try:
        written = _normal(text) if normalize else text
        version = parse_version(written)
    except SemverError as error:
        raise CelError(str(error)) from None
    return SemverValue(version, written.split(".", 2)[2].partition("+")[2])


_remembered = lru_cache(maxsize=1024)(_parse)


def _normal(text: str) -> str:
    """The version without a `v` in front and leading zeros, and with all three numbers."""
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3 and ("+" in parts[-1] or "-" in parts[-1]):
        raise SemverError("short version cannot contain PreRelease/Build meta data")
    return ".".join(parts + ["0"] * (3 - len(parts)))


def _without_zeros(part: str) -> str:
    if len(part.encode("utf-8", "replace")) < 2:
        return part
    rest = part.lstrip("0")
    return rest if rest[:1] in _DIGITS else f"0{rest}"


def _int64(number: int) -> int:
    # Kubernetes casts the unsigned number.
    return (number + 2**63) % 2**64 - 2**63


_NORMALIZE: Final = "with `true`, a leading `v`, leading zeros and missing numbers are set right"


@overload(
    "semver",
    "string_to_semver",
    STRING,
    returns=SEMVER,
    cost=of_first,
    doc="The semantic version that a text is.",
    examples=(
        Example("semver('1.2.3-rc.1').minor()", "2"),
        Example("semver('1.2')", "No Major.Minor.Patch elements found", error=True),
    ),
)
def _semver(text: str) -> SemverValue:
    return parse_semver(text)


@overload(
    "semver",
    "string_bool_to_semver",
    STRING,
    BOOL,
    returns=SEMVER,
    cost=of_first,
    doc=f"The semantic version that a text is; {_NORMALIZE}.",
    examples=(Example("semver('v01.2', true) == semver('1.2.0')", "true"),),
)
def _semver_normal(text: str, normalize: bool) -> SemverValue:
    return parse_semver(text, normalize)


def _is_version(text: str, normalize: bool) -> bool:
    try:
        parse_semver(text, normalize)
    except CelError:
        return False
    return True


@overload(
    "isSemver",
    "is_semver_string",
    STRING,
    returns=BOOL,
    cost=of_first,
    doc="Whether a text is a semantic version.",
    examples=(Example("isSemver('v1.0')", "false"),),
)
def _is_semver(text: str) -> bool:
    return _is_version(text, False)


@overload(
    "isSemver",
    "is_semver_string_bool",
    STRING,
    BOOL,
    returns=BOOL,
    cost=of_first,
    doc=f"Whether a text is a semantic version; {_NORMALIZE} first.",
    examples=(Example("isSemver('v1.0', true)", "true"),),
)
def _is_semver_normal(text: str, normalize: bool) -> bool:
    return _is_version(text, normalize)


@overload(
    "isGreaterThan",
    "semver_is_greater_than",
    SEMVER,
    SEMVER,
    returns=BOOL,
    member=True,
    doc="Whether the version comes after another.",
    examples=(Example("semver('1.10.0').isGreaterThan(semver('1.9.0'))", "true"),),
)
def _is_greater_than(left: SemverValue, right: SemverValue) -> bool:
    return left.version.compare(right.version) > 0


@overload(
    "isLessThan",
    "semver_is_less_than",
    SEMVER,
    SEMVER,
    returns=BOOL,
    member=True,
    doc="Whether the version comes before another.",
    examples=(Example("semver('1.0.0-alpha').isLessThan(semver('1.0.0'))", "true"),),
)
def _is_less_than(left: SemverValue, right: SemverValue) -> bool:
    return left.version.compare(right.version) < 0


@overload(
    "compareTo",
    "semver_compare_to",
    SEMVER,
    SEMVER,
    returns=INT,
    member=True,
    doc="-1, 0 or 1: before, the same as or after another version.",
    examples=(Example("semver('1.2.3').compareTo(semver('1.2.3+build'))", "0"),),
)
def _compare_to(left: SemverValue, right: SemverValue) -> int:
    return left.version.compare(right.version)


@overload(
    "major",
    "semver_major",
    SEMVER,
    returns=INT,
    member=True,
    doc="The first number.",
    examples=(Example("semver('1.2.3').major()", "1"),),
)
def _major(value: SemverValue) -> int:
    return _int64(value.version.major)


@overload(
    "minor",
    "semver_minor",
    SEMVER,
    returns=INT,
    member=True,
    doc="The second number.",
    examples=(Example("semver('1.2.3').minor()", "2"),),
)
def _minor(value: SemverValue) -> int:
    return _int64(value.version.minor)


@overload(
    "patch",
    "semver_patch",
    SEMVER,
    returns=INT,
    member=True,
    doc="The third number.",
    examples=(Example("semver('1.2.3-rc.1').patch()", "3"),),
)
def _patch(value: SemverValue) -> int:
    return _int64(value.version.patch)


LIBRARY: Final = Library(
    "kubernetes.Semver",
    overloads=declared(globals()),
    doc="Semantic versions.",
)
