"""Faults, advisories and changes of single releases of Kyverno, and what they concern."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import Final

from chartkit.kyverno.controllers import controllers
from chartkit.kyverno.releases import BUILT_IN, ReleaseData
from chartkit.kyverno.versions import Release, Version, parse_release, parse_version
from chartkit.model import Body, Diagnostic, FieldPath, Json, Location, Resource, Severity

RULE_FAULT: Final = "CK105"
FieldSteps = tuple[str | tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Affected:
    """A range of releases: from `since`, or from the first, until before `fixed`, or on."""

    since: Release | None
    fixed: Release | None

    def __contains__(self, release: Release) -> bool:
        since, fixed = self.since, self.fixed
        return (since is None or since <= release) and (fixed is None or release < fixed)


@dataclass(frozen=True, slots=True)
class Concerned:
    """The objects that a fault or a change concerns.

    versions: of the group, none for all; kinds: `*` is any; path: a field that decides, with `*`
    for any key or item, `**` for any number of them and several keys of which one is there; empty
    where every object of the kinds counts; values: what it may be, empty where it just is there;
    mentions: texts of which one must stand in it; are: a name for them in a sentence.
    """

    group: str
    versions: frozenset[str]
    kinds: frozenset[str]
    path: FieldSteps
    values: tuple[Json, ...]
    mentions: tuple[str, ...]
    are: str

    def has(self, policy: Resource) -> bool:
        """Report whether an object is one of them."""
        group, _, version = policy.api_version.rpartition("/")
        if group != self.group or self.kinds.isdisjoint((policy.kind, "*")):
            return False
        if self.versions and version not in self.versions:
            return False
        return any(self._decides(value) for value in _values(policy.body, self.path))

    def _decides(self, value: Json) -> bool:
        if self.mentions:
            text = str(value)
            return any(mention in text for mention in self.mentions)
        return not self.values or any(value == expected for expected in self.values)


@dataclass(frozen=True, slots=True)
class KnownFault:
    """A fault of some of Kyverno's releases.

    name: the advisory, or upstream's issue; severity: as the advisory has it, may be empty;
    controller: the component whose image decides; policies: the objects that it shows with, None
    where it shows without any; text: what Kyverno does; exposure: what those can do who may create
    policies, may be empty; source: where upstream describes it.
    """

    name: str
    severity: str
    affected: tuple[Affected, ...]
    controller: str
    policies: Concerned | None
    text: str
    exposure: str
    source: str

    def is_in(self, release: Release | None) -> bool:
        """Report whether a release has the fault; of an unknown release nothing is known."""
        return release is not None and any(release in affected for affected in self.affected)

    def concerns(self, policy: Resource) -> bool:
        """Report whether the fault shows with a policy."""
        return self.policies is not None and self.policies.has(policy)

    def message(self, release: Release, policy: Resource | None = None) -> str:
        """Describe the fault, in a policy or in any."""
        advisory = f" ({self.title})" if "#" not in self.name else ""
        if policy is not None:
            return f"{policy.kind}/{policy.name}: Kyverno {release} {self.text}{advisory}"
        if self.policies is not None:
            return f"Kyverno {release} {self.text} (with {self.policies.are}){advisory}"
        exposure = f"those who may create policies can {self.exposure}"
        return f"Kyverno {release} {self.text}: {exposure}{advisory}"

    @property
    def title(self) -> str:
        """Its name, and its severity where that is known."""
        return f"{self.name}, {self.severity}" if self.severity else self.name

    def fixed_in(self, release: Release) -> Release | None:
        """Return the release without the fault that comes next; None if none is known."""
        return next((affected.fixed for affected in self.affected if release in affected), None)

    def as_change(self, release: Release) -> Change:
        """Return the fault as what a release brings that has it."""
        fixed = self.fixed_in(release)
        return Change(
            ChangeKind.FAULT,
            self.message(release),
            (self.source,),
            concerned=self.policies,
            severity=self.severity or _SEVERITIES[ChangeKind.FAULT],
            advice=f"install {fixed}, which does not" if fixed else "no release fixes it yet",
        )

    def diagnostic(self, message: str, location: Location | None, release: Release) -> Diagnostic:
        """Return a warning with the release that is without the fault, and the source."""
        fixed = self.fixed_in(release)
        hint = (
            f"{fixed} does not: {self.source}" if fixed else f"no release fixes it: {self.source}"
        )
        return Diagnostic(RULE_FAULT, Severity.WARNING, message, location, hint)


@cache
def known_faults(data: ReleaseData = BUILT_IN) -> Sequence[KnownFault]:
    """Return every known fault."""
    return tuple(map(_fault, data.section("faults")))


def faults_of(
    release: Release | None, location: Location | None, data: ReleaseData
) -> Iterator[Diagnostic]:
    """Return the faults that a later release than this one fixes, whatever policies there are."""
    for fault in known_faults(data):
        if release is not None and fault.is_in(release) and fault.fixed_in(release):
            yield fault.diagnostic(fault.message(release), location, release)


def running_release(engine: Sequence[Resource], component: str) -> Release | None:
    """Return the release that the image of a controller names among an engine's objects; None
    without such a controller, or for a tag that names no release."""
    for controller in controllers(engine):
        if controller.component == component:
            for container in controller.containers:
                image = str(container.get("image", "")).partition("@")[0]
                return parse_release(image.rpartition("/")[2].partition(":")[2])
    return None


def _values(body: Json, path: FieldSteps) -> Iterator[Json]:
    """Return each value at a path of an object."""
    if not path:
        yield body
        return
    step, *rest = path
    if step == "**":
        yield from _values(body, tuple(rest))
    if isinstance(body, dict):
        members: Sequence[tuple[str, Json]] = tuple(body.items())
    else:
        members = [("", member) for member in body] if isinstance(body, list) else ()
    for key, value in members:
        if step == "**":
            yield from _values(value, path)
        elif step == "*" or key == step or (isinstance(step, tuple) and key in step):
            yield from _values(value, tuple(rest))


def _fault(body: Body) -> KnownFault:
    return KnownFault(
        body["name"],
        body.get("severity", ""),
        tuple(
            Affected(parse_release(span.get("since")), parse_release(span.get("fixed")))
            for span in body["affected"]
        ),
        body["controller"],
        _concerned(body["policies"]) if "policies" in body else None,
        body["text"],
        body.get("exposure", ""),
        body["source"],
    )


def _concerned(body: Body) -> Concerned:
    return Concerned(
        body["group"],
        frozenset(body.get("versions", ())),
        frozenset(body["kinds"]),
        tuple(tuple(step) if isinstance(step, list) else step for step in body.get("field", ())),
        tuple(body.get("values", ())),
        tuple(body.get("mentions", ())),
        body.get("are", ""),
    )


class ChangeKind(StrEnum):
    """The type of a change; MOVED is for values, FAULT for a fault of a release."""

    ADDED = "added"
    CHANGED = "changed"
    DEPRECATED = "deprecated"
    FAULT = "fault"
    MOVED = "moved"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that a Kyverno version changes for those who run it.

    sources: the issues and pull requests that announce it; empty for a version that is released;
    release: the later release of that version that brings it, may be empty; concerned: the objects,
    None where it concerns no single ones; keys: of the chart's values, which concern those who set
    one of them, or none of them if is_default; severity: as scans have it; advice: the way out, may
    be empty; stops: whether the objects have no effect any more; state, date: of the sources.
    """

    kind: ChangeKind
    text: str
    sources: tuple[str, ...] = ()
    release: str = ""
    concerned: Concerned | None = None
    keys: tuple[FieldPath, ...] = ()
    is_default: bool = False
    severity: str = ""
    advice: str = ""
    stops: bool = False
    state: str = ""
    date: str = ""

    def __str__(self) -> str:
        state = f" ({self.announced})" if self.state else ""
        sources = f" ({', '.join(self.sources)})" if self.sources else ""
        return f"{self.kind}{state}: {self.text}{sources}"

    @property
    def sentence(self) -> str:
        """The text as a sentence by itself."""
        is_whole = self.kind in (ChangeKind.CHANGED, ChangeKind.FAULT)
        return self.text if is_whole else f"{self.kind}: {self.text}"

    @property
    def announced(self) -> str:
        """The state of its sources, as `merged, 2026-09-09`; empty for a version that is out."""
        state = "planned" if self.state == "open" else self.state
        return f"{state}, {self.date}" if state else ""

    def as_json(self) -> Body:
        """Return the change for programs."""
        body: Body = {"kind": str(self.kind), "text": self.text, "sources": list(self.sources)}
        return body | ({"state": self.state, "date": self.date} if self.state else {})


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
    announcements = (
        Announcement(parse_version(row["version"], "Kyverno"), row["advice"], _changes(row))
        for row in data.section("announced")
    )
    return MappingProxyType({announcement.version: announcement for announcement in announcements})


@cache
def refuses_legacy_policies() -> Version:
    """Return the first version whose chart refuses clusters with policies of kyverno.io."""
    return parse_version(BUILT_IN.section("legacyPoliciesRefused"), "Kyverno")


_SEVERITIES: Final = {
    ChangeKind.REMOVED: "high",
    ChangeKind.CHANGED: "medium",
    ChangeKind.FAULT: "medium",
    ChangeKind.MOVED: "medium",
    ChangeKind.DEPRECATED: "low",
    ChangeKind.ADDED: "info",
}
"""The severities of changes that have none of their own."""


def _changes(row: Body) -> tuple[Change, ...]:
    return tuple(map(_change, row["changes"]))


def _change(body: Body) -> Change:
    kind = ChangeKind(body["kind"])
    return Change(
        kind,
        body["text"],
        tuple(body.get("sources", ())),
        body.get("release", ""),
        _concerned(body["objects"]) if "objects" in body else None,
        tuple(map(tuple, body.get("keys", ()))),
        body.get("default", False),
        body.get("severity", _SEVERITIES[kind]),
        body.get("advice", ""),
        body.get("stops", False),
        body.get("state", ""),
        str(body.get("date", "")),
    )
