"""`spec.generate[].template`: objects written as YAML, with CEL in `(( … ))`.

A placeholder that is a whole text gives a value of any type; one inside a text is written into it.
`\\((` stands for `((`. Keys take no placeholders.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import yaml

from chartkit.documents import Document, read_text
from chartkit.engine.cel.compile import compile_expression
from chartkit.engine.cel.declarations import Environment
from chartkit.engine.cel.errors import CelCompileError, CelError
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.program.program import Program
from chartkit.engine.cel.values import Uint, Value, type_of
from chartkit.engine.values.gofmt import go_sprint
from chartkit.engine.values.quoting import quote
from chartkit.errors import InputError
from chartkit.model import Body, Json

Scope = Mapping[str, Value]
Part = Callable[[Scope, Host], Json]
Step = str | int

_OPEN: Final = "(("
_ESCAPED: Final = "\\(("
_LARGEST: Final = 2**63 - 1


class TemplateError(Exception):
    """A template that cannot be used; the message is for `spec.generate[].template.value`."""


class Template:
    """A compiled template."""

    __slots__ = ("_documents",)

    def __init__(self, text: str, interpolate: bool, environment: Environment) -> None:
        """Raises TemplateError."""
        try:
            documents = [one for one in read_text(text, "template") if one.body is not None]
        except (InputError, yaml.YAMLError) as error:
            raise TemplateError(f"failed to parse YAML: {error}") from error
        compiler = _Compiler(environment, interpolate)
        self._documents = [compiler.document(one) for one in documents]
        if not self._documents:
            raise TemplateError("template must contain at least one YAML document")

    def render(self, scope: Scope, host: Host) -> list[Body]:
        """The objects; raises CelError, which says in which document and field."""
        made: list[Body] = []
        for index, document in enumerate(self._documents):
            try:
                body = document(scope, host)
            except CelError as error:
                raise CelError(f"document {index + 1}: {error.message}") from error
            if not isinstance(body, dict):
                kind = type_of(body).name
                raise CelError(
                    f"document {index + 1}: expected a mapping describing a resource, got {kind}"
                )
            made.append(body)
        return made


class _Compiler:
    """Compiles what stands in one template."""

    def __init__(self, environment: Environment, interpolate: bool) -> None:
        self._environment = environment
        self._interpolate = interpolate

    def document(self, document: Document) -> Part:
        body = document.body
        is_whole = isinstance(body, str) and self._interpolate and _OPEN in body
        if not isinstance(body, dict) and not is_whole:
            line = document.location.line
            raise TemplateError(f"line {line}: document must be a mapping describing a resource")
        return self._part(body, document, ())

    def _part(self, value: Json, document: Document, path: tuple[Step, ...]) -> Part:
        if not self._interpolate or not _mentions(value):
            return lambda _scope, _host: value
        if isinstance(value, str):
            return self._text(value, document, path)
        if isinstance(value, list):
            parts = [
                self._part(member, document, (*path, index)) for index, member in enumerate(value)
            ]
            return _sequence(parts)
        return self._mapping(value, document, path)

    def _mapping(self, value: Body, document: Document, path: tuple[Step, ...]) -> Part:
        parts: dict[str, Part] = {}
        for key, member in value.items():
            where = (*path, key)
            if _has_placeholder(key):
                raise TemplateError(
                    f"line {document.locate(*where).line}: placeholders are not supported in "
                    "mapping keys; use a whole-value placeholder on the parent field instead "
                    "(e.g. `labels: (( variables.labels ))`)"
                )
            parts[key] = self._part(member, document, where)
        return _mapping(parts)

    def _text(self, text: str, document: Document, path: tuple[Step, ...]) -> Part:
        line = document.locate(*path).line
        segments = [
            self._program(segment[1], line) if isinstance(segment, tuple) else segment
            for segment in scan(text, line)
        ]
        if len(segments) == 1 and isinstance(segments[0], Program):
            return _splice(segments[0])
        return _joined(segments)

    def _program(self, expression: str, line: int) -> Program:
        try:
            return compile_expression(expression, self._environment)
        except CelCompileError as error:
            raise TemplateError(
                f"line {line}: invalid placeholder expression {quote(expression)}: {error.text}"
            ) from error


def _mentions(value: Json) -> bool:
    """Whether a placeholder or an escape stands anywhere in it."""
    if isinstance(value, str):
        return _OPEN in value
    if isinstance(value, dict):
        return any(_OPEN in key or _mentions(member) for key, member in value.items())
    return isinstance(value, list) and any(map(_mentions, value))


def _has_placeholder(text: str) -> bool:
    return _OPEN in text.replace(_ESCAPED, "")


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
            try:
                made.append(part(scope, host))
            except CelError as error:
                raise CelError(f"item {index}: {error.message}") from error
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


def _splice(program: Program) -> Part:
    return lambda scope, host: _value(program, scope, host)


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
                    f"scalar, got {type_of(value).name}; use a whole-value placeholder for "
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
    if isinstance(value, Uint):
        if value > _LARGEST:
            raise CelError(
                f"failed to convert placeholder {quote(program.source)} result: uint value "
                f"{int(value)} overflows the supported integer range"
            )
        return int(value)
    return value
