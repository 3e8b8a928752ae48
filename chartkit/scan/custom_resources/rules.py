"""The rules of `x-kubernetes-validations`, in CEL, and the types that they see a schema's values
as.

Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel, `SchemaDeclType` of
k8s.io/apiserver/pkg/cel/common.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from chartkit.engine.cel import ENVIRONMENTS, CelCompileError, CelError, Environment, Program
from chartkit.engine.cel import compile_expression as compile_cel
from chartkit.engine.cel.ast import Ident, nodes
from chartkit.engine.cel.declarations import StructType, Variable
from chartkit.engine.cel.errors import CostLimitExceeded
from chartkit.engine.cel.host import OFFLINE
from chartkit.engine.cel.library.kubernetes.admission import declared
from chartkit.engine.cel.times import Duration, timestamp_of_text
from chartkit.engine.cel.tracing.calls import RepeatHost
from chartkit.engine.cel.tracing.datum import Datum
from chartkit.engine.cel.tracing.junctions import pointers
from chartkit.engine.cel.tracing.planner import causes_of
from chartkit.engine.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    Type,
    list_of,
    map_of,
    optional_of,
    struct,
)
from chartkit.engine.cel.values import NONE, Value
from chartkit.go import GoError
from chartkit.go.types import decode_base64
from chartkit.model import FieldPath, Json, pointer_steps
from chartkit.scan.custom_resources.formats import read_duration
from chartkit.scan.custom_resources.schema import Rule, Schema, member
from chartkit.scan.custom_resources.validation import OMITTED, Problem, Reason, field_name, problem

BUDGET: Final = 10_000_000
"""The cost of all rules for one object, as in an API server."""
_MOST_MESSAGE: Final = 5 * 1024
_REASONS: Final[Mapping[str, Reason]] = {
    "FieldValueForbidden": Reason.FORBIDDEN,
    "FieldValueRequired": Reason.REQUIRED,
    "FieldValueDuplicate": Reason.DUPLICATE,
}
_SPENT: Final = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)
_STEP: Final = re.compile(r"\.?([^.\[\]']+)|\['((?:[^'\\]|\\.)*)'\]")
_SELF: Final = "selfType"
_KEYWORDS: Final = frozenset(
    (
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for"),
        *("function", "if", "import", "let", "loop", "package", "namespace", "return", "var"),
        *("void", "while"),
    )
)
_ESCAPED: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_ESCAPING: Final = re.compile(r"__|[-./]")
_NAME: Final = re.compile(r"[A-Za-z_./-][\w./-]*", re.ASCII)
_UNESCAPING: Final = re.compile(r"__(underscores|dot|dash|slash)__")
_CHARACTERS: Final = {"underscores": "__", "dot": ".", "dash": "-", "slash": "/"}
_SCALARS: Final = {"boolean": BOOL, "number": DOUBLE, "integer": INT}
_FORMATS: Final = {"byte": BYTES, "duration": DURATION, "date": TIMESTAMP, "date-time": TIMESTAMP}
_TEXT: Final = Schema(types=("string",))
_ROOT: Final = {
    "apiVersion": _TEXT,
    "kind": _TEXT,
    "metadata": Schema(types=("object",), properties={"name": _TEXT, "generateName": _TEXT}),
}
"""The fields that rules see of every object that is whole, whatever its schema says."""


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """A rule with its programs; transition: whether it compares with an earlier object; fault: why
    it does not compile; message_fault: why its message expression does not, in place of which its
    message is used."""

    rule: Rule
    program: Program | None
    message: Program | None
    transition: bool
    fault: str = ""
    message_fault: str = ""


@dataclass(frozen=True, slots=True)
class PlacedRule:
    """A rule with the schema of the values that it judges; is_root: whether these are whole
    objects; path: where the rule is in the schema of the kind."""

    rule: Rule
    shape: Schema
    is_root: bool
    path: FieldPath


@cache
def _environment(optional_old: bool) -> Environment:
    variables = {"self": Variable(DYN), "oldSelf": Variable(DYN)}
    name = "crd-optional" if optional_old else "crd"
    return ENVIRONMENTS["k8s"].extend(variables, name=name)


@lru_cache(maxsize=1024)
def _typed(shape: Schema, is_root: bool, optional_old: bool) -> Environment | None:
    """Return the environment in which rules about a schema's values are checked; None where there
    is none, for rules see no values of it."""
    own = self_type(shape, is_root)
    if own is None:
        return None
    old = optional_of(own.type) if optional_old else own.type
    variables = {"self": Variable(own.type), "oldSelf": Variable(old)}
    return _environment(optional_old).extend(variables, structs=own.structs)


@lru_cache(maxsize=4096)
def compile_rule(rule: Rule, shape: Schema, is_root: bool) -> CompiledRule:
    """Return a rule, checked with the types of its values and compiled; one that does not compile
    has a fault. shape: the schema of the values; is_root: whether these are whole objects."""
    if not rule.rule.strip():
        return CompiledRule(rule, None, None, transition=False)
    typed = _typed(shape, is_root, rule.optional_old)
    if typed is None:
        fault = "failed to convert to declType for CEL validation rules"
        return CompiledRule(rule, None, None, transition=False, fault=fault)
    program = _program(rule.rule, typed, rule, BOOL)
    if isinstance(program, str):
        return CompiledRule(rule, None, None, transition=False, fault=program)
    message: Program | str | None = None
    if rule.message_expression:
        message = _program(rule.message_expression, typed, rule, STRING)
    reads_old = any(
        isinstance(node, Ident) and node.name == "oldSelf" for node in nodes(program.root)
    )
    if isinstance(message, str):
        return CompiledRule(rule, program, None, transition=reads_old, message_fault=message)
    return CompiledRule(rule, program, message, transition=reads_old)


def _program(text: str, typed: Environment, rule: Rule, expected: Type) -> Program | str:
    """Return a program that an expression makes, or why it does not compile."""
    try:
        compile_cel(text.strip(), typed, expected=(expected,))
        return compile_cel(text.strip(), _environment(rule.optional_old))
    except CelCompileError as error:
        return str(error)


@lru_cache(maxsize=16384)
def has_rules(schema: Schema) -> bool:
    """Report whether any node of a schema has rules."""
    return next(rules_of(schema), None) is not None


def rules_of(schema: Schema) -> Iterator[PlacedRule]:
    """Yield the rules of all nodes."""
    waiting: list[tuple[Schema, Schema | None, bool, FieldPath]] = [(schema, schema, True, ())]
    while waiting:
        node, shape, is_root, path = waiting.pop()
        for at, rule in enumerate(node.rules):
            here = (*path, "x-kubernetes-validations", at)
            yield PlacedRule(rule, node if shape is None else shape, is_root, here)
        for at, branch in enumerate(node.all_of):
            waiting.append((branch, shape, is_root, (*path, "allOf", at)))
        for key, schema_ in node.properties.items():
            below = member(shape, key)
            waiting.append((schema_, below, _embeds(below), (*path, "properties", key)))
        if node.items is not None:
            below = shape.items if shape else None
            waiting.append((node.items, below, _embeds(below), (*path, "items")))
        if isinstance(node.additional, Schema):
            below = shape.additional if shape and isinstance(shape.additional, Schema) else None
            where = (*path, "additionalProperties")
            waiting.append((node.additional, below, _embeds(below), where))


def _embeds(schema: Schema | None) -> bool:
    return schema is not None and schema.embeds


def rule_problems(schema: Schema, body: Json) -> Iterator[tuple[Problem, tuple[FieldPath, ...]]]:
    """Yield the errors of a new object, each with the fields that the rule read."""
    yield from _Run().visit(schema, schema, body, (), frozenset())


class _Run:
    """The rules of an object, within the budget."""

    def __init__(self) -> None:
        self._left = BUDGET

    def visit(
        self, rules: Schema, shape: Schema, value: Json, path: FieldPath, keys: frozenset[int]
    ) -> Iterator[tuple[Problem, tuple[FieldPath, ...]]]:
        """Judge a value and those below; rules: the schema whose rules count, which is one of
        `allOf` or the same as shape."""
        if value is None or self._left < 0:
            return
        if rules.rules:
            yield from self._judge(rules, shape, value, path, keys)
        for branch in rules.all_of:
            if has_rules(branch):
                yield from self.visit(branch, shape, value, path, keys)
        if isinstance(value, dict):
            for key, item in value.items():
                below, kind = member(rules, key), member(shape, key)
                if below is not None and kind is not None and has_rules(below):
                    here = keys if key in shape.properties else keys | {len(path)}
                    yield from self.visit(below, kind, item, (*path, key), here)
        elif isinstance(value, list):
            below, kind = rules.items, shape.items
            if below is not None and kind is not None and has_rules(below):
                for at, item in enumerate(value):
                    yield from self.visit(below, kind, item, (*path, at), keys)

    def _judge(
        self, rules: Schema, shape: Schema, value: Json, path: FieldPath, keys: frozenset[int]
    ) -> Iterator[tuple[Problem, tuple[FieldPath, ...]]]:
        name, kind = field_name(path, keys), ",".join(shape.types)
        try:
            given = cel_value(shape, value, is_root=not path)
        except CelError as error:
            yield problem(path, name, Reason.INVALID, str(error), kind), (path,)
            return
        for rule in rules.rules:
            compiled = compile_rule(rule, shape, not path or shape.embeds)
            if compiled.fault:
                detail = f"rule compile error: {compiled.fault}"
                yield problem(path, name, Reason.INVALID, detail, kind), (path,)
            if compiled.program is None or (compiled.transition and not rule.optional_old):
                continue
            variables = {"self": given, "oldSelf": NONE}
            outcome, cost = compiled.program.evaluate_with_cost(variables)
            self._left -= cost
            if outcome is True and self._left >= 0:
                continue
            if isinstance(outcome, CelError) or self._left < 0:
                detail = self._stopped(outcome, rule)
                yield problem(path, name, Reason.INVALID, detail, kind), (path,)
                if self._left < 0:
                    return
                continue
            rule = compiled.rule
            rule_name, here = field_name(path, keys), path
            if rule.field_path:
                steps = tuple(
                    re.sub(r"\\(.)", r"\1", key) if key else rule_name
                    for rule_name, key in _STEP.findall(rule.field_path)
                )
                here = (*path, *steps)
                rule_name = f"{rule_name}.{rule.field_path.removeprefix('.')}".removeprefix(".")
            # The text of a message expression; empty without one, and where it fails.
            message = ""
            if compiled.message is not None:
                outcome, cost = compiled.message.evaluate_with_cost(variables)
                self._left -= cost
                text = outcome.strip() if isinstance(outcome, str) else ""
                is_usable = (
                    "\n" not in text and len(text.encode("utf-8", "replace")) <= _MOST_MESSAGE
                )
                message = text if is_usable else ""
            detail = message or (rule.message.strip() or f"failed rule: {rule.rule.strip()}")
            reason = _REASONS.get(rule.reason, Reason.INVALID)
            shown = OMITTED if kind in ("object", "array") else value
            if reason in (Reason.FORBIDDEN, Reason.REQUIRED):
                shown = OMITTED
            detail = "" if reason is Reason.DUPLICATE else detail
            failure = problem(here, rule_name, reason, detail, shown)
            fields = (here,) if rule.field_path else self._read(compiled, variables, path)
            yield (failure, fields)

    def _stopped(self, outcome: Value | CelError, rule: Rule) -> str:
        """Return the reason why a rule has no value; some reasons end the evaluation."""
        shown = (rule.message or rule.rule).strip()
        if isinstance(outcome, CostLimitExceeded):
            self._left = -1
            reason = "no further validation rules will be run due to call cost exceeds limit"
            return f"'{outcome}': {reason} for rule: {shown}"
        if self._left < 0 or not isinstance(outcome, CelError):
            self._left = -1
            return _SPENT
        if str(outcome).startswith("no such overload"):
            signature = "call arguments did not match a supported operator, function or macro"
            return f"'{outcome}': {signature} signature for rule: {shown}"
        return f"{outcome} evaluating rule: {shown}"

    def _read(
        self, compiled: CompiledRule, variables: Mapping[str, Value], path: FieldPath
    ) -> tuple[FieldPath, ...]:
        """Return the fields that a false rule read; the value itself where they are unknown."""
        if compiled.program is None:
            return (path,)
        roots = {"self": Datum(variables["self"], ()), "oldSelf": Datum(NONE)}
        causes = causes_of(compiled.program, roots, RepeatHost(OFFLINE))
        read = () if causes is None else pointers(causes, variables["self"])
        return tuple((*path, *unescaped(pointer_steps(pointer))) for pointer in read) or (path,)


def cel_value(schema: Schema | None, value: Json, *, is_root: bool = False) -> Value:
    """Return a value as rules see it: with the types that its schema gives it, and fields by their
    escaped names; raise CelError for a text that its format does not allow."""
    if schema is None or value is None or schema.types == ("integer", "string"):
        return value
    if isinstance(value, dict):
        is_resource = is_root or schema.embeds
        members: dict[str, Value] = {}
        for key, item in value.items():
            below = member(schema, key)
            if is_resource and key in ("apiVersion", "kind"):
                members[key] = item
            elif is_resource and key == "metadata" and isinstance(item, dict):
                named = ("name", "generateName")
                members[key] = {name: item[name] for name in named if name in item}
            else:
                names = spellings(key) if key in schema.properties else (key,)
                members |= dict.fromkeys(names, cel_value(below, item))
        return members
    if isinstance(value, list):
        return [cel_value(schema.items, item) for item in value]
    if isinstance(value, str):
        try:
            if schema.format == "duration":
                nanoseconds = read_duration(value)
                return value if nanoseconds is None else Duration(nanoseconds)
            if schema.format in ("date", "date-time"):
                return timestamp_of_text(
                    value if schema.format == "date-time" else f"{value}T00:00:00Z"
                )
            if schema.format == "byte":
                return decode_base64(value)
        except GoError as error:
            raise CelError(f"Invalid {schema.format} formatted string {value}: {error}") from None
        return value
    if schema.types == ("number",) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value


@dataclass(frozen=True, slots=True)
class SelfType:
    """The type of `self`, and all types that are reached from it."""

    type: Type
    structs: tuple[StructType, ...]


@lru_cache(maxsize=4096)
def self_type(schema: Schema, is_root: bool) -> SelfType | None:
    """Return the type of a schema's values; None for one whose values no rule can see. is_root:
    whether these are whole objects, custom or embedded ones."""
    structs: list[StructType] = []
    type_ = _type(schema, _SELF, is_root, structs)
    return None if type_ is None else SelfType(type_, tuple(structs))


def _type(schema: Schema, name: str, is_root: bool, structs: list[StructType]) -> Type | None:
    if len(schema.types) > 1:
        return DYN
    kind = "".join(schema.types)
    if kind == "object":
        if isinstance(schema.additional, Schema):
            values = _type(schema.additional, f"{name}.@values", schema.additional.embeds, structs)
            return None if values is None else map_of(STRING, values)
        members = {**schema.properties, **(_ROOT if is_root else {})}
        fields: dict[str, Type] = {}
        for key, property_ in members.items():
            type_ = _type(property_, f"{name}.{key}", property_.embeds, structs)
            if type_ is not None and _NAME.fullmatch(key):
                fields |= dict.fromkeys(spellings(key), type_)
        structs.append(declared(struct(name), fields))
        return struct(name)
    if kind == "array" and schema.items is not None:
        items = _type(schema.items, f"{name}.@items", schema.items.embeds, structs)
        return None if items is None else list_of(items)
    return _FORMATS.get(schema.format, STRING) if kind == "string" else _SCALARS.get(kind)


def escape(name: str) -> str:
    """Return a field's name as rules in CEL write it."""
    if name in _KEYWORDS:
        return f"__{name}__"
    return _ESCAPING.sub(lambda match: _ESCAPED[match[0]], name)


def spellings(name: str) -> tuple[str, ...]:
    """Return a field's name in each way that rules may write it: keywords as they are, too."""
    return (escape(name), name) if name in _KEYWORDS else (escape(name),)


def unescaped(steps: tuple[str, ...]) -> Iterator[str]:
    """Yield the names of fields that rules write so."""
    for step in steps:
        inner = step[2:-2]
        if step.startswith("__") and step.endswith("__") and inner in _KEYWORDS:
            yield inner
        else:
            yield _UNESCAPING.sub(lambda match: _CHARACTERS[match[1]], step)
