"""Faults of single releases of Kyverno, and what they concern."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from chartkit.kyverno import releases
from chartkit.kyverno.controllers import CONTROLLERS, controllers
from chartkit.kyverno.versions import Release, parse_release
from chartkit.model import (
    Body,
    Diagnostic,
    Explanation,
    Json,
    Location,
    Resource,
    Severity,
    mapping_at,
    mappings_at,
)

RULE_FAULT: Final = "CK105"
_EXPLANATIONS = (
    Explanation(
        RULE_FAULT,
        what="A release of Kyverno with a fault that a later release fixes.",
        why=(
            "The message says what the fault does. It affects only some policies; `chartkit "
            "render` names those that are installed."
        ),
        do="Install the release that the hint names, or avoid what the fault affects.",
    ),
)


@dataclass(frozen=True, slots=True)
class KnownFault:
    """A fault of Kyverno from one release until another.

    since, fixed: the first release that has it, and the first that does not; controller: the
    component whose image decides; kinds, path, value: the policies that it concerns, and `are`
    their name in a sentence; text: what Kyverno does; source: where upstream describes it.
    """

    since: Release
    fixed: Release
    controller: str
    kinds: frozenset[str]
    path: tuple[str, ...]
    value: Json
    are: str
    text: str
    source: str

    def is_in(self, release: Release | None) -> bool:
        """Return whether a release has the fault; of an unknown release nothing is known."""
        return release is not None and self.since <= release < self.fixed

    def concerns(self, policy: Resource) -> bool:
        """Return whether the fault shows with a policy."""
        *parents, last = self.path
        found = mapping_at(policy.body, *parents).get(last)
        return policy.kind in self.kinds and found == self.value

    @property
    def image_path(self) -> tuple[str, ...]:
        """The path in the chart's values of the image tag that decides."""
        return CONTROLLERS[self.controller], "image", "tag"

    def diagnostic(self, message: str, place: Location | None) -> Diagnostic:
        """Return a warning with the release that is without the fault, and the source."""
        hint = f"{self.fixed} does not: {self.source}"
        return Diagnostic(RULE_FAULT, Severity.WARNING, message, place, hint)


@cache
def known_faults() -> Sequence[KnownFault]:
    """Return every known fault."""
    return tuple(map(_fault, releases.section("faults")))


def faults_of(release: Release | None, place: Location | None) -> Iterator[Diagnostic]:
    """Return what a release is known for, whatever policies there are."""
    for fault in known_faults():
        if fault.is_in(release):
            yield fault.diagnostic(f"Kyverno {release} {fault.text}, of {fault.are}", place)


def running_release(engine: Sequence[Resource], component: str) -> Release | None:
    """Return the release that the image of a controller names among an engine's objects.

    None where there is no such controller, or its tag names no release.
    """
    for controller in controllers(engine):
        if controller.component == component:
            template = ("spec", "template", "spec")
            for container in mappings_at(controller.deployment.body, *template, "containers"):
                image = str(container.get("image", "")).partition("@")[0]
                return parse_release(image.rpartition("/")[2].partition(":")[2])
    return None


def _fault(body: Body) -> KnownFault:
    policies = body["policies"]
    return KnownFault(
        _release(body["since"]),
        _release(body["fixed"]),
        body["controller"],
        frozenset(policies["kinds"]),
        tuple(policies["field"]),
        policies["value"],
        policies["are"],
        body["text"],
        body["source"],
    )


def _release(text: str) -> Release:
    major, minor, patch = map(int, text.split("."))
    return Release(major, minor, patch)
