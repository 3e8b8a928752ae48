"""Patterns and overlays of policies that do not say what they seem to: CK70x."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from chartkit.catalog.policy_lint.kind_types import (
    ANY,
    SCALARS,
    is_object,
    kinds_selected,
    names_of,
)
from chartkit.catalog.policy_lint.patterns import (
    PatternValue,
    field_text,
    is_list,
    patterns_of,
    values_of,
)
from chartkit.catalog.policy_lint.rule import Fault, Subject, policy_rule
from chartkit.catalog.policy_lint.witness import passing_without, pattern_tries, with_key, witness
from chartkit.engine.cluster_policy.pattern.build import AnchorKind, parse_anchor
from chartkit.engine.cluster_policy.pattern.scalar import (
    ORDERS,
    Range,
    compile_scalar,
    read_alternatives,
    read_operation,
)
from chartkit.engine.context.variables import has_reference
from chartkit.engine.kubernetes.field_faults import fields_of
from chartkit.go.duration import duration_or_none
from chartkit.go.quantity import quantity_or_none
from chartkit.model import Json, texts_below, values_below
from chartkit.suggestions import did_you_mean, nearest

_TEXT: Final = frozenset({"string"})
_BOOL: Final = frozenset({"bool"})
_NEVER_REQUIRED: Final = frozenset({"initContainers", "ephemeralContainers"})
"""Lists that no policy requires an object to have."""
_IF_PRESENT: Final = frozenset({AnchorKind.EQUALITY, AnchorKind.NEGATION, AnchorKind.CONDITION})
_LESS: Final = re.compile(r"\s*<")


@policy_rule("CK701")
def half_anchor(subject: Subject) -> Iterator[Fault]:
    """Keys of patterns that are half an anchor."""
    for part in patterns_of(subject.cluster_policy):
        for path, _ in values_below(part.value, part.path):
            key = path[-1]
            if (
                not isinstance(key, str)
                or "{{" in key
                or not {"(", ")"} & set(key)
                or parse_anchor(key) is not None
            ):
                continue
            message = f"rule {part.rule.name}: '{key}' is not an anchor, and no field has this name"
            name = key.strip("+<=X^() ")
            hint = f"write ({name}), =({name}) or another anchor in full, or '{name}' without "
            if not (part.is_overlay or part.loops):
                tries = pattern_tries(part, (*path[:-1], name))
                message += witness(subject, part.rule, with_key(subject, path, name), tries)
            yield Fault(path, message, f"{hint}brackets")


@policy_rule("CK702")
def pattern_field(subject: Subject) -> Iterator[Fault]:
    """Fields in patterns that no matched kind has."""
    for part in patterns_of(subject.cluster_policy):
        for value in values_of(part):
            if value.types or value.steps[-1] == "[]":
                continue
            kinds = dict.fromkeys(kind.kind for kind in kinds_selected(part.kinds))
            owner = "element" if part.loops else " or ".join(kinds)
            message = f"rule {part.rule.name}: no {owner} has the field {field_text(value.steps)}"
            name = next(iter(nearest(value.steps[-1], names_of(value.owner), 1)), None)
            if name is not None and not (part.is_overlay or part.loops):
                key = str(value.path[-1]).replace(value.steps[-1], name)
                tries = pattern_tries(part, (*value.path[:-1], key))
                message += witness(subject, part.rule, with_key(subject, value.path, key), tries)
            yield Fault(value.path, message, None if name is None else did_you_mean([name]))


@policy_rule("CK705")
def pattern_value(subject: Subject) -> Iterator[Fault]:
    """Values in patterns that no value of their field's type can match."""
    for part in patterns_of(subject.cluster_policy):
        for value in values_of(part):
            if value.anchor is AnchorKind.NEGATION or not value.types or value.types == ANY:
                continue
            if fault := _value_fault(value, part.is_overlay):
                text, hint = fault
                message = f"rule {part.rule.name}: {field_text(value.steps)} is {text}"
                yield Fault(value.path, message, hint)


