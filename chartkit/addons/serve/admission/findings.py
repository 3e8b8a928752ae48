"""The findings of policies in a review, and the decision that follows from them.

Reviews that are equal in all that policies read share both: only the name of the object in a
denial is each review's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.addons.serve.admission import denials
from chartkit.addons.serve.admission.review import Answer
from chartkit.addons.serve.admission.served_policies import FAIL, is_cel
from chartkit.engine import ENFORCE, Request, RunnablePolicy
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.model import Resource, RuleResult, Status

ALLOWED: Final = Answer(allowed=True)
DENY: Final = "Deny"
WARN: Final = "Warn"


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The results of one policy, and the seconds that they took: none for those of an equal
    review."""

    policy: RunnablePolicy
    results: Sequence[RuleResult]
    seconds: float


@dataclass(slots=True, eq=False)
class Findings:
    """The results of policies, each of which a rule matched. is_shared: whether they are those of
    an equal review; decision: what they decide, once it is known."""

    evaluated: Sequence[Evaluated]
    is_shared: bool = False
    decision: Decision | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision of validating policies about an object. failures: of ClusterPolicies that
    refuse, as YAML, empty where none does; denials: of CEL policies, on one line; warnings: for the
    user."""

    failures: str
    denials: str
    warnings: Sequence[str]

    def answer(self, resource: Resource) -> Answer:
        """Return the answer to the review of an object."""
        if not (self.failures or self.denials or self.warnings):
            return ALLOWED
        blocked = denials.blocked(resource, self.failures) if self.failures else ""
        message = "\n".join(filter(None, (blocked, self.denials)))
        return Answer(not message, message, self.warnings)


def decided(evaluated: Iterable[Evaluated], request: Request, failure: str) -> Decision:
    """Return what results decide of a request; failure: the failure policy of those that
    enforce."""
    old: list[Evaluated] = []
    new: list[Evaluated] = []
    for each in evaluated:
        (new if is_cel(each.policy) else old).append(each)
    failures = ""
    if any(refuses(each, request, failure) for each in old):
        failures = denials.failures([result for each in old for result in each.results])
    denying = [line for each in new if acts(each, DENY) for line in denials.by_cel(each.results)]
    warnings = [line for each in new if acts(each, WARN) for line in denials.by_cel(each.results)]
    return Decision(failures, "; ".join(denying), warnings)


def refuses(found: Evaluated, request: Request, failure: str) -> bool:
    """Return whether results of a ClusterPolicy refuse an object (`pkg/utils/engine`)."""
    for each in found.results:
        if each.status is Status.ERROR and failure == FAIL:
            return True
        if each.status is Status.FAIL:
            namespace, labels = request.resource.namespace, request.namespace_labels
            if found.policy.action(each.rule, namespace, labels) == ENFORCE:
                return True
    return False


def acts(found: Evaluated, action: str) -> bool:
    """Return whether a failure of a CEL policy has an effect; without any, it denies."""
    policy = found.policy.policy
    actions = policy.actions if isinstance(policy, CelPolicy) else ()
    return action in (actions or (DENY,))
