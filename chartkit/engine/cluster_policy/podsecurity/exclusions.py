"""Controls that a rule or an exception lifts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from chartkit.engine.cluster_policy.podsecurity.checks import CONTROLS, Chosen, find
from chartkit.engine.cluster_policy.podsecurity.finding import FieldError, Finding
from chartkit.engine.cluster_policy.podsecurity.pod import Pod
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.model import Body

Wildcards = tuple[Callable[[str], bool], ...]


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A control that is lifted: for containers of some images, or (no images) for the pod.

    checks: those of the control, as the rule asks for them; field: the only field that is
    lifted, with `*` for indices; values: wildcards that all bad values must match.
    """

    checks: Chosen
    images: Wildcards
    field: str
    values: Wildcards

    def lift(self, findings: Sequence[Finding], pod: Pod) -> list[Finding]:
        """Return the remaining findings in a pod.

        The checks are run again on what the exclusion speaks of; each field error there takes
        away the first of the same field (and container) here, and the last one takes its place.
        """
        seen = pod.only_containers(self._wanted) if self.images else pod.without_containers()
        errors = {found.check: list(found.errors or ()) for found in findings}
        for found in find(self.checks, seen):
            for lifted in found.errors or ():
                if self._lifts(lifted):
                    self._take(lifted, errors.get(found.check) or [])
        return [
            replace(found, errors=tuple(errors[found.check])) if found.errors else found
            for found in findings
            if not found.errors or errors[found.check]
        ]

    def _wanted(self, image: str) -> bool:
        return any(fits(image) for fits in self.images)

    def _lifts(self, error: FieldError) -> bool:
        if self.field and error.pattern != self.field:
            return False
        return not self.values or all(
            any(fits(value) for fits in self.values) for value in error.values
        )

    def _take(self, lifted: FieldError, errors: list[FieldError]) -> None:
        for index, error in enumerate(errors):
            if error.pattern != lifted.pattern:
                continue
            if self.images and error.container not in (None, lifted.container):
                continue
            errors[index] = errors[-1]
            errors.pop()
            return


def compile_exclusion(body: Body, chosen: Chosen) -> Exclusion:
    """The exclusion that a body of the API's schema describes, among a rule's checks."""
    ids = CONTROLS.get(body["controlName"], ())
    return Exclusion(
        checks=tuple((check, judge) for check, judge in chosen if check in ids),
        images=tuple(map(compile_wildcard, body.get("images") or ())),
        field=body.get("restrictedField") or "",
        values=tuple(map(compile_wildcard, body.get("values") or ())),
    )


def lift_all(
    exclusions: Sequence[Exclusion], findings: Sequence[Finding], pod: Pod
) -> list[Finding]:
    """Return the findings that remain after every exclusion."""
    left = list(findings)
    for exclusion in exclusions:
        left = exclusion.lift(left, pod)
    return left
