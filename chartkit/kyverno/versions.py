"""Versions of Kyverno and Kubernetes, as people and clusters write them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from chartkit.errors import InputError
from chartkit.model import Location

_VERSION = re.compile(
    r"v?(\d{1,3})\.(\d{1,3})(?:\.(\d{1,4})|\.[xX*])?([-+][0-9A-Za-z.+_-]{1,100})?"
)

_PRE_RELEASE = re.compile(r"-(alpha|beta|rc)\b")


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """A minor version of Kyverno or Kubernetes; ordered, and printed as `1.29`."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"

    @property
    def number(self) -> int:
        """A number that orders, for templates: 1012 for 1.12."""
        return self.major * 1000 + self.minor

    def next_minor(self) -> Version:
        """The minor version after this one."""
        return Version(self.major, self.minor + 1)


@dataclass(frozen=True, slots=True, order=True)
class Release:
    """A release with its patch number; ordered, and printed as `1.19.0`."""

    major: int
    minor: int
    patch: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"

    @property
    def minor_version(self) -> Version:
        """The version that it is a release of."""
        return Version(self.major, self.minor)


def parse_release(text: object) -> Release | None:
    """Return the release in `1.19.0` or `v1.19.0-fips`; None where no final release is named."""
    match = _VERSION.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None or match[3] is None or _PRE_RELEASE.match(match[4] or ""):
        return None
    return Release(int(match[1]), int(match[2]), int(match[3]))


def parse_version(text: object, subject: str, location: Location | None = None) -> Version:
    """The minor version in `1.29`, `1.29.x`, `v1.29.3` or `v1.29.3-eks-ad4801`. subject: whose
    version it is, for the message; raises InputError for anything else."""
    match = _VERSION.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        shown = text if isinstance(text, str) else repr(text)
        forms = "1.17 or 1.17.3" if subject == "Kyverno" else "1.29, v1.29.3 or v1.29.3-eks-ad4801"
        hint = f"write it as {forms}"
        raise InputError(f"'{shown}' is not a version of {subject}", location, hint)
    return Version(int(match[1]), int(match[2]))
