"""Policies with one thing changed: an operator, a literal, an anchor, a condition left out.

What decides nothing about an object is left as it is: names, messages, and settings of webhooks and
of background scans.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.errors import CelCompileError
from chartkit.engine.cel.syntax import Expr, format_expression, read, tree
from chartkit.model import (
    Body,
    FieldPath,
    Json,
    mapping_at,
    mappings_at,
    renamed,
    texts_below,
    with_value,
)
from chartkit.wording import shortened

LITERAL: Final = "literal"
"""The part of changes of texts, numbers and booleans."""
_CEL_GROUP: Final = "policies.kyverno.io/"
_LONGEST: Final = 70
"""The most characters of an expression in the words of a change."""
_AROUND: Final = 25
"""The characters around an operator of JMESPath in the words of a change."""
_SAYING: Final = frozenset(("message", "messageExpression", "valueExpression"))
_NAMED: Final = re.compile(r"\bvariables\.(\w+)")
_EXPRESSIONS: Final = frozenset(("expression", "schedule"))
_FLIPPED: Final = {
    "==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "+": "-", "in": "=="
}  # fmt: skip
_FUNCTIONS: Final = {
    "all": "exists", "exists": "all", "startsWith": "endsWith", "endsWith": "contains",
    "contains": "startsWith", "exists_one": "exists", "lowerAscii": "upperAscii",
}  # fmt: skip
_LISTS: Final = ("matchConditions", "validations", "generate", "conditions")
_IDLE: Final = frozenset(
    (
        *("name", "message", "failureAction", "validationFailureAction", "skipBackgroundRequests"),
        *("allowExistingViolations", "generateExisting", "mutateExistingOnPolicyUpdate"),
        *("synchronize",),
        *("orphanDownstreamOnPolicyDelete", "operations", "uid", "attestors", "order"),
    )
)
"""Keys of rules that decide nothing about an object that is created."""
_ANCHORED: Final = re.compile(r"(?P<anchor>[=^X+<]?)\((?P<key>.+)\)")
_OPERATORS: Final = {
    "Equals": "NotEquals", "NotEquals": "Equals", "Equal": "NotEquals", "NotEqual": "Equals",
    "In": "NotIn", "NotIn": "In", "AnyIn": "AnyNotIn", "AnyNotIn": "AnyIn",
    "AllIn": "AllNotIn", "AllNotIn": "AllIn",
    "GreaterThan": "GreaterThanOrEquals", "GreaterThanOrEquals": "GreaterThan",
    "LessThan": "LessThanOrEquals", "LessThanOrEquals": "LessThan",
}  # fmt: skip
_LEADING: Final = {">=": ">", "<=": "<", ">": ">=", "<": "<=", "!": ""}
_VARIABLE: Final = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_JMESPATH: Final = re.compile(r"==|!=|>=|<=|&&|\|\||`true`|`false`|(?<=\[\?)!|>|<|`(\d+)`")
_IN_JMESPATH: Final = {
    "==": "!=", "!=": "==", ">=": ">", "<=": "<", ">": ">=", "<": "<=", "&&": "||", "||": "&&",
    "`true`": "`false`", "`false`": "`true`", "!": "",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a policy. path: of the value in the policy; part: what kind of thing is changed;
    text: the change in words; value: the new value."""

    path: FieldPath
    part: str
    text: str
    value: Json

    def applied(self, body: Body) -> Body:
        """Return a policy with the change; the given one stays as it is."""
        changed: Body = with_value(body, self.path, self.value)
        return changed


def changes(body: Body) -> Iterator[Change]:
    """Yield every change of a policy of either generation."""
    spec = mapping_at(body, "spec")
    if str(body.get("apiVersion")).startswith(_CEL_GROUP):
        yield from _settings(spec)
        # The paths of variables that messages alone read, which decide nothing.
        variables = mappings_at(spec, "variables")
        texts = {
            str(variable.get("name")): str(variable.get("expression")) for variable in variables
        }
        rest = {key: value for key, value in spec.items() if key != "variables"}
        deciding = [text for path, text in texts_below(rest) if path[-1] not in _SAYING]
        read: set[str] = set()
        while deciding:
            names = set(_NAMED.findall(deciding.pop())) - read
            read |= names
            deciding += [texts[name] for name in names if name in texts]
        idle = {
            ("variables", at)
            for at, variable in enumerate(variables)
            if variable.get("name") not in read
        }
        for path, text in texts_below(spec, ("spec",)):
            if path[-1] in _EXPRESSIONS and path[1:3] not in idle:
                yield from _changed_expressions(text, path)
        return
    for index, rule in enumerate(mappings_at(spec, "rules")):
        path = ("spec", "rules", index)
        for rule_key in ("exclude", "preconditions"):
            if rule.get(rule_key):
                rest = {name: rule_value for name, rule_value in rule.items() if name != rule_key}
                yield Change(path, "part left out", f"without {rule_key}", rest)
        for rule_key, rule_value in rule.items():
            yield from _values(rule_value, (*path, rule_key), rule_key)


