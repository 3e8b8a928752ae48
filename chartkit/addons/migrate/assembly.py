"""New policies assembled from converted rules: metadata, actions, settings and expressions.

Rules that speak of the same requests with the same action become one policy, as far as their
variables agree; the others one each. A single policy of a kind keeps the legacy policy's name.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.matching.facts import Facts
from chartkit.addons.migrate.matching.scope import Condition
from chartkit.addons.migrate.rule import ConvertedRule
from chartkit.engine.cel.syntax import Expr, format_expression
from chartkit.engine.cluster_policy import autogen
from chartkit.engine.cluster_policy.match import bind_match
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.engine.kubernetes.kinds import (
    CEL_GROUP,
    CONTROLLERS,
    NAMESPACED,
    CelKind,
    GroupVersionKind,
)
from chartkit.model import Body, Json, Resource

API_VERSION: Final = f"{CEL_GROUP}/v1"
_WIDTH: Final = 88
_NAME_LENGTH: Final = 63
_DIGITS: Final = 6
_NAMED: Final = _NAME_LENGTH - _DIGITS - 1
"""The characters of a name before the digits that tell it from another."""
_LEFT_OUT: Final = ("kubectl.kubernetes.io/last-applied-configuration", autogen.ANNOTATION)
_LISTS: Final = {CelKind.VALIDATING: "validations", CelKind.GENERATING: "generate"}
"""By kind whose policies may hold several rules: the field in which they are listed."""
_DENY: Final = {"Enforce": ["Deny"], "Audit": ["Audit"]}
_GVKS: Final = {
    each.kind: GroupVersionKind(each.group, each.version, each.kind) for each in CONTROLLERS
}
_EXTENDED: Final = frozenset(controller.kind for controller in CONTROLLERS if controller.group)


@dataclass(frozen=True, slots=True)
class Made:
    """A converted rule, its place among the legacy policy's rules, and where its action holds.

    action: `Enforce` or `Audit`; empty for a rule that refuses nothing; excepted: the exceptions
    from it, which are from a whole policy.
    """

    rule: Rule
    converted: ConvertedRule
    action: str
    where: tuple[Condition, ...] = ()
    base: bool = True
    excepted: frozenset[tuple[str, str]] = frozenset()


def by_action(policy: Policy, rule: Rule, converted: ConvertedRule) -> list[Made]:
    """Return a rule once for each action that it has in some namespaces.

    Raises `NotConvertible` for overrides by label.
    """
    if converted.kind not in (CelKind.VALIDATING, CelKind.IMAGE_VALIDATING):
        return [Made(rule, converted, "")]
    own = rule.validate
    overrides = own.failure_action_overrides or policy.failure_action_overrides
    base = (own.failure_action or policy.failure_action).capitalize()
    if rule.verify_images:
        named = [image.get("failureAction") for image in rule.verify_images]
        base = next((action.capitalize() for action in named if action), base)
    different = [action for action in overrides if action.action.capitalize() != base]
    if not different:
        return [Made(rule, converted, base)]
    if any(action_override.namespace_selector is not None for action_override in overrides):
        raise NotConvertible(
            "its action differs by the labels of namespaces", "failureActionOverrides"
        )
    other = different[0].action.capitalize()
    # Whether the first override that names the namespace has this action. A Namespace is in none.
    facts = Facts(known=converted.scope.kinds)
    there: Expr = cel.FALSE
    for override in reversed(overrides):
        here = cel.TRUE if override.namespaces is None else facts.is_in(override.namespaces)
        holds = override.action.capitalize() == other
        there = cel.any_of((here, there)) if holds else cel.all_of((cel.negate(here), there))
        if there == cel.any_of((here, cel.FALSE)):
            there = here
    if there in (cel.TRUE, cel.FALSE):
        return [Made(rule, converted, other if there == cel.TRUE else base)]
    return [
        Made(rule, converted, base, (Condition("action", cel.negate(there)),)),
        Made(rule, converted, other, (Condition("action", there),), base=False),
    ]


def assemble(
    policy: Policy, made: Sequence[Made], others: Collection[str] = ()
) -> list[tuple[Body, tuple[Made, ...]]]:
    """Return the new policies, each with the rules that it took over; others: names that other
    policies have, which no new one gets."""
    groups: list[list[Made]] = []
    for part in made:
        group = next((group for group in groups if _belongs(policy, part, group)), None)
        if group is None:
            groups.append([part])
        else:
            group.append(part)
    counts: dict[tuple[CelKind, bool], int] = {}
    for group in groups:
        key = group[0].converted.kind, group[0].base
        counts[key] = counts.get(key, 0) + 1
    documents = []
    names: set[tuple[CelKind, str]] = set()
    for group in groups:
        alone = counts[group[0].converted.kind, group[0].base] == 1
        rule = group[0].converted.name or group[0].rule.name
        name = _name(policy.name, "" if alone else rule, group[0])
        kind = group[0].converted.kind
        if (kind, name) in names or (not alone and _is_of_another(name, policy.name, others)):
            text = f"{policy.name}/{rule}/{group[0].action}"
            name = _with_digest(name, text)
        taken = {*others, *(other for of, other in names if of is kind)}
        bodies = _pods_apart(_document(policy, group, name), taken)
        names |= {(kind, body["metadata"]["name"]) for body in bodies}
        documents += [(body, tuple(group)) for body in bodies]
    return documents


def _with_digest(name: str, text: str) -> str:
    digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
    return f"{name[:_NAMED]}-{digest}"


_PODS: Final = "pods"
_EPHEMERAL: Final = "pods/ephemeralcontainers"


def _pods_apart(body: Body, taken: Collection[str]) -> list[Body]:
    """Return a policy about Pods and their ephemeral containers as one about each: scans list
    Pods, and Kyverno asks for the right to list what is scanned. taken: names of other policies."""
    spec, name = body["spec"], body["metadata"]["name"]
    rule, *others = spec["matchConstraints"]["resourceRules"]
    is_validating = body["kind"].removeprefix(NAMESPACED) == CelKind.VALIDATING
    if others or not is_validating or set(rule["resources"]) != {_PODS, _EPHEMERAL}:
        return [body]

    def about(resource: str, name: str, fields: Body) -> Body:
        rules = [{**rule, "resources": [resource]}]
        constraints = {**spec["matchConstraints"], "resourceRules": rules}
        own = {**spec, **fields, "matchConstraints": constraints}
        return {**body, "metadata": {**body["metadata"], "name": name}, "spec": own}

    evaluation = {**(spec.get("evaluation") or {}), "background": {"enabled": False}}
    apart = f"{name}-ephemeral"
    if apart in taken or len(apart) > _NAME_LENGTH:
        apart = _with_digest(name, apart)
    return [
        about(_PODS, name, {"autogen": {"podControllers": {"controllers": []}}}),
        about(_EPHEMERAL, apart, {"evaluation": evaluation}),
    ]


def _belongs(policy: Policy, rule: Made, group: Sequence[Made]) -> bool:
    first = group[0]
    own = [(variable.name, variable.expression) for variable in rule.converted.variables]
    named = {entry.name: entry.expression for other in group for entry in other.converted.variables}
    return (
        rule.converted.kind in _LISTS
        and rule.converted.kind is first.converted.kind
        and _independent(rule)
        and _independent(first)
        and (rule.action, rule.where) == (first.action, first.where)
        and rule.excepted == first.excepted
        and rule.converted.scope == first.converted.scope
        and rule.converted.conditions == first.converted.conditions
        and rule.converted.background is first.converted.background
        and _controllers(policy, rule) == _controllers(policy, first)
        and _settings(rule) == _settings(first)
        and all(named.get(name, expression) == expression for name, expression in own)
    )


def _independent(rule: Made) -> bool:
    """Report whether nothing in a rule can keep another one's objects from being generated."""
    return rule.converted.kind is not CelKind.GENERATING or not rule.converted.may_fail


