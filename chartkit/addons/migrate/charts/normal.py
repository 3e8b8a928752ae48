"""Policies in a normal form, in which two that say the same are equal."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from chartkit.addons.migrate.charts.chosen import each_resource
from chartkit.addons.migrate.files.printed import CEL
from chartkit.documents.reader import read_text
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.syntax import Expr, format_expression, read
from chartkit.engine.cel.syntax import tree as cel
from chartkit.engine.kubernetes.kinds import CONTROLLERS
from chartkit.errors import ChartkitError, InputError
from chartkit.model import Json, Resource, mappings_at

_TRUE: Final = cel.Literal(True)
_FALSE: Final = cel.Literal(False)
_EXTENDED: Final = sorted(each.plural for each in CONTROLLERS if each.group)
_DEFAULT: Final = {"controllers": _EXTENDED, "failurePolicy": "Fail"}
"""Fields with the value that they have anyway."""
WIDTH: Final = 88
_NAME: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_OPPOSITE: Final = {"==": "!=", "!=": "==", "&&": "||", "||": "&&"}


def normal(text: str) -> str:
    """Return an expression on one line, in its normal form; as it is where it is not CEL."""
    try:
        return format_expression(_simplified(read(text, ENVIRONMENTS["vpol"])), math.inf)
    except ChartkitError:
        return text


def laid_out(text: str) -> str:
    """Return an expression on lines as a policy has them."""
    return format_expression(read(text, ENVIRONMENTS["vpol"]), WIDTH)


def normal_policy(value: Json, key: str = "") -> Json:
    """Return a policy, or a part of one, with its expressions in their normal form, and without
    empty fields."""
    if isinstance(value, dict):
        made = {inner: normal_policy(part, inner) for inner, part in value.items()}
        return {
            inner: part
            for inner, part in made.items()
            if part is not None and part != {} and (part != [] or inner == "controllers")
            if _DEFAULT.get(inner) != part
        }
    if isinstance(value, list):
        is_rules = key == "resourceRules"
        items: list[Any] = [
            normal_policy(part) for part in (each_resource(value) if is_rules else value)
        ]
        if is_rules:
            return sorted({json.dumps(item, sort_keys=True) for item in items})
        if key == "matchConditions":
            return [item for item in items if item.get("expression") != "true"]
        if key == "controllers":
            return sorted(items, key=str)
        if key == "validations":
            items = [item for at, item in enumerate(items) if item not in items[:at]]
            is_alike = len({json.dumps(item.get("message")) for item in items}) == 1
            return sorted(items, key=json.dumps) if is_alike else items
        return items
    if not isinstance(value, str):
        return value
    if key in CEL:
        return normal(value)
    if key == "value" and "\n" in value:
        try:
            return [document.body for document in read_text(value)]
        except InputError:
            return value
    return value


def _simplified(expr: Expr) -> Expr:
    made = cel.transform(expr, _simplified)
    match made:
        case cel.Commented(inner, _):
            return inner
        case cel.Binary("in", left, cel.ListLiteral(elements, _)):
            return _among(left, elements)
        case cel.Call(
            "exists",
            items,
            (cel.Ident(name), cel.Binary("==", cel.Ident(left), cel.Literal() as right)),
        ) if items is not None and name == left:
            return cel.Binary("in", right, items)
        case cel.Index(operand, cel.Literal(str() as name), optional) if _NAME.fullmatch(name):
            return cel.Select(operand, name, optional)
        case cel.Binary("==", left, cel.Literal() as right):
            return _among(left, [right])
        case cel.Binary("!=", left, cel.Literal() as right):
            return _opposite(_among(left, [right]))
        case cel.Unary("!", operand):
            return _opposite(operand)
        case cel.Chain(operator, terms):
            return _chained(operator, terms)
        case cel.Conditional(cel.Literal(value), then, otherwise) if isinstance(value, bool):
            return then if value else otherwise
    return made


def _absent_or(field: Expr, value: Expr) -> Expr:
    """Report whether a field is absent or a value."""
    named = _named(field)
    present: Expr = cel.Call("hasValue", field, ())
    if isinstance(field, cel.Select) and field.operand == _named(field.operand):
        present = cel.Call("has", None, (named,))
    return _chained("||", [_opposite(present), cel.Binary("==", named, value)])


def _named(field: Expr) -> Expr:
    """Return a field that is taken to be there."""
    match field:
        case cel.Select(operand, name, _):
            return cel.Select(_named(operand), name)
        case cel.Index(operand, key, _):
            return cel.Index(_named(operand), key)
    return field


def _among(left: Expr, elements: Sequence[Expr]) -> Expr:
    """Report whether a value is one of some."""
    if all(isinstance(element, cel.Literal) for element in elements):
        elements = sorted(set(elements), key=repr)
    match left:
        case cel.Call("orValue", (cel.Select() | cel.Index()) as field, (usual,)) if (
            usual in elements
        ):
            others = [element for element in elements if element != usual]
            return _chained("||", [_absent_or(field, usual), _among(left, others)])
    if not elements:
        return _FALSE
    if len(elements) == 1:
        return cel.Binary("==", left, elements[0])
    return cel.Binary("in", left, cel.ListLiteral(tuple(elements)))


def _opposite(operand: Expr) -> Expr:
    match operand:
        case cel.Literal(value) if isinstance(value, bool):
            return cel.Literal(not value)
        case cel.Unary("!", inner):
            return inner
        case cel.Binary("==" | "!=" as operator, left, right):
            return cel.Binary(_OPPOSITE[operator], left, right)
        case cel.Chain(operator, terms):
            return _chained(_OPPOSITE[operator], [_opposite(term) for term in terms])
    return cel.Unary("!", operand)


def _chained(operator: str, terms: Sequence[Expr]) -> Expr:
    neutral, absorbing = (_FALSE, _TRUE) if operator == "||" else (_TRUE, _FALSE)
    flat: list[Expr] = []
    for term in terms:
        inner = term.terms if isinstance(term, cel.Chain) and term.operator == operator else (term,)
        flat += [part for part in inner if part != neutral and part not in flat]
    if absorbing in flat:
        return absorbing
    flat = sorted(_joined(operator, flat), key=repr)
    return cel.chain(operator, flat) if flat else neutral


def _joined(operator: str, terms: Sequence[Expr]) -> list[Expr]:
    """Return terms with one list for all comparisons of a value with constants."""
    joined: list[Expr] = []
    among: dict[Expr, tuple[int, list[Expr]]] = {}
    for term in terms:
        compared = _compared(term if operator == "||" else _opposite(term))
        if compared is None:
            joined.append(term)
            continue
        left, constants = compared
        if left not in among:
            among[left] = len(joined), []
            joined.append(term)
        among[left][1].extend(constants)
    for left, (at, constants) in among.items():
        whole = _among(left, constants)
        joined[at] = whole if operator == "||" else _opposite(whole)
    return joined


def _compared(term: Expr) -> tuple[Expr, list[Expr]] | None:
    match term:
        case cel.Binary("==", left, cel.Literal() as right):
            return left, [right]
        case cel.Binary("in", left, cel.ListLiteral(elements, _)):
            is_constant = all(isinstance(element, cel.Literal) for element in elements)
            return (left, list(elements)) if is_constant else None
    return None


def by_rule(policy: Resource) -> Iterator[Resource]:
    """Yield a policy for each rule of one, with the rule's name behind its own."""
    body = policy.body
    for rule in mappings_at(body, "spec", "rules"):
        name = re.sub("[^a-z0-9.-]", "-", str(rule.get("name")))
        metadata = {**body["metadata"], "name": f"{policy.name}-{name}"}
        spec = {**body["spec"], "rules": [rule]}
        yield Resource({**body, "metadata": metadata, "spec": spec}, policy.location)
