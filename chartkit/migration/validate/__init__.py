"""Validate rules: one module a way of saying what must hold. It imports its parent's modules."""

from __future__ import annotations

from chartkit.engine.cel.syntax import build as cel
from chartkit.engine.cel_policies.policy import CelKind
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.migration.conversion import NotConvertible
from chartkit.migration.rule import ConvertedRule
from chartkit.migration.scope import Scope, scope_of
from chartkit.migration.validate.containers import one_loop_for_all_containers
from chartkit.migration.validate.pattern import any_pattern_verdict, pattern_verdict
from chartkit.migration.verdict import Verdict, conjunction, is_presence
from chartkit.model import Body

__all__ = ["convert_validate"]


def convert_validate(rule: Rule, _policy: Policy) -> ConvertedRule:
    """Return a validate rule as validations; raises `NotConvertible`."""
    scope = scope_of(rule)
    if rule.preconditions is not None:
        raise NotConvertible("preconditions are not converted yet", "preconditions")
    if rule.context:
        raise NotConvertible("context entries are not converted yet", "context")
    validation = rule.validate
    if validation.deny is None and validation.pattern is not None:
        verdict = pattern_verdict(validation.pattern, scope.object)
        return _validating(scope, verdict, validation.message)
    if validation.deny is None and validation.any_pattern is not None:
        return _validating(
            scope, any_pattern_verdict(validation.any_pattern, scope.object), validation.message
        )
    raise NotConvertible("this validate rule is not converted yet", "validate")


def _validating(scope: Scope, verdict: Verdict, message: str) -> ConvertedRule:
    if verdict.allows == cel.TRUE:
        raise NotConvertible("the rule can never refuse anything", "validate")
    if "{{" in message:
        raise NotConvertible("a variable in the message", "validate/message")
    facts, variables = one_loop_for_all_containers(verdict.allows)
    if any(map(is_presence, facts)):
        # What is looked at next depends on it: one validation says both.
        facts = [conjunction(*facts)]
    validations = [{"message": message, "expression": each} for each in facts]
    spec: Body = {"validations": validations}
    return ConvertedRule(CelKind.VALIDATING, scope, spec, variables=variables)