def entries_before(rule: Rule, took: Sequence[Made]) -> int:
    """Return how many entries of a new policy stand before those of a rule; took: what the policy
    took over."""
    before = takewhile(lambda part: part.rule is not rule, took)
    return sum(len(part.converted.spec[_LISTS[part.converted.kind]]) for part in before)


def _settings(rule: Made) -> Body:
    list_ = _LISTS.get(rule.converted.kind)
    return {key: value for key, value in rule.converted.spec.items() if key != list_}


def _name(policy: str, rule: str, made: Made) -> str:
    suffix = "" if made.base else f"-{made.action.lower()}"
    # Rules may have any name, and objects none with capitals, spaces or underscores.
    own = re.sub(r"[^a-z0-9.-]+", "-", rule.lower()).strip("-.")
    name = f"{policy}-{own}" if own else policy
    return name[: _NAME_LENGTH - len(suffix)].rstrip("-.") + suffix


def _is_of_another(name: str, policy: str, others: Collection[str]) -> bool:
    """Report whether another policy has a name, or a rule of it may get it."""
    longer = (other for other in others if other.startswith(f"{policy}-"))
    return any(name == longer_name or name.startswith(f"{longer_name}-") for longer_name in longer)


def _document(policy: Policy, group: Sequence[Made], name: str) -> Body:
    first = group[0]
    kind = str(first.converted.kind)
    metadata = metadata_of(policy.resource, name, policy.namespace)
    converted = first.converted
    spec: Body = {}
    if first.action:
        warns = ["Warn"] if policy.resource.body["spec"].get("emitWarning") else []
        spec["validationActions"] = [*_DENY[first.action], *warns]
    spec |= _failure(policy, converted.kind)
    evaluation: Body = {} if policy.admission else {"admission": {"enabled": False}}
    if first.action and not (policy.background and converted.background):
        evaluation["background"] = {"enabled": False}
    if converted.kind is CelKind.MUTATING:
        # Scans report what a MutatingPolicy would change as failures; of rules they report nothing.
        evaluation["background"] = {"enabled": False}
    evaluation |= converted.spec.get("evaluation") or {}
    if evaluation:
        spec["evaluation"] = evaluation
    controllers = _controllers(policy, first)
    if controllers is not None:
        spec["autogen"] = {"podControllers": {"controllers": controllers}}
    spec["matchConstraints"] = converted.scope.constraints
    conditions = _conditions(policy, first)
    if conditions:
        spec["matchConditions"] = conditions
    variables = {row.name: row.expression for part in group for row in part.converted.variables}
    if variables:
        spec["variables"] = [
            {"name": name, "expression": text(expr)} for name, expr in variables.items()
        ]
    for key, value in converted.spec.items():
        if key == _LISTS.get(converted.kind):
            value = [item for part in group for item in part.converted.spec[key]]
        if key != "evaluation":
            spec[key] = printed(value)
    return {
        "apiVersion": API_VERSION,
        "kind": f"{NAMESPACED}{kind}" if policy.namespace else kind,
        "metadata": metadata,
        "spec": spec,
    }


