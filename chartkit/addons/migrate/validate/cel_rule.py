"""`validate.cel`: expressions that stay as they are, and the variables that they read."""

from __future__ import annotations

import json
import re
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.differences import CEL_ERRORS, DELETIONS, EVERY_KEY, OWN_TEXTS
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import TEXT, Place
from chartkit.addons.migrate.expressions.verdict import conjunction, is_name
from chartkit.addons.migrate.jmespath import Constant, Names, Value
from chartkit.addons.migrate.matching.facts import leaves_deletions_open
from chartkit.addons.migrate.matching.scope import WRITES, Condition, scope_of
from chartkit.addons.migrate.rule import ConvertedRule, Variable
from chartkit.addons.migrate.texts import term_of
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.engine.context.variables import has_variable
from chartkit.engine.kubernetes.kinds import CelKind
from chartkit.engine.scalars.wildcard import has_wildcard
from chartkit.model import Body, Json

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
    spec: Body = {"validations": [_validation(item, rule) for item in cel.get("expressions") or ()]}
    if cel.get("auditAnnotations"):
        spec["auditAnnotations"] = [dict(annotation) for annotation in cel["auditAnnotations"]]
    return ConvertedRule(
        CelKind.VALIDATING,
        scope,
        spec,
        tuple(Condition(entry["name"], entry["expression"]) for entry in rule.cel_preconditions),
        tuple(Variable(entry["name"], entry["expression"]) for entry in cel.get("variables") or ()),
        changes=(CEL_ERRORS, *((DELETIONS,) if not asks and leaves_deletions_open(rule) else ())),
    )


def _validation(body: Body, rule: Rule) -> Body:
    made = {key: body[key] for key in _KEPT if body.get(key)}
    if "message" not in made and "messageExpression" not in made:
        made["message"] = rule.validate.message or f"failed expression: {body['expression']}"
    return made


_VARIABLE: Final = re.compile(r"\{\{.*\}\}")
_PLAIN: Final = re.compile(r"[A-Za-z./:_-]*")


class VariableText(str):
    """A leaf of a pattern with a variable; to other code a string.

    place: the text without its wildcards; function: of a text that has it at its start, its end or
    in it, as the wildcards say, empty for no wildcards; negated: whether `!` is before it.
    """

    __slots__ = ("function", "negated", "place")

    place: Place
    function: str
    negated: bool


_FUNCTIONS: Final = {
    (False, False): "",
    (False, True): "startsWith",
    (True, False): "endsWith",
    (True, True): "contains",
}
"""By whether a text has a wildcard before it and behind it."""


def with_variables(pattern: Json, names: Names) -> Json:
    """Return a pattern with its variables translated; raises `NotConvertible`."""
    if isinstance(pattern, dict):
        if any(has_variable(key) for key in pattern):
            raise NotConvertible("a variable in a key of a pattern")
        if any(map(has_wildcard, pattern)):
            names.note(EVERY_KEY)
        return {key: with_variables(item, names) for key, item in pattern.items()}
    if isinstance(pattern, list):
        return [with_variables(item, names) for item in pattern]
    if not isinstance(pattern, str) or "{{" not in pattern:
        return pattern
    negated = pattern.startswith("!")
    pattern = pattern.removeprefix("!").strip()
    function = _FUNCTIONS[pattern.startswith("*"), pattern.endswith("*")]
    pattern = pattern.strip("*")
    if not _PLAIN.fullmatch(_VARIABLE.sub("", pattern)):
        raise NotConvertible("a variable next to an operator or a wildcard in a pattern")
    term = term_of(pattern, names)
    if isinstance(term, Constant) and not (negated or function):
        return term.value
    if not isinstance(term, Value) or term.place.type not in (TEXT, "quantity"):
        raise NotConvertible("a variable in a pattern whose type is not known")
    if term.place.type == TEXT and not is_name(term.place):
        names.note(OWN_TEXTS)
    leaf = VariableText("variable")
    leaf.place, leaf.function, leaf.negated = term.place, function, negated
    if term.place.type != TEXT and (negated or function):
        raise NotConvertible("a size that a variable gives, next to an operator or a wildcard")
    return leaf


def same(place: Place, wanted: VariableText) -> Expr:
    """Report whether a value is what a variable gives; raises `NotConvertible`."""
    other = wanted.place
    place = place.taken_for(other.type)
    if place.type != other.type:
        raise NotConvertible("a variable in a pattern is of another type than the field")
    if wanted.function or wanted.negated:
        test = cel.equal(place.value, other.value)
        if wanted.function:
            test = cel.method(place.value, wanted.function, other.value)
        # Nothing is not a string, and matches neither of the two.
        return conjunction(place.is_present(), cel.negate(test) if wanted.negated else test)
    if place.type == TEXT:
        return cel.equal(place.or_value(cel.NULL), other.value)
    left, right = (
        cel.call("quantity", cel.call("string", side))
        for side in (place.or_value("0"), other.value)
    )
    return cel.equal(cel.method(left, "compareTo", right), 0)
