"""A legacy policy converted: each rule by the converter of its type, then assembled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from chartkit.engine.cluster_policy.policy import Policy, Rule, RuleKind
from chartkit.engine.cluster_policy.policy_reader import read_policy
from chartkit.migration.assembly import Made, assemble, by_action
from chartkit.migration.assumptions import described
from chartkit.migration.cleanup import KINDS as CLEANUP_KINDS
from chartkit.migration.cleanup import convert_cleanup
from chartkit.migration.conversion import Conversion, NotConvertible, RuleOutcome
from chartkit.migration.mutate import convert_mutate
from chartkit.migration.rule import ConvertedRule, RuleConverter
from chartkit.migration.validate import convert_validate
from chartkit.migration.validate.cel_rule import convert_cel
from chartkit.model import Body, Location, Resource

CONVERTERS: Final[Mapping[RuleKind, RuleConverter]] = {
    RuleKind.VALIDATE: convert_validate,
    RuleKind.CEL: convert_cel,
    RuleKind.MUTATE: convert_mutate,
}


def convert(legacy: Resource) -> Conversion:
    """Convert a policy or cleanup policy; raises CompileError for one that Kyverno refuses."""
    if legacy.kind in CLEANUP_KINDS:
        return convert_cleanup(legacy)
    policy = read_policy(legacy)
    made: list[Made] = []
    refused: dict[int, NotConvertible] = {}
    for index, rule in enumerate(policy.rules):
        try:
            made += by_action(policy, rule, _converted(rule, policy))
        except NotConvertible as reason:
            refused[index] = reason
    documents = assemble(policy, made)
    outcomes = []
    for index, rule in enumerate(policy.rules):
        names = [
            f"{body['kind']}/{body['metadata']['name']}"
            for body, took in documents
            if any(each.rule is rule for each in took)
        ]
        outcomes.append(_outcome(policy, index, rule, refused.get(index), made, tuple(names)))
    bodies = tuple(body for body, _ in documents)
    return Conversion(legacy, bodies, tuple(outcomes), _remaining(policy, refused))


def _converted(rule: Rule, policy: Policy) -> ConvertedRule:
    converter = CONVERTERS.get(rule.kind)
    if converter is None:
        raise NotConvertible(f"rules of type {type_of(rule)} are not converted")
    if rule.cel_preconditions and rule.kind is not RuleKind.CEL:
        raise NotConvertible("celPreconditions next to a rule that is not CEL")
    if policy.apply_one and len(policy.rules) > 1:
        raise NotConvertible("applyRules: One makes rules depend on each other")
    return converter(rule, policy)


def type_of(rule: Rule) -> str:
    """Return the type of a rule as tables show it: `validate.pattern`, `mutate.foreach`."""
    if rule.kind is RuleKind.VALIDATE:
        parts = ("deny", "pattern", "anyPattern", "foreach")
        body: Body = rule.body.get("validate") or {}
        return next((f"validate.{part}" for part in parts if body.get(part)), "validate")
    if rule.kind is RuleKind.MUTATE:
        named = next((key for key in (rule.mutate or {}) if key != "targets"), "")
        return f"mutate.{named}" if named else "mutate"
    return str(rule.kind)


def _outcome(
    policy: Policy,
    index: int,
    rule: Rule,
    refused: NotConvertible | None,
    made: list[Made],
    names: tuple[str, ...],
) -> RuleOutcome:
    place = _rule_place(policy, index)
    if refused is not None:
        location = replace(place, path=f"{place.path}/{refused.path}") if refused.path else place
        return RuleOutcome(
            rule.name, type_of(rule), location, reason=refused.message, nearest=refused.nearest
        )
    changes = dict.fromkeys(
        change for each in made if each.rule is rule for change in each.converted.changes
    )
    assumed = {
        path: type_
        for each in made
        if each.rule is rule
        for path, type_ in each.converted.assumed.items()
    }
    said = described(assumed)
    return RuleOutcome(
        rule.name,
        type_of(rule),
        place,
        names,
        changes=(*changes, *([said] if said else [])),
        assumed=assumed,
    )


def _rule_place(policy: Policy, index: int) -> Location:
    return replace(policy.resource.location, path=f"/spec/rules/{index}")


def _remaining(policy: Policy, refused: Mapping[int, NotConvertible]) -> Body | None:
    """Return the legacy policy with the rules alone that are left to be done by hand."""
    if not refused:
        return None
    body = policy.resource.body
    rules = body["spec"]["rules"]
    return {**body, "spec": {**body["spec"], "rules": [rules[index] for index in sorted(refused)]}}
