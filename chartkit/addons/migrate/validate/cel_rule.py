"""`validate.cel`: expressions that stay as they are, and the variables that they read."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.differences import (
    CEL_ERRORS,
    DELETIONS,
    EVERY_KEY,
    OWN_TEXTS,
    UNQUOTED,
)
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import TEXT, Place
from chartkit.addons.migrate.expressions.presence import fits_value
from chartkit.addons.migrate.expressions.verdict import conjunction, is_name
from chartkit.addons.migrate.jmespath import Constant, Names, Value
from chartkit.addons.migrate.matching.facts import leaves_deletions_open
from chartkit.addons.migrate.matching.scope import WRITES, Condition, scope_of
from chartkit.addons.migrate.rule import ConvertedRule, Variable
from chartkit.addons.migrate.texts import term_of, text_expression
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax.reading import read
from chartkit.engine.cel.syntax.tree import replaced
from chartkit.engine.cluster_policy.pattern.build import parse_anchor
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.engine.context.variables import has_variable
from chartkit.engine.kubernetes.kinds import (
    CelKind,
    GroupVersionKind,
    is_cluster_scoped,
    parse_api_version,
    resource_name,
)
from chartkit.engine.scalars.wildcard import has_wildcard
from chartkit.model import Body, Json

_KEPT: Final = ("expression", "message", "messageExpression", "reason")


_PARAMS: Final = "params"
_ASKS_PARAMS: Final = re.compile(r"\bparams\b")


def convert_cel(rule: Rule, _policy: Policy) -> ConvertedRule:
    """Return a rule with `validate.cel` as validations; raises `NotConvertible`."""
    body: Body = rule.validate.cel or {}
    parameters = (Variable(_PARAMS, _parameters(body)),) if body.get("paramRef") else ()
    conditions = [entry["expression"] for entry in rule.cel_preconditions]
    if parameters and any(map(_ASKS_PARAMS.search, conditions)):
        raise NotConvertible("parameters in celPreconditions", "celPreconditions")
    cel: Body = _of_variables(body) if parameters else body
    if rule.preconditions is not None or rule.context:
        raise NotConvertible("preconditions in JMESPath next to CEL", "preconditions")
    asks = "request.operation" in json.dumps([body, rule.cel_preconditions])
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
        (
            *parameters,
            *(Variable(row["name"], row["expression"]) for row in cel.get("variables") or ()),
        ),
        changes=(CEL_ERRORS, *((DELETIONS,) if not asks and leaves_deletions_open(rule) else ())),
    )


def _parameters(body: Body) -> Expr:
    """Return the object that has the parameters of a rule; raises `NotConvertible`."""
    kind, reference = body["paramKind"], body["paramRef"]
    if not reference.get("name") or reference["parameterNotFoundAction"] != "Deny":
        raise NotConvertible("parameters that may be several or none", "validate/cel/paramRef")
    named = GroupVersionKind(*parse_api_version(kind["apiVersion"]), kind["kind"])
    own = cel.path("request", "namespace")
    namespace = "" if is_cluster_scoped(named) else reference.get("namespace") or own
    path = (kind["apiVersion"], resource_name(kind["kind"]), namespace, reference["name"])
    return cel.method(cel.ident("resource"), "Get", *path)


def _of_variables(value: Any, key: str = "") -> Any:
    """Return a part of `validate.cel`, under a key, whose expressions read the parameters as a
    variable."""
    if isinstance(value, dict):
        return {key: _of_variables(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [_of_variables(item) for item in value]
    if not key.lower().endswith("expression") or not _ASKS_PARAMS.search(value):
        return value
    return replaced(read(value, ENVIRONMENTS["vap"]), cel.ident(_PARAMS), cel.variable(_PARAMS))


def _validation(body: Body, rule: Rule) -> Body:
    made = {key: body[key] for key in _KEPT if body.get(key)}
    if "message" not in made and "messageExpression" not in made:
        made["message"] = rule.validate.message or f"failed expression: {body['expression']}"
    return made


TAGS: Final = ("metadata.labels", "metadata.annotations")
_VARIABLE: Final = re.compile(r"\{\{.*\}\}")
_PLAIN: Final = re.compile(r"[\w./:@*? -]*", re.ASCII)
_SIZE: Final = re.compile(r"[-+.0-9EGKMPTehikmnsu*? ]*[0-9][-+.0-9EGKMPTehikmnsu*? ]*", re.ASCII)
"""The texts next to a variable with which a size or a duration may come about."""


class VariableText(str):
    """A leaf of a pattern with a variable; to other code a string.

    place: the text, of which literal parts may have wildcards; negated: whether `!` is before it;
    others: the other alternatives.
    """

    __slots__ = ("negated", "others", "place")

    place: Place
    negated: bool
    others: Sequence[Json]


class VariableKey(str):
    """A key of a pattern with a variable, perhaps in an anchor; to other code a string.

    name: the key without its anchor.
    """

    __slots__ = ("name",)

    name: Expr


def _key(written: str, names: Names) -> str:
    """Return a key of a pattern with its variables translated; raises `NotConvertible`."""
    if not has_variable(written):
        return written
    anchor = parse_anchor(written)
    if has_wildcard(_VARIABLE.sub("", written if anchor is None else anchor.key)):
        raise NotConvertible("a variable next to a wildcard in a key of a pattern")
    key = VariableKey(written)
    key.name = text_expression(written if anchor is None else anchor.key, names)
    names.note(OWN_TEXTS)
    return key


def with_variables(pattern: Json, names: Names, key: str = "") -> Json:
    """Return a pattern with its variables translated; key: the last two that it stands under.

    Raises `NotConvertible`.
    """
    if isinstance(pattern, dict):
        below = f"{key.rpartition('.')[2]}."
        written = {
            _key(name, names): with_variables(
                item, names, below + name.rstrip(")").rpartition("(")[2]
            )
            for name, item in pattern.items()
        }
        if key not in TAGS:
            return written
        if any(map(has_wildcard, pattern)):
            names.note(EVERY_KEY)
        texts = {name: item for name, item in written.items() if isinstance(item, str)}
        if len(texts) < len(written):
            names.note(UNQUOTED)
        return texts
    if isinstance(pattern, list):
        return [with_variables(item, names) for item in pattern]
    if not isinstance(pattern, str) or "{{" not in pattern:
        return pattern
    first, *others = sorted(_alternatives(pattern), key=lambda part: not has_variable(part))
    negated = first.startswith("!")
    first = first.removeprefix("!").strip()
    literal = _VARIABLE.sub("", first)
    if not _PLAIN.fullmatch(literal) or _SIZE.fullmatch(literal):
        raise NotConvertible("a variable next to an operator in a pattern")
    term = term_of(first, names)
    if isinstance(term, Constant) and not (negated or others or has_wildcard(literal)):
        return term.value
    if not isinstance(term, Value) or term.place.type not in (TEXT, "quantity"):
        raise NotConvertible("a variable in a pattern whose type is not known")
    if term.place.type == TEXT and not is_name(term.place):
        names.note(OWN_TEXTS)
    variable_text = VariableText("variable")
    variable_text.place, variable_text.negated = term.place, negated
    variable_text.others = [with_variables(other, names) for other in others]
    if term.place.type != TEXT and (negated or others):
        raise NotConvertible("a size that a variable gives, next to an operator")
    return variable_text


def _alternatives(pattern: str) -> list[str]:
    """Return the alternatives of a pattern: what `|` separates outside of variables."""
    alternatives, depth = [""], 0
    for part in re.split(r"(\{\{|\}\}|\|)", pattern):
        depth += (part == "{{") - (part == "}}")
        if part == "|" and not depth:
            alternatives.append("")
        else:
            alternatives[-1] += part
    return [text.strip() for text in alternatives]


def same(place: Place, wanted: VariableText) -> Expr:
    """Report whether a value is what a variable gives; raises `NotConvertible`."""
    other = wanted.place
    place = place.taken_for(other.type)
    if place.type != other.type:
        raise NotConvertible("a variable in a pattern is of another type than the field")
    if place.type == TEXT:
        test = fits_value(place.value, other.value)
        if wanted.negated:
            test = cel.negate(test)
        elif test == cel.equal(place.value, other.value):
            return cel.equal(place.or_value(cel.NULL), other.value)
        # Nothing is not a string, and matches neither.
        return conjunction(place.is_present(), test)
    left, right = (
        cel.call("quantity", cel.call("string", side))
        for side in (place.or_value("0"), other.value)
    )
    return cel.equal(cel.method(left, "compareTo", right), 0)
