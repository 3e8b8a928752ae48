"""Rules of Pods that Kyverno extends to controllers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import of_templates
from chartkit.addons.migrate.matching.scope import Condition, Scope
from chartkit.addons.migrate.rule import ConvertedRule, Variable
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax.tree import Call, Ident, Select, replaced, transform
from chartkit.engine.cluster_policy import autogen
from chartkit.engine.cluster_policy.policy import Policy, Rule

_POD: Final = "Pod"
_OPTIONAL: Final = Select(Ident("object"), "metadata", optional=True)
_PLAIN: Final = cel.path("object", "metadata")
_IS_THERE: Final = cel.has(cel.ident("object"), "metadata")
_METADATA: Final = cel.conditional(_IS_THERE, _PLAIN, cel.map_of({}))
_NAME: Final = "metadata"


def require_one_extension(rule: Rule, policy: Policy) -> None:
    """Raise `NotConvertible` for a rule of Pods and other kinds that is extended to controllers."""
    kinds = {kind for filter_ in (*rule.match.any, *rule.match.all) for kind in filter_.kinds}
    if _POD not in kinds or len(kinds) == 1:
        return
    allowed = autogen.controllers(policy)
    only = replace(policy, rules=(rule,))
    for kind in allowed:
        if any(extension is not rule for extension in autogen.rules_for_kind(only, allowed, kind)):
            raise NotConvertible(
                "a rule of Pods and other kinds is extended to controllers", "match"
            )


def of_extended_pods(scope: Scope, policy: Policy) -> Scope:
    """Return the scope of a rule of Pods with what its extension to controllers means for it."""
    if not (scope.about_pods and autogen.controllers(policy)):
        return scope
    return replace(scope, object=of_templates(scope.object))


def with_template_metadata(rule: ConvertedRule) -> ConvertedRule:
    """Return a rule that reads the metadata of a Pod so that Kyverno can extend it.

    Kyverno replaces the text `object.metadata`, and knows no `object.?metadata`. A template, above
    all the template of a CronJob, may have no metadata.
    """
    rewritten = _changed(rule, _read)
    conditions = tuple(
        Condition(condition.name, _of(condition.expression, _read)) for condition in rule.conditions
    )
    rewritten = replace(rewritten, conditions=conditions)
    return named_apart(rewritten, _NAME, _METADATA)


def named_apart(rule: ConvertedRule, name: str, value: Expr) -> ConvertedRule:
    """Return a rule with a variable for an expression that it repeats, unless one has its name."""
    named = _changed(rule, lambda expr: replaced(expr, value, cel.variable(name)))
    if named == rule or any(variable.name == name for variable in rule.variables):
        return rule
    return replace(named, variables=(Variable(name, value), *named.variables))


def _changed(rule: ConvertedRule, change: Callable[[Expr], Expr]) -> ConvertedRule:
    """Return a rule with the expressions of its validations and variables changed."""
    validations = [
        {key: _of(value, change) for key, value in row.items()} for row in rule.spec["validations"]
    ]
    variables = [Variable(item.name, _of(item.expression, change)) for item in rule.variables]
    spec = {**rule.spec, "validations": validations}
    return replace(rule, spec=spec, variables=tuple(variables))


def about_objects(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """Return conditions that read the object itself in the forms for controllers, too: Kyverno
    rewrites the texts `object.spec` and `object.metadata` alone."""
    return tuple(replace(each, expression=_of(each.expression, _indexed)) for each in conditions)


def _indexed(expression: Expr) -> Expr:
    match expression:
        case Call("has", None, (Select(Ident("object") as whole, ("spec" | "metadata") as field),)):
            return cel.contains(whole, cel.literal(field))
        case Select(Ident("object") as whole, ("spec" | "metadata") as field, False):
            return cel.index(whole, field)
    return transform(expression, _indexed)


def _of(expression: Expr | str, change: Callable[[Expr], Expr]) -> Expr | str:
    return expression if isinstance(expression, str) else change(expression)


def _read(expression: Expr) -> Expr:
    match expression:
        case Call("orValue", Select() as asked, (default,)) if asked == _OPTIONAL:
            return cel.conditional(_IS_THERE, _PLAIN, default)
        case Select() if expression == _OPTIONAL:
            return _METADATA
    return transform(expression, _read)
