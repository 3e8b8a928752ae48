"""Validate rules: one module a way of saying what must hold. It imports its parent's modules."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Final

from chartkit.addons.migrate.conditions import conditions_met, may_fail
from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.differences import (
    DELETIONS,
    NEVER_REFUSES,
    PASSES_ERRORS,
    REFUSES_ALL,
)
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.presence import asking_once
from chartkit.addons.migrate.expressions.verdict import as_bool, conjunction, is_guard
from chartkit.addons.migrate.jmespath import Names
from chartkit.addons.migrate.matching.facts import (
    Operations,
    blocks_of,
    leaves_deletions_open,
    operations_in,
)
from chartkit.addons.migrate.matching.scope import Scope, names_of, scope_of, written_or_connected
from chartkit.addons.migrate.rule import ConvertedRule, Variable, context_of, preconditions_of
from chartkit.addons.migrate.texts import text_of
from chartkit.addons.migrate.validate.cel_rule import with_variables
from chartkit.addons.migrate.validate.deny import denial_texts, denied, every_element
from chartkit.addons.migrate.validate.extension import (
    named_apart,
    of_extended_pods,
    require_one_extension,
    with_template_metadata,
)
from chartkit.addons.migrate.validate.pattern import any_pattern_verdict, pattern_verdict
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax.tree import Call, Chain, Ident, Select, replaced
from chartkit.engine.cluster_policy import autogen
from chartkit.engine.cluster_policy.policy import Policy, Rule, Validation
from chartkit.engine.context.variables import has_references
from chartkit.engine.kubernetes.kinds import CelKind
from chartkit.model import Body

__all__ = ["convert_validate"]
_LISTS: Final = ("containers", "initContainers", "ephemeralContainers")
_NAME: Final = "allContainers"
_VARIABLE: Final = "container"


def convert_validate(rule: Rule, policy: Policy) -> ConvertedRule:
    """Return a validate rule as validations; raises `NotConvertible`."""
    if has_references(rule.body):
        raise NotConvertible("a reference to another part of the policy")
    require_one_extension(rule, policy)
    stated = operations_in(rule.preconditions)
    deletions = _refuses_deletions(rule, policy, stated)
    operations = written_or_connected(rule, stated.allowed)
    operations += [name for name in stated.allowed if deletions and name == "DELETE"]
    scope = of_extended_pods(scope_of(rule, operations), policy)
    scope = replace(scope, object=replace(scope.object, validated=True))
    is_extended = bool(autogen.controllers(policy))
    context = context_of(rule.context, names_of(scope, is_extended=is_extended), policy.namespace)
    names = context.names
    conditions = preconditions_of(stated, context)
    expression = _expression(rule.validate, scope, names, policy.namespace)
    conditions_ = (rule.validate.deny or {}).get("conditions")
    if conditions_ and _lets_errors_through(rule, policy) and may_fail(conditions_, names):
        names.note(PASSES_ERRORS)
        expression = cel.negate(conditions_met(conditions_, names))
    if expression == cel.TRUE:
        if rule.validate.deny is None:
            raise NotConvertible("the rule can never refuse anything", "validate")
        names.note(NEVER_REFUSES)
    if rule.validate.deny is None and _refuses_all(expression):
        names.note(REFUSES_ALL)
    facts, variables = one_loop_for_all_containers(asking_once(expression))
    if any(map(is_guard, facts)):
        # What is looked at next depends on it: one validation says both.
        facts = [conjunction(*facts)]
    message = _message(rule, names)
    loops = [item.expression for item in variables if not isinstance(item.expression, str)]
    loops += [text for text in message.values() if not isinstance(text, str)]
    validations = [{**message, "expression": as_bool(fact)} for fact in facts]
    converted = ConvertedRule(
        CelKind.VALIDATING,
        scope,
        {"validations": validations},
        conditions,
        (*context.used_in([*facts, *loops]), *variables),
        background=stated.background,
        changes=(*_changes(rule, deletions), *names.changes),
        assumed=scope.object.assumed or {},
    )
    rules = scope.object.child("rules")
    if rules.may_be_null:
        converted = named_apart(converted, "rules", rules.or_value([]))
    return with_template_metadata(converted)


def _lets_errors_through(rule: Rule, policy: Policy) -> bool:
    """Report whether a rule that denies lets through what it cannot evaluate."""
    spec = policy.resource.body["spec"]
    webhook = spec.get("webhookConfiguration") or {}
    action = rule.body.get("validate", {}).get("failureAction")
    return (webhook.get("failurePolicy") or spec.get("failurePolicy")) == "Ignore" and str(
        action or spec.get("validationFailureAction")
    ).lower() == "enforce"


def _expression(validation: Validation, scope: Scope, names: Names, namespace: str) -> Expr:
    if validation.deny is not None:
        return cel.negate(denied(validation.deny, names))
    if validation.pattern is not None:
        pattern = with_variables(validation.pattern, names)
        return pattern_verdict(pattern, scope.object).allows
    if validation.any_pattern is not None:
        patterns = with_variables(validation.any_pattern, names)
        return any_pattern_verdict(patterns, scope.object).allows
    if validation.foreach:
        return conjunction(*every_element(validation.foreach, names, namespace))
    raise NotConvertible("a validate rule that says nothing", "validate")


def _refuses_all(expression: Expr) -> bool:
    """Report whether an expression accepts nothing, or nothing with an element in some list."""
    match expression:
        case Chain("&&", terms):
            return any(map(_refuses_all, terms))
        case Call("all", _, (_, body)):
            return _refuses_all(body)
    return expression == cel.FALSE


def _changes(rule: Rule, deletions: bool | None) -> tuple[str, ...]:
    # A list that is not the object's is there when it is deleted, too.
    judged = rule.validate.deny is not None or any(
        "deny" in loop and "request.object" not in str(loop.get("list"))
        for loop in rule.validate.foreach or ()
    )
    is_settled = deletions if rule.validate.deny is None else deletions is not None
    if not judged or is_settled or not leaves_deletions_open(rule):
        return ()
    return (DELETIONS,)


def _refuses_deletions(rule: Rule, policy: Policy, stated: Operations) -> bool | None:
    """Report whether a deny about operations, in preconditions or in its own conditions, may refuse
    a deletion; None for another deny, and where it is unknown."""
    if rule.validate.deny is None or stated.stated:
        return stated.stated
    conditions = rule.validate.deny.get("conditions")
    if not conditions:
        return None
    denied_at = operations_in(conditions)
    if denied_at.stated:
        return "DELETE" in denied_at.allowed
    blocks = blocks_of(conditions)
    asked = [(entry.key, entry.value) for entry in (*(blocks.any or ()), *(blocks.all or ()))]
    speaks_of_operations = "request.operation" in json.dumps([asked, rule.context])
    if not speaks_of_operations:
        return None
    try:
        scope = scope_of(rule, ("DELETE",))
        context = context_of(rule.context, names_of(scope, is_extended=False), policy.namespace)
        return _expression(rule.validate, scope, context.names, policy.namespace) != cel.TRUE
    except NotConvertible:
        return None


def _message(rule: Rule, names: Names) -> Body:
    texts = _texts(rule, names)
    distinct = dict.fromkeys(text for _, text in texts)
    if len(distinct) == 1:
        text = text_of(next(iter(distinct)), names)
        return {"message": text} if isinstance(text, str) else {"messageExpression": text}
    *others, (_, last) = texts
    chosen = cel.literal(text_of(last, names))
    for condition, written in reversed(others):
        chosen = cel.conditional(condition, text_of(written, names), chosen)
    return {"messageExpression": chosen}


def _texts(rule: Rule, names: Names) -> list[tuple[Expr, str]]:
    """Return the messages of a rule, each with the condition under which it is the one."""
    own, missing = rule.validate.message or "", f"rule {rule.name} failed"
    deny = rule.validate.deny
    if deny is None or not deny.get("conditions"):
        return [(cel.TRUE, own or missing)]
    denials = denial_texts(deny["conditions"], own, names)
    return [(condition, text or missing) for condition, text in denials]


@dataclass(frozen=True, slots=True)
class _Loop:
    """A fact about every container of a list.

    body: its variable named the same in all; list: the list's field.
    """

    fact: Expr
    target: Expr
    list: str
    body: Expr


def one_loop_for_all_containers(expression: Expr) -> tuple[list[Expr], tuple[Variable, ...]]:
    """Return the facts of a conjunction, loops over lists of containers with equal bodies as one
    over all of them, and the variable that this takes."""
    match expression:
        case Chain("&&", terms):
            facts = list(terms)
        case _:
            facts = [expression]
    by_body: dict[Expr, list[_Loop]] = {}
    for loop in filter(None, map(_loop, facts)):
        by_body.setdefault(loop.body, []).append(loop)
    repeated = [(body, loops) for body, loops in by_body.items() if len(loops) > 1]
    if len(repeated) != 1:
        return facts, ()
    ((body, loops),) = repeated
    first, *others = sorted(loops, key=lambda loop: _LISTS.index(loop.list))
    total = first.target
    for other in others:
        total = cel.compare("+", total, other.target)
    every = cel.macro(cel.variable(_NAME), "all", _VARIABLE, body)
    merged = [loop.fact for loop in loops]
    at = min(map(facts.index, merged))
    kept = [fact for fact in facts if fact not in merged]
    return [*kept[:at], every, *kept[at:]], (Variable(_NAME, total),)


def _loop(fact: Expr) -> _Loop | None:
    match fact:
        case Call(
            "all",
            (Call("orValue", Select(_, name)) | Select(_, name)) as target,
            (variable, body),
        ) if name in _LISTS:
            return _Loop(fact, target, name, replaced(body, variable, Ident(_VARIABLE)))
    return None
