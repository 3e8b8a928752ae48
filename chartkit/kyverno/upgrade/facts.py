"""Changes that each Kyverno version brings, and how long EKS supports a Kubernetes version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import cache
from types import MappingProxyType

from chartkit.kyverno import releases
from chartkit.kyverno.versions import Version, parse_version
from chartkit.model import Body


class ChangeKind(StrEnum):
    """The type of a change; MOVED is for values."""

    ADDED = "added"
    CHANGED = "changed"
    DEPRECATED = "deprecated"
    MOVED = "moved"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that a Kyverno version changes for those who run it."""

    kind: ChangeKind
    text: str


@dataclass(frozen=True, slots=True)
class EksSupport:
    """A Kubernetes version on Amazon EKS: the days on which its standard support, without extra
    cost, and its extended support end."""

    kubernetes: Version
    released: date
    standard: date
    extended: date

    def ended(self, today: date) -> str:
        """Return the support that has ended: empty, `standard` or `extended`."""
        if today >= self.extended:
            return "extended"
        return "standard" if today >= self.standard else ""


@cache
def changes() -> Mapping[Version, Sequence[Change]]:
    """Return the changes of each Kyverno version."""
    return MappingProxyType(
        {
            parse_version(row["version"], "Kyverno"): tuple(
                Change(ChangeKind(each["kind"]), each["text"]) for each in row["changes"]
            )
            for row in releases.section("kyverno")
            if "changes" in row
        }
    )


@cache
def eks_support() -> Mapping[Version, EksSupport]:
    """The Kubernetes versions that EKS has or had, oldest first."""
    rows = [_support(row) for row in releases.section("eks")]
    return MappingProxyType({row.kubernetes: row for row in rows})


def _support(row: Body) -> EksSupport:
    days = [
        date.fromisoformat(row[key]) for key in ("released", "standardSupport", "extendedSupport")
    ]
    return EksSupport(parse_version(row["version"], "Kubernetes"), *days)
