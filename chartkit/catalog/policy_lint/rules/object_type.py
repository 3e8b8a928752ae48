"""CK704: `Object…{}` of mutations whose names or fields are not those of the matched kinds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chartkit.catalog.policy_lint.kind_types import (
    SCALARS,
    Types,
    element_types,
    field_types,
    names_of,
    types_of,
)
from chartkit.catalog.policy_lint.rule import PolicyRule, Subject
from chartkit.catalog.policy_lint.shapes import is_list
from chartkit.engine.cel.ast import Call, Expr, ListLiteral, Literal, StructLiteral, nodes
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.parser.entry import parse
from chartkit.engine.cel_policies.unmatched import kinds_of, mutations_of
from chartkit.engine.kubernetes.field_faults import type_problem
from chartkit.model import Diagnostic, FieldPath
from chartkit.suggestions import suggestion

_ROOT: Final = "Object"


class ObjectType(PolicyRule):
    id = "CK704"

    def check(self, subject: Subject) -> Iterator[Diagnostic]:
        policy = subject.cel_policy
        if policy is None:
            return
        types = types_of(kinds_of(policy))
        for path, text in mutations_of(policy):
            try:
                root = parse(text, ENVIRONMENTS["mpol"]).root
            except CelError:
                continue
            steps: FieldPath = tuple(path.replace("[", ".").replace("]", "").split("."))
            literals = [node for node in nodes(root) if isinstance(node, StructLiteral)]
            faults: dict[int, _Fault] = {}
            for literal in sorted(literals, key=lambda node: node.offset):
                if literal.name.partition(".")[0] == _ROOT:
                    faults = {fault[0]: fault for fault in _faults(literal, types, text)} | faults
            for offset, message, hint in faults.values():
                yield self.finding(subject, steps, message, hint, offset)


_Fault = tuple[int, str, str | None]


def _faults(literal: StructLiteral, types: Types, text: str) -> Iterator[_Fault]:
    """Yield the offset, message and hint of what is wrong with one `Object…{}`; types: of the
    kinds."""
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
            yield from _value_faults(value, f"{literal.name}.{entry.field}", wanted)


def _value_faults(value: Expr, place: str, wanted: Types) -> Iterator[_Fault]:
    if isinstance(value, StructLiteral) and value.name.startswith(f"{_ROOT}."):
        if value.name != place:
            begin, hint = value.offset - len(value.name), f"write {place}{{}}"
            yield begin, f"'{value.name}' is the type of another field than {place}", hint
    elif isinstance(value, Literal) and isinstance(value.value, str | int | float):
        problems = [type_problem(value.value, name) for name in sorted(wanted & SCALARS)]
        if wanted <= SCALARS and all(problems):
            yield value.offset, f"{place} {' or '.join(problems)}", None


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
