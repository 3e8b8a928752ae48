"""`validate.cel`: expressions that stay as they are."""

from __future__ import annotations

import json
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.differences import CEL_ERRORS, DELETIONS
from chartkit.addons.migrate.matching.operations import leaves_deletions_open
from chartkit.addons.migrate.matching.scope import WRITES, Condition, scope_of
from chartkit.addons.migrate.rule import ConvertedRule, Variable
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.engine.kubernetes.kinds import CelKind
from chartkit.model import Body

_KEPT: Final = ("expression", "message", "messageExpression", "reason")


def convert_cel(rule: Rule, _policy: Policy) -> ConvertedRule:
    """Return a rule with `validate.cel` as validations; raises `NotConvertible`."""
    cel: Body = rule.validate.cel or {}
    if cel.get("paramKind") or cel.get("paramRef"):
        raise NotConvertible("a ValidatingPolicy has no parameters", "validate/cel/paramKind")
    if rule.preconditions is not None or rule.context:
        raise NotConvertible("preconditions in JMESPath next to CEL", "preconditions")
    asks = "request.operation" in json.dumps([cel, rule.cel_preconditions])
    deletes = asks and leaves_deletions_open(rule)
    scope = scope_of(rule, (*WRITES, "DELETE") if deletes else WRITES)
    spec: Body = {"validations": [_validation(each, rule) for each in cel.get("expressions") or ()]}
    if cel.get("auditAnnotations"):
        spec["auditAnnotations"] = [dict(each) for each in cel["auditAnnotations"]]
    return ConvertedRule(
        CelKind.VALIDATING,
        scope,
        spec,
        tuple(Condition(each["name"], each["expression"]) for each in rule.cel_preconditions),
        tuple(Variable(each["name"], each["expression"]) for each in cel.get("variables") or ()),
        changes=(CEL_ERRORS, *((DELETIONS,) if not asks and leaves_deletions_open(rule) else ())),
    )


def _validation(body: Body, rule: Rule) -> Body:
    made = {key: body[key] for key in _KEPT if body.get(key)}
    if "message" not in made and "messageExpression" not in made:
        made["message"] = rule.validate.message or f"failed expression: {body['expression']}"
    return made
