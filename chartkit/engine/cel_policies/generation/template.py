"""`spec.generate[].template`: objects written as YAML, with CEL in `(( … ))`.

A placeholder that is a whole text gives a value of any type; one inside a text is written into it.
`\\((` stands for `((`. Keys take no placeholders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Final

import yaml

from chartkit.engine.cel import compile_expression
from chartkit.engine.cel.declarations import Environment
from chartkit.engine.cel.errors import CelCompileError, CelError
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.interpreter.program import Program
from chartkit.engine.cel.library.natives import json_of
from chartkit.engine.cel.values import Value
from chartkit.engine.cel_policies.generation.template_yaml import (
    MERGE,
    TemplateError,
    is_object,
    line_of,
    read_documents,
    value_of,
)
from chartkit.engine.cel_policies.patches.apply_values import go_type
from chartkit.errors import Reraise
from chartkit.go.fmt import go_sprint
from chartkit.go.strconv import quote
from chartkit.model import Body, Json

Scope = Mapping[str, Value]
Part = Callable[[Scope, Host], Json]

_OPEN: Final = "(("
_ESCAPED: Final = "\\(("
_LARGEST: Final = 2**63 - 1


class Template:
    """A compiled template."""

    __slots__ = ("_documents",)

    def __init__(self, text: str, interpolate: bool, environment: Environment) -> None:
        """Raises TemplateError."""
        compiler = _Compiler(environment, interpolate)
        self._documents = [compiler.document(one) for one in read_documents(text)]
        if not self._documents:
            raise TemplateError("template must contain at least one YAML document")

    def render(self, scope: Scope, host: Host) -> list[Body]:
        """The objects; raises CelError, which says in which document and field."""
        made: list[Body] = []
        for index, document in enumerate(self._documents):
            with Reraise(f"document {index + 1}: ", CelError, CelError):
                body = document(scope, host)
            if not isinstance(body, dict):
                raise CelError(
                    f"document {index + 1}: expected a mapping describing a resource, "
                    f"got {go_type(body)}"
                )
            made.append(body)
        return made


def placeholders(template: Body) -> list[str]:
    """The expressions in a template; none where it cannot be used."""
    if template.get("interpolate") != "cel":
        return []
    found: list[str] = []
    try:
        for node in _scalars(read_documents(template.get("value") or "")):
            segments = scan(node.value, line_of(node))
            found += [segment[1] for segment in segments if isinstance(segment, tuple)]
    except TemplateError:
        return []
    return found


def _scalars(documents: Iterable[yaml.Node]) -> Iterator[yaml.Node]:
    waiting, seen = list(documents), set[int]()
    while waiting:
        node = waiting.pop()
        if isinstance(node, yaml.ScalarNode):
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            pairs = node.value if isinstance(node, yaml.MappingNode) else [node.value]
            waiting += [one for pair in pairs for one in pair]


class _Compiler:
    """Compiles what stands in one template."""

    def __init__(self, environment: Environment, interpolate: bool) -> None:
        self._environment = environment
        self._interpolate = interpolate

    def document(self, node: yaml.Node) -> Part:
        part = self._part(node)
        if not self._is_object(node):
            line = line_of(node)
            raise TemplateError(f"line {line}: document must be a mapping describing a resource")
        return part

    def _is_object(self, node: yaml.Node) -> bool:
        """Return whether a document can be an object once its placeholders have values."""
        if isinstance(node, yaml.ScalarNode):
            if not self._interpolate or _OPEN not in node.value:
                return False
            segments = scan(node.value, line_of(node))
            return len(segments) == 1 and isinstance(segments[0], tuple)
        return is_object(node) or (isinstance(node, yaml.MappingNode) and self._waits(node))

    def _waits(self, node: yaml.Node) -> bool:
        return self._interpolate and _mentions(node, set())

    def _part(self, node: yaml.Node) -> Part:
        if not self._waits(node):
            value = value_of(node)
            return lambda _scope, _host: value
        if isinstance(node, yaml.ScalarNode):
            return self._text(node)
        if isinstance(node, yaml.SequenceNode):
            return _sequence([self._part(member) for member in node.value])
        return self._mapping(node)

    def _mapping(self, node: yaml.Node) -> Part:
        parts: dict[str, Part] = {}
        for key, member in node.value:
            line = line_of(key)
            if not isinstance(key, yaml.ScalarNode):
                raise TemplateError(f"line {line}: only scalar mapping keys are supported")
            if _OPEN in key.value.replace(_ESCAPED, ""):
                raise TemplateError(
                    f"line {line}: placeholders are not supported in mapping keys; use a "
                    "whole-value placeholder on the parent field instead "
                    "(e.g. `labels: (( variables.labels ))`)"
                )
            if key.value == MERGE:
                raise TemplateError(
                    f"line {line}: YAML merge keys are not supported in subtrees containing "
                    "placeholders"
                )
            parts[key.value] = self._part(member)
        return _mapping(parts)

    def _text(self, node: yaml.ScalarNode) -> Part:
        line = line_of(node)
        segments = [
            self._program(segment[1], line) if isinstance(segment, tuple) else segment
            for segment in scan(node.value, line)
        ]
        if len(segments) == 1 and isinstance(segments[0], Program):
            return partial(_value, segments[0])
        return _joined(segments)

    def _program(self, expression: str, line: int) -> Program:
        try:
            return compile_expression(expression, self._environment)
        except CelCompileError as error:
            raise TemplateError(
                f"line {line}: invalid placeholder expression {quote(expression)}: {error.text}"
            ) from error


def _mentions(node: yaml.Node, seen: set[int]) -> bool:
    """Return whether a placeholder or an escape stands anywhere in a node."""
    if isinstance(node, yaml.ScalarNode):
        return _OPEN in node.value
    if id(node) in seen:
        return False
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        return any(_mentions(member, seen) for member in node.value)
    return any(_mentions(one, seen) for pair in node.value for one in pair)


def scan(text: str, line: int) -> list[str | tuple[str, str]]:
    """The literal parts of a text, and its placeholders as `("cel", expression)`.

    Raises TemplateError for a placeholder that is empty or does not end.
    """
    found: list[str | tuple[str, str]] = []
    literal, at = "", 0
    while at < len(text):
        if text.startswith(_ESCAPED, at):
            literal, at = literal + _OPEN, at + len(_ESCAPED)
        elif text.startswith(_OPEN, at):
            expression, end = _placeholder(text, at, line)
            if literal:
                found.append(literal)
            found.append(("cel", expression))
            literal, at = "", end
        else:
            literal, at = literal + text[at], at + 1
    if literal:
        found.append(literal)
    return found


def _placeholder(text: str, start: int, line: int) -> tuple[str, int]:
    """The expression of the placeholder that starts here, and where what follows it begins."""
    depth, quoted, at = 0, "", start + len(_OPEN)
    offset = len(text[:start].encode())
    place = f"placeholder starting at offset {offset}"
    while at < len(text):
        char = text[at]
        if quoted:
            at += 1 if char == "\\" else 0
            quoted = "" if char == quoted else quoted
        elif char in "\"'":
            quoted = char
        elif char == "(":
            depth += 1
        elif char == ")" and depth:
            depth -= 1
        elif char == ")":
            if not text.startswith("))", at):
                raise TemplateError(f"line {line}: unbalanced parenthesis in {place}")
            expression = text[start + len(_OPEN) : at].strip()
            if not expression:
                raise TemplateError(f"line {line}: empty placeholder at offset {offset}")
            return expression, at + 2
        at += 1
    if quoted:
        raise TemplateError(f"line {line}: unterminated string literal in {place}")
    raise TemplateError(f"line {line}: unterminated {place}: missing closing '))'")


def _sequence(parts: list[Part]) -> Part:
    def render(scope: Scope, host: Host) -> Json:
        made = []
        for index, part in enumerate(parts):
            with Reraise(f"item {index}: ", CelError, CelError):
                made.append(part(scope, host))
        return made

    return render


def _mapping(parts: Mapping[str, Part]) -> Part:
    def render(scope: Scope, host: Host) -> Json:
        made: Body = {}
        for key, part in parts.items():
            try:
                made[key] = part(scope, host)
            except CelError as error:
                raise CelError(f"field {quote(key)}: {error.message}") from error
        return made

    return render


def _joined(segments: list[str | Program]) -> Part:
    def render(scope: Scope, host: Host) -> Json:
        texts = []
        for segment in segments:
            if isinstance(segment, str):
                texts.append(segment)
                continue
            value = _value(segment, scope, host)
            if not isinstance(value, (str, bool, int, float)):
                raise CelError(
                    f"placeholder {quote(segment.source)} embedded in a string must evaluate to a "
                    f"scalar, got {go_type(value)}; use a whole-value placeholder for "
                    "structured results"
                )
            texts.append(value if isinstance(value, str) else go_sprint(value))
        return "".join(texts)

    return render


def _value(program: Program, scope: Scope, host: Host) -> Json:
    try:
        value = program.evaluate(scope, host)
    except CelError as error:
        raise CelError(
            f"failed to evaluate placeholder {quote(program.source)}: {error.message}"
        ) from error
    if value is None or isinstance(value, str | bool | float):
        return value
    try:
        return _whole(value) if isinstance(value, int) else json_of(value)
    except CelError as error:
        raise CelError(
            f"failed to convert placeholder {quote(program.source)} result: {error.message}"
        ) from error


def _whole(number: int) -> int:
    if number > _LARGEST:
        raise CelError(f"uint value {int(number)} overflows the supported integer range")
    return int(number)