def metadata_of(legacy: Resource, name: str, namespace: str) -> Body:
    """Return the metadata of a new object, with the labels and annotations of the old one."""
    metadata: Body = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    body: Body = legacy.body["metadata"]
    if body.get("labels"):
        metadata["labels"] = dict(body["labels"])
    annotations = body.get("annotations") or {}
    kept = {key: text for key, text in annotations.items() if key not in _LEFT_OUT}
    if kept:
        metadata["annotations"] = kept
    return metadata


def _conditions(policy: Policy, made: Made) -> list[Body]:
    converted = made.converted
    webhook = [dict(condition) for condition in policy.match_conditions]
    own = (*converted.scope.conditions, *made.where, *converted.conditions)
    return [*webhook, *({"name": row.name, "expression": text(row.expression)} for row in own)]


def _failure(policy: Policy, kind: CelKind) -> Body:
    if kind is CelKind.GENERATING:
        return {}
    spec = policy.resource.body["spec"]
    webhook: Body = spec.get("webhookConfiguration") or {}
    made: Body = {}
    failure = webhook.get("failurePolicy") or spec.get("failurePolicy")
    if failure == "Ignore":
        made["failurePolicy"] = failure
    seconds = webhook.get("timeoutSeconds") or spec.get("webhookTimeoutSeconds")
    if seconds:
        made["webhookConfiguration"] = {"timeoutSeconds": seconds}
    return made


def _controllers(policy: Policy, made: Made) -> list[str] | None:
    """Return the controllers that the new policy is extended to; None for Kyverno's default."""
    if not made.converted.scope.about_pods or made.converted.kind is CelKind.GENERATING:
        return None
    if not made.converted.is_extended:
        return []
    allowed = autogen.controllers(policy)
    only = replace(policy, rules=(made.rule,))
    extended = {
        kind
        for kind in allowed & _EXTENDED
        if any(
            rule is not made.rule and bind_match(rule.match, rule.exclude, "", _GVKS[kind], "")
            for rule in autogen.rules_for_kind(only, allowed, kind)
        )
    }
    if extended == _EXTENDED:
        return None
    return [controller.plural for controller in CONTROLLERS if controller.kind in extended]


def text(expression: Expr | str) -> str:
    """Return an expression as a policy holds it."""
    return expression if isinstance(expression, str) else format_expression(expression, _WIDTH)


_TREES: Final = Expr.__args__ if hasattr(Expr, "__args__") else ()


def printed(value: Json) -> Any:
    """Return a value with every tree in it printed."""
    if isinstance(value, Mapping):
        return {key: printed(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [printed(item) for item in value]
    return text(value) if isinstance(value, _TREES) else value
