"""Rules of policies that do nothing, and rules without a message: CK706, CK707, CK71x."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from chartkit.catalog.policy_lint.rule import Fault, Subject, policy_rule
from chartkit.engine.cel_policies.policy import ResourceRule
from chartkit.engine.cluster_policy.autogen import all_rules, controllers
from chartkit.engine.cluster_policy.policy import Match, ResourceFilter, RuleKind
from chartkit.engine.cluster_policy.unmatched import condition_blocks
from chartkit.engine.scalars.wildcard import compile_wildcard, has_wildcard
from chartkit.model import Body, Json, RuleType, mappings_at, text_of, texts_below
from chartkit.schemas.kind_selectors import parse_kind_selector

_MOST_PAIRS: Final = 10_000
_IN: Final = frozenset({"In", "AnyIn"})
_TOGETHER: Final = {
    "any": (frozenset({"NotEqual", "NotEquals"}), "always"),
    "all": (frozenset({"Equal", "Equals"}), "never"),
}


@policy_rule("CK706")
def excluded(subject: Subject) -> Iterator[Fault]:
    """Exclusions of everything that a rule matches, and of nothing."""
    for path, rule in subject.rules:
        exclude, narrow = rule.exclude, rule.match
        if exclude is None:
            continue
        is_joint = bool(narrow.all and not narrow.any and len(narrow.all) > 1)
        if not is_joint and all(
            any(_covers(other, block) for other in _filters_of(exclude))
            if exclude.any or not exclude.all
            else all(_covers(other, block) for other in exclude.all)
            for block in _filters_of(narrow)
        ):
            message = f"rule {rule.name}: excludes everything that it matches: it does nothing"
            yield Fault((*path, "exclude"), message, "narrow the exclude")
            continue
        key = "any" if exclude.any else "all" if exclude.all else ""
        for at, block in enumerate(_filters_of(exclude)):
            if block == ResourceFilter():
                here = (*path, "exclude", key, at) if key else (*path, "exclude")
                message = f"rule {rule.name}: an exclude without a filter excludes nothing"
                yield Fault(here, message, "name kinds, names or namespaces")
    constraints = subject.cel_policy.constraints if subject.cel_policy is not None else None
    if constraints is None or not constraints.rules:
        return
    if all(
        any(_takes(block, rule) for block in constraints.excluded) for rule in constraints.rules
    ):
        message = "excludes everything that it matches: it does nothing"
        cel_path = ("spec", "matchConstraints", "excludeResourceRules")
        yield Fault(cel_path, message, "narrow the rules")


def _takes(wide: ResourceRule, narrow: ResourceRule) -> bool:
    """Report whether a resource rule of a policy in CEL takes everything that another one does."""
    pairs = zip(_parts(wide), _parts(narrow), strict=True)
    is_general = wide.names in ((), narrow.names) and wide.scope in ("*", narrow.scope)
    return is_general and all("*" in most or set(some) <= set(most) for most, some in pairs)


def _parts(rule: ResourceRule) -> tuple[tuple[str, ...], ...]:
    return rule.groups, rule.versions, rule.resources, rule.operations


def _filters_of(match: Match) -> Sequence[ResourceFilter]:
    """Return the filters of a match or exclude that are read: Kyverno passes over those written
    directly next to `any` or `all`, and over `all` next to `any`."""
    return match.any or match.all or (match.direct,)


def _covers(wide: ResourceFilter, narrow: ResourceFilter) -> bool:
    if wide == ResourceFilter() or wide.has_user:
        return False
    return (
        _lists(wide.kinds, narrow.kinds, _kind_covers)
        and _lists(_names(wide), _names(narrow), _text_covers)
        and _lists(wide.namespaces, narrow.namespaces, _text_covers)
        and _lists(wide.operations, narrow.operations, str.__eq__)
        and wide.annotations in (None, {}, narrow.annotations)
        and wide.selector in (None, narrow.selector)
        and wide.namespace_selector in (None, narrow.namespace_selector)
    )


def _names(block: ResourceFilter) -> tuple[str, ...]:
    return (block.name, *block.names) if block.name else block.names


def _lists(wide: Sequence[str], narrow: Sequence[str], covers: Callable[[str, str], bool]) -> bool:
    """Report whether each of some texts is covered by another one; no texts are all of them."""
    if not wide:
        return True
    if not 0 < len(narrow) * len(wide) < _MOST_PAIRS:
        return False
    return all(any(covers(other, text) for other in wide) for text in narrow)


def _text_covers(wide: str, narrow: str) -> bool:
    return wide in ("*", narrow) or (not has_wildcard(narrow) and compile_wildcard(wide)(narrow))


def _kind_covers(wide: str, narrow: str) -> bool:
    return all(map(_text_covers, parse_kind_selector(wide), parse_kind_selector(narrow)))


@policy_rule("CK707")
def switched_off(subject: Subject) -> Iterator[Fault]:
    """Rules that another rule or a setting of their policy switches off."""
    policy = subject.cluster_policy
    if policy is None:
        return
    written = {rule.name for rule in policy.rules}
    made = any(rule.name not in written for rule in all_rules(policy))
    for index, rule in enumerate(policy.rules):
        path = ("spec", "rules", index)
        if made and rule.name.startswith("autogen-"):
            message = f"rule {rule.name}: Kyverno drops it where it makes rules for controllers"
            yield Fault((*path, "name"), message, "use a name without 'autogen-'")
        if policy.failure_action_overrides and rule.validate.failure_action:
            message = f"rule {rule.name}: its failureAction overrides the policy's "
            message += "validationFailureActionOverrides"
            hint = "write failureActionOverrides next to failureAction"
            yield Fault((*path, "validate", "failureAction"), message, hint)
    if not controllers(policy):
        alone = [controllers(replace(policy, rules=(rule,))) for rule in policy.rules]
        others = [rule for rule, extended in zip(policy.rules, alone, strict=True) if not extended]
        for index, rule in enumerate(policy.rules):
            is_judging = rule.kind.type is RuleType.VALIDATION
            if alone[index] and others and is_judging and "Pod" in rule.match.kinds:
                message = f"rule {rule.name}: has no form for Deployments and other controllers"
                message += f", because rule {others[0].name} cannot have one"
                hint = "put the rules into policies of their own"
                yield Fault(("spec", "rules", index, "name"), message, hint)


@policy_rule("CK710")
def constant_condition(subject: Subject) -> Iterator[Fault]:
    """Conditions that are always or never true."""
    for here, rule in subject.rules:
        for path, block in condition_blocks(rule.body, here):
            for key in _TOGETHER if "attestations" not in path else ():
                for at, text, hint in _condition_faults(key, mappings_at(block, key)):
                    yield Fault((*path, key, at), f"rule {rule.name}: {text}", hint)


def _condition_faults(key: str, conditions: Sequence[Body]) -> Iterator[tuple[int, str, str]]:
    """Yield the index of a condition, what is wrong with it, and a hint."""
    seen: dict[str, Json] = {}
    for at, condition in enumerate(conditions):
        left, right, operator = (condition.get(name) for name in ("key", "value", "operator"))
        if not ("{{" in str(left) or "{{" in str(right)):
            hint = f"write {{{{ {left} }}}}" if text_of(left).startswith("request.") else None
            yield at, f"compares the constants {left!r} and {right!r}", hint or "name a field"
        elif right == [] and operator in _IN:
            yield at, f"{operator} of no elements is never true", "name elements"
        operators, effect = _TOGETHER[key]
        is_exact = operator in operators and isinstance(left, str) and _is_constant(right)
        if is_exact and seen.setdefault(str(left), right) != right:
            text = f"with a condition before it, this is {effect} true for any {left}"
            yield at, text, f"use {'AnyNotIn' if key == 'any' else 'AnyIn'} and a list"


def _is_constant(value: Json) -> bool:
    return isinstance(value, bool | int | float) or (
        isinstance(value, str) and not any(mark in value for mark in ("{{", "*", "?", "$("))
    )


@policy_rule("CK711")
def missing_message(subject: Subject) -> Iterator[Fault]:
    """Rules without a message."""
    cel = subject.cel_policy
    for path, rule in subject.rules:
        # A condition may have a message of its own.
        texts = texts_below(rule.body.get("validate"))
        has_message = any(text.strip() for at, text in texts if at[-1:] == ("message",))
        if rule.kind is RuleKind.VALIDATE and not has_message:
            yield Fault((*path, "validate"), f"rule {rule.name}: has no message")
    for index, validation in enumerate(cel.validations if cel is not None else ()):
        if not (validation.message.strip() or validation.message_expression.strip()):
            yield Fault(("spec", "validations", index), "a validation has no message")
