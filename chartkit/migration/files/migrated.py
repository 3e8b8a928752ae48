"""A legacy object after its migration: what became of each rule, the proof, and its new text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from chartkit.migration.conversion import Conversion, RuleOutcome
from chartkit.migration.files.permissions import permission_notes
from chartkit.migration.plan.inventory import LegacyObject
from chartkit.migration.proof import Proof
from chartkit.model import Body, Location


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
