"""A legacy object after its migration: what became of each rule, the proof, and its new text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from chartkit.addons.migrate.conversion import Conversion, RuleOutcome
from chartkit.addons.migrate.plan.inventory import LegacyObject
from chartkit.addons.migrate.proof import Proof
from chartkit.charts.rbac.permissions import needs
from chartkit.charts.rbac.requirements import SECRETS_NOTE, Controller, Needs
from chartkit.model import Body, Location

_UNREADY: Final = (
    "Kyverno's reports controller may not read {resources} by its chart: until it may (get, list, "
    "watch), background scans report nothing of them, and the new policy, which judges requests "
    "all the same, has ready: false"
)
_MORE: Final = "Kyverno's {controller} must be allowed to {verbs} {resource}"
_Right = tuple[Controller, str, str]


@dataclass(frozen=True, slots=True)
class MigratedObject:
    """A legacy object and what replaces it.

    conversion: None for an object that is left whole; reason: why it is; proof: None where nothing
    was proved; allowed: the reason for which its differences are taken.
    """

    legacy: LegacyObject
    conversion: Conversion | None
    reason: str = ""
    proof: Proof | None = None
    allowed: str = ""

    @property
    def differs(self) -> bool:
        """Return whether both forms differ, or were never seen to decide anything, and nobody has
        said that they may."""
        return bool(self.fault) and not self.allowed

    @property
    def fault(self) -> str:
        """The reason why the proof does not hold; empty where it does or there is none."""
        if self.proof is None or self.proof.equal:
            return ""
        if any(one.stored for one in self.proof.differences):
            return "the proof found a difference between both forms"
        return "not proved: no request made either form decide (--allow-difference takes it)"

    @property
    def documents(self) -> Sequence[Body]:
        """The new objects; none of a policy whose forms differ, which stays as it is."""
        return () if self.conversion is None or self.differs else self.conversion.documents

    @property
    def needs(self) -> Sequence[str]:
        """Return what Kyverno's controllers must be allowed for the new objects."""
        return permission_notes(self.legacy.resource.body, self.documents)

    @property
    def outcomes(self) -> Sequence[RuleOutcome]:
        """Return the outcome of each rule, in their order."""
        if self.conversion is None:
            return [
                RuleOutcome(
                    rule.name, rule.type, Location("", path=rule.pointer), reason=self.reason
                )
                for rule in self.legacy.rules
            ]
        if not self.differs:
            return self.conversion.outcomes
        return [
            replace(one, reason=self.fault, replaced_by=(), changes=()) if one.converted else one
            for one in self.conversion.outcomes
        ]

    @property
    def remaining(self) -> Body | None:
        """The legacy object with the rules that are left, None where none is."""
        if self.conversion is None or self.differs:
            return self.legacy.resource.body
        return self.conversion.remaining

    @property
    def is_whole(self) -> bool:
        """Return whether nothing of it is left to be done by hand."""
        return self.remaining is None

    def locate(self, outcome: RuleOutcome) -> Location:
        """Return the place of a rule, or of the part of it that has no form."""
        return self.legacy.locate(outcome.location.path)


def permission_notes(legacy: Body, documents: Sequence[Body]) -> list[str]:
    """Return what Kyverno's controllers must be allowed for new policies, beyond what its chart
    gives them and what the old policy needed."""
    if not documents:
        return []
    old, new = needs([legacy]), needs(documents)
    return [*_more(old, new), *_unready(new)]


def _more(old: Needs, new: Needs) -> Iterator[str]:
    had: dict[_Right, set[str]] = {}
    for one in old.permissions:
        had.setdefault((one.controller, one.group, one.resource), set()).update(one.verbs)
    for one in new.permissions:
        right = one.controller, one.group, one.resource
        verbs = [verb for verb in one.verbs if verb not in had.get(right, ())]
        if verbs and not one.scan:
            controller = one.controller.value.replace("-", " ")
            resource = _shown(one.group, one.resource)
            yield _MORE.format(controller=controller, verbs=", ".join(verbs), resource=resource)


def _unready(new: Needs) -> Iterator[str]:
    unread = [_shown(one.group, one.resource) for one in new.permissions if one.scan]
    if any(one.message == SECRETS_NOTE for one in new.unknown):
        unread.append("secrets")
    if unread:
        yield _UNREADY.format(resources=", ".join(dict.fromkeys(unread)))


def _shown(group: str, resource: str) -> str:
    return f"{resource}.{group}" if group else resource
