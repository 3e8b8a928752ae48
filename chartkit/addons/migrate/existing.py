"""Known objects that already violate policies, and whose updates the new ones refuse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from chartkit.addons.migrate.conversion import Conversion
from chartkit.engine import ENFORCE, Phase, Request, as_submitted, evaluate
from chartkit.engine.cluster_policy.autogen import written_name
from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.cluster_policy.exceptions import PolicyException
from chartkit.engine.cluster_policy.handler import looks_back
from chartkit.engine.cluster_policy.policy import Policy, Rule, RuleKind
from chartkit.model import Resource, Status
from chartkit.wording import counted

_REFUSED: Final = (
    "updates of {violating} of {known}, which violate already, are refused: until these are "
    "mended, set validationActions to Audit or write an exception"
)
_LENIENT: Final = frozenset((RuleKind.VALIDATE, RuleKind.POD_SECURITY))


def refuses_updates(rule: Rule, policy: Policy) -> bool:
    """Report whether a rule lets updates pass of objects that violate it already, which no policy
    in CEL does. Kyverno looks back for no rule in CEL, and for none with preconditions."""
    return rule.kind in _LENIENT and rule.preconditions is None and looks_back(rule, policy)


def with_violations(
    conversion: Conversion, objects: Sequence[Resource], exceptions: Sequence[PolicyException]
) -> Conversion:
    """Return a conversion with a change for each rule that refuses updates of some of the objects,
    since they violate it already; exceptions: from the legacy policy."""
    if not objects or not any(outcome.refuses_updates for outcome in conversion.outcomes):
        return conversion
    legacy = conversion.accepted or conversion.legacy
    # How many objects violate each rule of a policy where it refuses violations.
    policy = compile_policy(legacy, exceptions)
    violating = Counter[str]()
    for resource in map(as_submitted, objects):
        results = evaluate([policy], Request(resource), phases=(Phase.VALIDATE,))
        violating.update(
            {
                written_name(result.rule)
                for result in results
                if result.status is Status.FAIL
                and policy.action(result.rule, resource.namespace) == ENFORCE
            }
        )
    known = counted(len(objects), "known object")
    outcomes = [
        replace(outcome, changes=(*outcome.changes, _REFUSED.format(violating=count, known=known)))
        if outcome.refuses_updates and (count := violating[outcome.rule])
        else outcome
        for outcome in conversion.outcomes
    ]
    return replace(conversion, outcomes=tuple(outcomes))