def _settings(spec: Body) -> Iterator[Change]:
    """Yield changes of lists of rules and conditions, and of the action."""
    if spec.get("validationActions") == ["Deny"]:
        yield Change(("spec", "validationActions"), "action", "Audit", ["Audit"])
    for key in _LISTS:
        listed = spec.get(key)
        if not isinstance(listed, list):
            continue
        for at in range(len(listed)):
            if len(listed) > 1 or key in ("matchConditions", "conditions"):
                rest = [*listed[:at], *listed[at + 1 :]]
                yield Change(("spec", key), "part left out", f"without {key}[{at}]", rest)
    for at, rule in enumerate(mappings_at(spec, "matchConstraints", "resourceRules")):
        for key in ("operations", "resources", "apiGroups"):
            path = ("spec", "matchConstraints", "resourceRules", at, key)
            yield from _without_items(rule.get(key), path)


def _without_items(listed: Json, path: FieldPath) -> Iterator[Change]:
    """Yield a list of several items without each of them."""
    if isinstance(listed, list) and len(listed) > 1:
        for at, item in enumerate(listed):
            name = f"without {item}" if isinstance(item, str) else f"without item {at}"
            yield Change(path, "part left out", name, [*listed[:at], *listed[at + 1 :]])


def _changed_expressions(text: str, path: FieldPath) -> Iterator[Change]:
    try:
        expr = read(text, ENVIRONMENTS["mpol"])
    except CelCompileError:
        return
    before = format_expression(expr)
    for part, said, other in _changed(expr):
        after = format_expression(other)
        if after != before:
            yield Change(path, part, said, after)


