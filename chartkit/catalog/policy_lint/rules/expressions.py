"""Expressions in JMESPath and CEL that fail, or read what is not there: CK703, CK704, CK73x."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from chartkit.catalog.policy_lint.expressions import PolicyExpression, Typed, expressions_of
from chartkit.catalog.policy_lint.kind_types import (
    SCALARS,
    Types,
    element_types,
    field_types,
    kinds_selected,
    names_of,
    types_of,
)
from chartkit.catalog.policy_lint.patterns import is_list
from chartkit.catalog.policy_lint.rule import Fault, Subject, policy_rule
from chartkit.catalog.policy_lint.witness import field_tries, witness
from chartkit.engine.cel.ast import Call, Expr, ListLiteral, Literal, StructLiteral, nodes
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.parser.entry import parse
from chartkit.engine.cel_policies.unmatched import kinds_of, mutations_of
from chartkit.engine.jmespath.advice import call_mistakes, roots_of
from chartkit.engine.jmespath.nodes import WHOLE_INPUT
from chartkit.engine.kubernetes.field_faults import type_problem
from chartkit.model import pointed_at, texts_below, with_value
from chartkit.suggestions import did_you_mean, nearest, suggestion

_ROOT: Final = "Object"
_MEANT = frozenset((WHOLE_INPUT, "null"))
"""Names with the value that they seem to have: `request.object.a || null`."""
_ESCAPE: Final = re.compile(r"\{\{-?\s*`\s*\{\{[^`]*\}\}\s*`\s*-?\}\}")


@policy_rule("CK703")
def query_field(subject: Subject) -> Iterator[Fault]:
    """Fields in JMESPath that no matched kind has."""
    for expression in expressions_of(subject.cluster_policy):
        for name, owner in expression.unknown:
            yield _unknown_field(subject, expression, name, owner)


def _unknown_field(
    subject: Subject, expression: PolicyExpression, name: str, owner: Typed
) -> Fault:
    rule, path = expression.rule, expression.path
    offset = expression.offset + max(expression.text.find(name), 0)
    kinds = dict.fromkeys(kind.kind for kind in kinds_selected(rule.match.kinds))
    field = ".".join(filter(None, (owner.field, name)))
    message = f"rule {rule.name}: no {' or '.join(kinds)} has the field {field}"
    hint = None
    if is_list(owner.types):
        hint = f"{owner.field} is a list: write {owner.field}[].{name}"
    elif near := next(iter(nearest(name, names_of(owner.types), 1)), None):
        hint = did_you_mean([near])
        text = pointed_at(subject.resource.body, map(str, path))
        if isinstance(text, str) and text[offset:].startswith(name):
            corrected = f"{text[:offset]}{near}{text[offset + len(name) :]}"
            body = with_value(subject.resource.body, path, corrected)
            above = owner.field.replace("[]", ".[]").split(".") if owner.field else ()
            steps = (*above, near)
            tries = list(field_tries(steps, field_types(owner.types, near)))
            message += witness(subject, rule, body, lambda _: tries)
    return Fault(path, message, hint, offset)


@policy_rule("CK704")
def object_type(subject: Subject) -> Iterator[Fault]:
    """`Object…{}` of mutations with other names or fields than the matched kinds have."""
    policy = subject.cel_policy
    if policy is None:
        return
    types = types_of(kinds_of(policy))
    for path, text in mutations_of(policy):
        try:
            root = parse(text, ENVIRONMENTS["mpol"]).root
        except CelError:
            continue
        literals = [node for node in nodes(root) if isinstance(node, StructLiteral)]
        faults: dict[int, _LiteralFault] = {}
        for literal in sorted(literals, key=lambda node: node.offset):
            if literal.name.partition(".")[0] == _ROOT:
                mistakes = _literal_faults(literal, types, text)
                faults = {fault[0]: fault for fault in mistakes} | faults
        steps = tuple(path.replace("[", ".").replace("]", "").split("."))
        for offset, message, hint in faults.values():
            yield Fault(steps, message, hint, offset)


_LiteralFault = tuple[int, str, str | None]
"""The offset, message and hint of what is wrong with an `Object…{}`."""


def _literal_faults(literal: StructLiteral, types: Types, text: str) -> Iterator[_LiteralFault]:
    """Yield what is wrong with one `Object…{}`; types: of the kinds."""
    owner, begin = types, literal.offset - len(literal.name)
    for name in literal.name.split(".")[1:]:
        below = field_types(_element(owner), name)
        if not below:
            message = f"no matched kind has the field of the type '{literal.name}'"
            yield begin, message, suggestion(name, names_of(_element(owner)))
            return
        owner = below
    for entry in literal.fields:
        wanted = field_types(_element(owner), entry.field)
        if not wanted:
            offset = max(text.rfind(entry.field, 0, entry.offset), 0)
            message = f"{literal.name} has no field '{entry.field}' in any matched kind"
            yield offset, message, suggestion(entry.field, names_of(_element(owner)))
            continue
        for value in _values(entry.value):
            field = f"{literal.name}.{entry.field}"
            if isinstance(value, StructLiteral) and value.name.startswith(f"{_ROOT}."):
                if value.name != field:
                    begin, hint = value.offset - len(value.name), f"write {field}{{}}"
                    yield begin, f"'{value.name}' is the type of another field than {field}", hint
            elif isinstance(value, Literal) and isinstance(value.value, str | int | float):
                problems = [type_problem(value.value, name) for name in sorted(wanted & SCALARS)]
                if wanted <= SCALARS and all(problems):
                    yield value.offset, f"{field} {' or '.join(problems)}", None


def _values(node: Expr) -> Iterator[Expr]:
    """Yield the values that an expression may have, as far as it is written with literals."""
    if isinstance(node, ListLiteral):
        for element in node.elements:
            yield from _values(element)
    elif isinstance(node, Call) and node.function == "_?_:_":
        for branch in node.args[1:]:
            yield from _values(branch)
    else:
        yield node


def _element(types: Types) -> Types:
    return element_types(types) if is_list(types) else types


@policy_rule("CK730")
def call_mistake(subject: Subject) -> Iterator[Fault]:
    """Calls of functions that always fail."""
    for expression in expressions_of(subject.cluster_policy):
        text, rule = expression.text, expression.rule
        for mistake in call_mistakes(text, expression.is_text):
            message = f"rule {rule.name}: {mistake.problem}: the rule fails with an error"
            offset = expression.offset + max(text.find(f"{mistake.function}("), 0)
            yield Fault(expression.path, message, mistake.hint, offset)


@policy_rule("CK731")
def undefined_name(subject: Subject) -> Iterator[Fault]:
    """Names in JMESPath that are not variables."""
    for expression in expressions_of(subject.cluster_policy):
        for name in sorted(roots_of(expression.text) - _MEANT):
            if not expression.has(name):
                near = nearest(name, expression.names, 1, 0.75)
                hint = did_you_mean(near) or f"write '{name}' if it is a text"
                match = re.search(rf"(?<![\w.'\"-]){re.escape(name)}(?![\w'\"-])", expression.text)
                offset = expression.offset + (match.start() if match else 0)
                message = f"rule {expression.rule.name}: there is no variable '{name}'"
                yield Fault(expression.path, message, hint, offset)


@policy_rule("CK732")
def helm_escape(subject: Subject) -> Iterator[Fault]:
    """Helm's escapes that Helm did not remove."""
    if not subject.resource.api_version.startswith("kyverno.io/"):
        return
    for path, text in texts_below(subject.resource.body.get("spec"), ("spec",)):
        if match := _ESCAPE.search(text):
            message = "the variable has the escaping of a Helm template"
            hint = "write {{ … }} without the outer braces and the backticks"
            yield Fault(path, message, hint, match.start())
