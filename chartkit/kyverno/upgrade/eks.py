"""The days until which EKS supports a Kubernetes version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from types import MappingProxyType

from chartkit.kyverno.releases import BUILT_IN, ReleaseData
from chartkit.kyverno.versions import Version, parse_version
from chartkit.model import Body


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
def eks_support(data: ReleaseData = BUILT_IN) -> Mapping[Version, EksSupport]:
    """The Kubernetes versions that EKS has or had, oldest first."""
    rows = [_support(row) for row in data.section("eks")]
    return MappingProxyType({row.kubernetes: row for row in rows})


def _support(row: Body) -> EksSupport:
    days = [
        date.fromisoformat(row[key]) for key in ("released", "standardSupport", "extendedSupport")
    ]
    return EksSupport(parse_version(row["version"], "Kubernetes"), *days)