def _changed(expr: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield an expression with one thing changed in it or in a part of it: what kind of thing, the
    change in words, and the whole."""
    for name, said, new in _replaced(expr):
        yield name, said or f"{_short(expr)} -> {_short(new)}", new
    for field in dataclasses.fields(expr):
        value: Any = getattr(expr, field.name)
        if _is_stand_in(expr, field.name, value):
            continue
        if dataclasses.is_dataclass(value):
            for name, said, other in _changed(value):
                yield name, said, dataclasses.replace(expr, **{field.name: other})
        elif isinstance(value, tuple):
            for at, member in enumerate(value):
                if dataclasses.is_dataclass(member) and not _is_stand_in(expr, field.name, member):
                    for name, said, other in _changed(member):
                        members = (*value[:at], other, *value[at + 1 :])
                        yield name, said, dataclasses.replace(expr, **{field.name: members})


def _is_stand_in(expr: Any, field: str, value: Any) -> bool:
    """Report whether a part is an empty text in place of a missing value, as in
    `orValue('')` or `has(x) ? x : ''`: which one it is does not matter."""
    is_default = isinstance(expr, tree.Conditional) and field in ("then", "otherwise")
    is_default |= isinstance(expr, tree.Call) and expr.function == "orValue"
    return is_default and value == tree.Literal("")


def _short(expr: Any) -> str:
    return shortened(" ".join(format_expression(expr).split()), _LONGEST)


def _replaced(expr: Expr) -> Iterator[tuple[str, str, Expr]]:
    """Yield the replacements of an expression: the kind of change, the change in words (empty: both
    expressions say it), and the new expression."""
    match expr:
        case tree.Literal(value=bool() as value):
            yield LITERAL, "", tree.Literal(not value)
        case tree.Literal(value=int() | float() as value):
            yield LITERAL, "", tree.Literal(value + 1)
        case tree.Literal(value=str() as value):
            yield LITERAL, "", tree.Literal(f"{value}x")
        case tree.Binary() if expr.operator in _FLIPPED:
            yield "operator", "", dataclasses.replace(expr, operator=_FLIPPED[expr.operator])
        case tree.Chain() if expr.operator in ("&&", "||"):
            other = "||" if expr.operator == "&&" else "&&"
            said = f"{other} for {expr.operator} in {_short(expr)}"
            yield "operator", said, dataclasses.replace(expr, operator=other)
            for at in range(len(expr.terms)):
                rest = (*expr.terms[:at], *expr.terms[at + 1 :])
                remaining = rest[0] if len(rest) == 1 else dataclasses.replace(expr, terms=rest)
                yield "part left out", f"without {_short(expr.terms[at])}", remaining
        case tree.Unary(operator="!"):
            yield "negation", "", expr.operand
        case tree.Conditional():
            said = f"branches swapped in {_short(expr)}"
            yield (
                "branch",
                said,
                dataclasses.replace(expr, then=expr.otherwise, otherwise=expr.then),
            )
        case tree.Call() if expr.function in _FUNCTIONS:
            function = _FUNCTIONS[expr.function]
            said = f"{function} for {expr.function} in {_short(expr)}"
            yield "function", said, dataclasses.replace(expr, function=function)
        case tree.Call(function="has"):
            yield "presence", "", tree.Literal(True)
        case tree.ListLiteral() if len(expr.elements) > 1:
            said = f"without {_short(expr.elements[0])}"
            yield "element", said, dataclasses.replace(expr, elements=expr.elements[1:])
        case _:
            return


def _values(value: Json, path: FieldPath, key: str) -> Iterator[Change]:
    """Yield changes of a value of a rule and of what is below it."""
    if key in _IDLE:
        return
    if isinstance(value, dict):
        yield from _mapping(value, path)
        for name, member in value.items():
            # A field that must not be there has no value.
            if not name.startswith("X("):
                yield from _values(member, (*path, name), name)
    elif isinstance(value, list):
        yield from _without_items(value, path)
        for at, member in enumerate(value):
            yield from _values(member, (*path, at), key)
    elif isinstance(value, bool):
        yield Change(path, LITERAL, f"{json.dumps(value)} -> {json.dumps(not value)}", not value)
    elif isinstance(value, int | float):
        yield Change(path, LITERAL, f"{value} -> {value + 1}", value + 1)
    elif isinstance(value, str):
        for part, said, new in _texts(value, key):
            yield Change(path, part, said or f"{value or repr(value)} -> {new or repr(new)}", new)


def _mapping(value: Body, path: FieldPath) -> Iterator[Change]:
    """Yield a mapping with an anchor dropped, without a key of a pattern, or with any for all."""
    is_condition = {"key", "operator"} <= value.keys()
    for key in value:
        anchored = _ANCHORED.fullmatch(key)
        if anchored:
            name = anchored["key"]
            yield Change(path, "anchor", f"{key} -> {name}", renamed(value, key, name))
        if "pattern" in path or "anyPattern" in path or "patchStrategicMerge" in path:
            rest = {name: part for name, part in value.items() if name != key}
            if rest and not is_condition:
                yield Change(path, "part left out", f"without {key}", rest)
    for key, other in (("any", "all"), ("all", "any")):
        if isinstance(value.get(key), list) and len(value[key]) > 1 and other not in value:
            yield Change(path, "operator", f"{key} -> {other}", renamed(value, key, other))


def _texts(value: str, key: str) -> Iterator[tuple[str, str, str]]:
    """Yield the changes of a text in a rule: the kind of change, the change in words (empty: both
    texts say it), and the new text."""
    if key == "operator" and value in _OPERATORS:
        yield "operator", "", _OPERATORS[value]
        return
    variables = list(_VARIABLE.finditer(value))
    for variable in variables:
        for match in _JMESPATH.finditer(variable[0]):
            number = match[1]
            new = f"`{int(number) + 1}`" if number else _IN_JMESPATH[match[0]]
            start = variable.start() + match.start()
            end = start + len(match[0])
            said = f"{match[0]} -> {new or repr(new)} in"
            said += f" …{value[max(start - _AROUND, 0) : end + _AROUND]}…"
            yield "operator", " ".join(said.split()), value[:start] + new + value[end:]
    if variables or key in ("key", "operator", "jmesPath", "list"):
        return
    for separator in ("|", "&"):
        parts = [part.strip() for part in value.split(separator)]
        if len(parts) > 1 and all(parts):
            for at in range(len(parts)):
                rest = [*parts[:at], *parts[at + 1 :]]
                said = f"without {parts[at]} in {shortened(value, _LONGEST)}"
                yield "part left out", said, f" {separator} ".join(rest)
            return
    for leading, other in _LEADING.items():
        if value.startswith(leading):
            yield "operator", "", other + value.removeprefix(leading)
            break
    yield LITERAL, "", f"{value}x"
