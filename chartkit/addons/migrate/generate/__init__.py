"""Generate rules: one module a source of what is generated. It imports its parent's modules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chartkit.addons.migrate.conditions import blocks_hold
from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions.presence import reads_absent
from chartkit.addons.migrate.generate.source import Step, loop_steps, steps_of
from chartkit.addons.migrate.jmespath import Names
from chartkit.addons.migrate.matching.facts import Operations, operations_in
from chartkit.addons.migrate.matching.scope import (
    WRITES,
    Condition,
    names_of,
    operations_of,
    scope_of,
)
from chartkit.addons.migrate.rule import ConvertedRule, context_of
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax.tree import Call, children
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.engine.context.variables.syntax import has_references
from chartkit.engine.kubernetes.kinds import CelKind
from chartkit.model import Body

__all__ = ["convert_generate"]

_ACCOUNT: Final = "parseServiceAccount"
_KEPT: Final = (
    "before the old policy is deleted, set orphanDownstreamOnPolicyDelete: true in its rule: "
    "Kyverno deletes what it generated otherwise"
)
_SYNCHRONIZED: Final = (
    "an object of that name that is there already, and that the policy did not generate, is left "
    "as it is: the rule wrote over it",
    "releases with the fault kyverno/kyverno#17594 delete and re-create every hour what a "
    "GeneratingPolicy with synchronize generated; check-compat names them",
    "an update of the trigger that changes nothing may delete what was generated "
    "(kyverno/kyverno#17452)",
    "an update of the trigger may come to nothing: Kyverno sometimes takes its own change of "
    "what was generated for a user's, and reverts it",
)
_ONCE: Final = (
    "an update of the trigger writes what was generated again, over changes made to it since: the "
    "rule wrote it once",
)
_WITHOUT_OPERATION: Final = (
    "generateExisting stays without effect, as the rule names operations and existing objects have "
    "none"
)


def convert_generate(rule: Rule, policy: Policy) -> ConvertedRule:
    """Return a generate rule as what a GeneratingPolicy generates; raises `NotConvertible`."""
    if has_references(rule.body):
        raise NotConvertible("a reference to another part of the policy")
    body: Body = rule.generate or {}
    stated = operations_in(rule.preconditions)
    scope = scope_of(rule, [name for name in stated.allowed if name in WRITES])
    if not operations_of(scope) <= set(WRITES):
        raise NotConvertible("it generates where something is deleted or connected to", "match")
    context = context_of(rule.context, names_of(scope), policy.namespace)
    conditions: tuple[Condition, ...] = ()
    if stated.rest is not None:
        conditions = (
            Condition(
                "preconditions", blocks_hold(stated.rest, context.of_conditions, stated.preceding)
            ),
        )
    steps = [*_steps(body, policy, context.names)]
    named = [each for step in steps for each in step.expressions]
    sources = tuple({each.name: each for step in steps for each in step.variables}.values())
    named += [each.expression for each in sources if not isinstance(each.expression, str)]
    for each in (*named, *(one.expression for one in conditions)):
        if not isinstance(each, str) and _calls(each, _ACCOUNT):
            raise NotConvertible("a GeneratingPolicy cannot tell the service account of a user")
    evaluation, changes = _evaluation(body, rule, policy, stated)
    spec: Body = {
        **({"evaluation": evaluation} if evaluation else {}),
        **({"useServerSideApply": True} if _applies_at_server(policy) else {}),
        "generate": [step.body for step in steps],
    }
    return ConvertedRule(
        CelKind.GENERATING,
        scope,
        spec,
        conditions,
        (*context.used_in(named), *sources),
        changes=(*changes, *context.names.changes),
        background=stated.background,
        assumed=scope.object.assumed or {},
        may_fail=bool(sources or context.used_in(named))
        or any(reads_absent(each, scope.object) for each in named),
    )


def _calls(expr: Expr, function: str) -> bool:
    is_call = isinstance(expr, Call) and expr.function == function
    return is_call or any(_calls(each, function) for each in children(expr))


def _steps(body: Body, policy: Policy, names: Names) -> Iterator[Step]:
    if body.get("foreach") is None:
        yield from steps_of(body, names, policy.namespace)
        return
    for index, loop in enumerate(body["foreach"]):
        yield from loop_steps(loop, names, policy.namespace, f"generate/foreach/{index}")


def _applies_at_server(policy: Policy) -> bool:
    return policy.resource.body["spec"].get("useServerSideApply") is True


def _evaluation(
    body: Body, rule: Rule, policy: Policy, stated: Operations
) -> tuple[Body, list[str]]:
    """Return the settings, and the behaviour that differs."""
    made: Body = {}
    changes: list[str] = []
    existing = body.get("generateExisting")
    if existing is None:
        existing = policy.resource.body["spec"].get("generateExisting")
    filters = (rule.match.direct, *rule.match.any, *rule.match.all)
    if existing and stated.background and not any(each.operations for each in filters):
        made["generateExisting"] = {"enabled": True}
    elif existing:
        changes.append(_WITHOUT_OPERATION)
    orphans = body.get("orphanDownstreamOnPolicyDelete") is True
    if body.get("synchronize") is True:
        made["synchronize"] = {"enabled": True}
        changes += (*_SYNCHRONIZED, *([] if orphans else [_KEPT]))
    else:
        changes += _ONCE
    if orphans:
        made["orphanDownstreamOnPolicyDelete"] = {"enabled": True}
    if not rule.skip_background_requests:
        made["skipBackgroundRequests"] = False
    return made, changes
