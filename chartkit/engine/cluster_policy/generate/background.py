"""Generate rules that Kyverno takes for itself in the background, and then leaves out.

What restores a generated object, or generates for objects that were there before, is no request
and has no operation: a match that names operations does not hold for it. Kyverno takes such a rule
and drops what the background asks of it (`pkg/engine/utils/match.go`).
"""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.engine.cluster_policy.policy import Match, Policy, Rule
from chartkit.model import Diagnostic, Explanation, Severity

_ID = "CK520"
_EXPLANATIONS = (
    Explanation(
        _ID,
        what="A generate rule with synchronize or generateExisting whose match names operations.",
        why=(
            "Background processing has no operation: Kyverno accepts the rule and does not apply "
            "it there."
        ),
        do=(
            "Remove operations. To tell requests apart, use a precondition on request.operation "
            "that also holds for an empty one."
        ),
    ),
)
_HINT = (
    "leave out operations, and ask for them in a precondition that holds without one, too: "
    "key \"{{ request.operation || 'BACKGROUND' }}\", operator AnyIn, value [CREATE, BACKGROUND]"
)


def unmatched_in_background(policy: Policy) -> Iterator[Diagnostic]:
    """A warning for each rule whose `synchronize` or `generateExisting` does nothing, as its match
    names operations."""
    spec = policy.resource.body.get("spec") or {}
    for rule in policy.rules:
        switches = list(_background_switches(rule, spec.get("generateExisting") is True))
        if switches and _needs_operation(rule.match):
            what = " and ".join(switches)
            message = (
                f"{policy.key}: rule {rule.name}: {what} without effect: match names operations, "
                "and what Kyverno does in the background has none"
            )
            yield Diagnostic(_ID, Severity.WARNING, message, rule.location, _HINT)


def _background_switches(rule: Rule, existing: bool) -> Iterator[str]:
    if rule.generate is None:
        return
    if rule.generate.get("synchronize") is True:
        yield "synchronize"
    own = rule.generate.get("generateExisting")
    if own is True or (own is None and existing):
        yield "generateExisting"


def _needs_operation(match: Match) -> bool:
    """Return whether there are objects that a match takes only with an operation."""
    if match.direct.operations or any(one.operations for one in match.all):
        return True
    free = {kind for one in match.any if not one.operations for kind in one.kinds}
    return any(one.operations and not free.issuperset(one.kinds) for one in match.any)