def _value_fault(value: PatternValue, is_overlay: bool) -> tuple[str, str] | None:
    """Return the type that the value should have, with a hint; None where it fits."""
    given, types = value.value, value.types
    if isinstance(given, dict):
        return None if any(map(is_object, types)) else (_named(value), "write no object here")
    if isinstance(given, list):
        fits = any(name.startswith("[]") for name in types)
        return None if fits else (_named(value), "write no list here")
    if given is None or types - SCALARS:
        return None
    if types == _TEXT and (isinstance(given, bool) or (is_overlay and not isinstance(given, str))):
        shown = str(given).lower()
        kind = "boolean" if isinstance(given, bool) else "number"
        return f"a text, and {shown} is a {kind}", "put the text in quotes"
    if types == _BOOL and isinstance(given, str) and "{{" not in given and "$(" not in given:
        holds = compile_scalar(given)
        if not (holds(True) or holds(False)):
            return f"a boolean, which '{given}' never matches", "write true or false"
    return None


def _named(value: PatternValue) -> str:
    if is_list(value.types):
        return "a list"
    return "an object" if any(map(is_object, value.types)) else f"a {' or '.join(value.types)}"


@policy_rule("CK708")
def optional_field(subject: Subject) -> Iterator[Fault]:
    """Optional fields in patterns that become required for want of an anchor."""
    for part in patterns_of(subject.cluster_policy):
        if part.is_overlay or part.loops or "anyPattern" in part.path:
            continue
        for value in values_of(part):
            if _is_optional(value):
                key, field = value.steps[-1], field_text(value.steps)
                message = f"rule {part.rule.name}: an object without {field} is refused"
                corrected = with_key(subject, value.path, f"=({key})")
                message += witness(subject, part.rule, corrected, lambda _: [((), None)])
                yield Fault(value.path, message, f"write =({key})")


def _is_optional(value: PatternValue) -> bool:
    """Report whether a value is a list without an anchor that only restricts elements."""
    if value.anchor is not None or not isinstance(value.value, list) or not is_list(value.types):
        return False
    if "[]" not in value.steps and value.steps[-1] in _NEVER_REQUIRED:
        return True
    name = value.steps[-1]
    fields = [fields_of(owner).get(name) for owner in value.owner]
    is_required = any(field is not None and field.required for field in fields)
    return not is_required and bool(value.value) and all(map(_only_restricts, value.value))


def _only_restricts(element: Json) -> bool:
    if not isinstance(element, dict) or not element:
        return False
    anchors = [parse_anchor(key) for key in element]
    return all(anchor is not None and anchor.kind in _IF_PRESENT for anchor in anchors)


@policy_rule("CK709")
def pattern_operation(subject: Subject) -> Iterator[Fault]:
    """Operators in patterns that hold for other values than the text says."""
    for part in patterns_of(subject.cluster_policy):
        if part.is_overlay:
            continue
        for path, text in texts_below(part.value, part.path):
            if fault := _operator_fault(text):
                message = f"rule {part.rule.name}: {fault[0]}"
                yield Fault(path, message, fault[1])
        for value in values_of(part) if not part.loops else ():
            text = value.value
            if not isinstance(text, str) or not _LESS.match(text) or value.anchor is not None:
                continue
            if "{{" in text or not compile_scalar(text)(None):
                continue
            if shown := passing_without(subject, part.rule, value.steps):
                field = field_text(value.steps)
                message = f"rule {part.rule.name}: '{text}' holds without {field}{shown}"
                yield Fault(value.path, message, f"write '>0 & {text.strip()}'")


def _operator_fault(text: str) -> tuple[str, str] | None:
    """Return the fault in the operators of a pattern's text, with a hint."""
    if "{{" in text or has_reference(text):
        return None
    for operation in (read_operation(part) for both in read_alternatives(text) for part in both):
        if isinstance(operation, Range):
            continue
        prefix, operand = operation
        inner = read_operation(operand) if prefix else operation
        if isinstance(inner, Range) and not inner.excludes and prefix == "!":
            hint = f"write {inner.low}!-{inner.high} for what is outside of the range"
            return f"'{text}' holds for every number: it negates the text '{operand}'", hint
        if prefix in ORDERS and not (
            duration_or_none(operand) is not None or quantity_or_none(operand) is not None
        ):
            return f"'{text}' never holds: '{operand}' is not a number, quantity or duration", ""
    return None
