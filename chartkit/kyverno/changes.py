"""Changes that each Kyverno version brings: the released ones, and those that are announced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from types import MappingProxyType

from chartkit.kyverno.releases import BUILT_IN, ReleaseData
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
    """One thing that a Kyverno version changes for those who run it.

    sources: the issues and pull requests that announce it; empty for a version that is released;
    release: the later release of that version that brings it, may be empty.
    """

    kind: ChangeKind
    text: str
    sources: tuple[str, ...] = ()
    release: str = ""

    def __str__(self) -> str:
        sources = f" ({', '.join(self.sources)})" if self.sources else ""
        return f"{self.kind}: {self.text}{sources}"

    def as_json(self) -> Body:
        """Return the change for programs."""
        return {"kind": str(self.kind), "text": self.text, "sources": list(self.sources)}


@dataclass(frozen=True, slots=True)
class Announcement:
    """A Kyverno version that is announced and not released; advice: what to do before it comes."""

    version: Version
    advice: str
    changes: tuple[Change, ...]

    def __str__(self) -> str:
        return f"Kyverno {self.version} is announced and not yet released"


@cache
def changes(data: ReleaseData = BUILT_IN) -> Mapping[Version, Sequence[Change]]:
    """Return the changes of each released Kyverno version."""
    return MappingProxyType(
        {
            parse_version(row["version"], "Kyverno"): _changes(row)
            for row in data.section("kyverno")
            if "changes" in row
        }
    )


@cache
def announced(data: ReleaseData = BUILT_IN) -> Mapping[Version, Announcement]:
    """Return the Kyverno versions that are announced, oldest first."""
    found = (
        Announcement(parse_version(row["version"], "Kyverno"), row["advice"], _changes(row))
        for row in data.section("announced")
    )
    return MappingProxyType({each.version: each for each in found})


@cache
def refuses_legacy_policies() -> Version:
    """Return the first version whose chart refuses clusters with policies of kyverno.io."""
    return parse_version(BUILT_IN.section("legacyPoliciesRefused"), "Kyverno")


def _changes(row: Body) -> tuple[Change, ...]:
    return tuple(
        Change(
            ChangeKind(each["kind"]),
            each["text"],
            tuple(each.get("sources", ())),
            each.get("release", ""),
        )
        for each in row["changes"]
    )
