"""The webhooks of policies, and which requests an API server sends to them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from chartkit.addons.serve.admission.webhooks.cluster_policies import VALIDATING, filters_of
from chartkit.addons.serve.admission.webhooks.configurations import policy_webhooks
from chartkit.addons.serve.admission.webhooks.webhook import PolicyWebhook, Scope
from chartkit.engine import RunnablePolicy
from chartkit.engine.cel_policies.attributes import Attributes
from chartkit.engine.cel_policies.constraints import Constraints
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.cel_policies.reader import read_constraints
from chartkit.engine.cluster_policy.policy import Rule, RuleKind
from chartkit.engine.kubernetes.kinds import UNKNOWN, CustomNames
from chartkit.errors import EvaluationError
from chartkit.model import Json, list_of


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook of Kyverno; name: as in its configuration; policies: those that it is for."""

    name: str
    policies: list[str]
    constraints: Constraints

    def is_sent(self, attributes: Attributes) -> bool:
        """Return whether an API server sends a request to it."""
        try:
            return self.constraints.match(attributes)
        except EvaluationError:
            return True  # Kubernetes refuses the selector; nothing is left out by it.


def webhooks(
    policies: Iterable[RunnablePolicy], names: CustomNames = UNKNOWN, only_writes: bool = False
) -> list[Webhook]:
    """Return the webhooks of policies; names: of custom kinds; only_writes: as if rules that judge
    writes alone named CREATE and UPDATE where they name no operation."""
    scope = Scope(names=names, in_background=True)
    if only_writes:
        scope = replace(scope, judges_writes=_judges_writes_alone)
    return [_webhook(each) for each in policy_webhooks(policies, scope)]


def _webhook(made: PolicyWebhook) -> Webhook:
    constraints = read_constraints(
        {
            "resourceRules": made.rules,
            "namespaceSelector": made.namespaces,
            "objectSelector": made.objects,
        }
    )
    assert constraints is not None
    return Webhook(made.name, [*made.policies], Constraints(constraints))


def names_no_operation(policy: RunnablePolicy) -> bool:
    """Return whether Kyverno is asked about deletions for a rule that judges writes alone, and
    names no operation."""
    parsed = policy.policy
    if isinstance(parsed, CelPolicy) or not parsed.admission:
        return False
    rules = filter(_judges_writes_alone, parsed.rules)
    return any(one.kinds and not one.operations for rule in rules for one in filters_of(rule.match))


def _judges_writes_alone(rule: Rule) -> bool:
    """Return whether Kyverno passes over deletions for a rule: those with patterns look at what an
    object will be, and a precondition may say so."""
    if rule.kind not in VALIDATING:
        return False
    if rule.kind in (RuleKind.POD_SECURITY, RuleKind.MANIFESTS):
        return True
    given = rule.validate
    has_pattern = given.pattern is not None or given.any_pattern is not None
    return (has_pattern and given.deny is None) or _leaves_out_deletions(rule.preconditions)


def _leaves_out_deletions(preconditions: Json) -> bool:
    """Return whether preconditions are that the operation is no DELETE."""
    if isinstance(preconditions, dict):
        preconditions = preconditions.get("all")
    return any(
        "request.operation" in str(one.get("key"))
        and str(one.get("operator")).startswith(("NotEqual", "NotIn", "AnyNotIn", "AllNotIn"))
        and one.get("value") in ("DELETE", ["DELETE"])
        for one in list_of(preconditions)
        if isinstance(one, dict)
    )


def matches_everything(policy: RunnablePolicy) -> bool:
    """Return whether a policy names every kind (`*`), so that Kyverno is asked about all."""
    parsed = policy.policy
    if isinstance(parsed, CelPolicy):
        rules = parsed.constraints.rules if parsed.constraints else ()
        return parsed.admission and any("*" in one.resources for one in rules)
    kinds = (kind for rule in parsed.rules for kind in rule.match.kinds)
    return parsed.admission and any(kind.rpartition("/")[2] == "*" for kind in kinds)
