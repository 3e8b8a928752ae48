"""`spec.generate[].template`: objects written as YAML, with CEL in `(( … ))`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

import yaml

from chartkit.documents.yaml_builder import MAX_DEPTH
from chartkit.engine.cel import compile_expression
from chartkit.engine.cel.declarations import Environment
from chartkit.engine.cel.errors import CelCompileError, CelError
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.interpreter.program import Program
from chartkit.engine.cel.library.printing import json_of
from chartkit.engine.cel.values import Value
from chartkit.engine.cel_policies.patches.apply_values import go_type
from chartkit.errors import Reraise
from chartkit.go.fmt import go_sprint
from chartkit.go.json_decoder import yaml_problem
from chartkit.go.strconv import quote
from chartkit.model import Body, Json

MERGE: Final = "<<"
_MOST: Final = 100_000
"""The most values of a template once its aliases are expanded."""

_PLAIN: Final = "!plain"
_STRING: Final = "tag:yaml.org,2002:str"
_WORDS: Final[dict[str, Json]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
}
_INTEGER: Final = re.compile(
    r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))", re.ASCII
)
_BASES: Final = (16, 2, 8, 10)
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_TIME: Final = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:(?:[Tt]|[ \t]+)([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2}(?:\.[0-9]+)?)"
    r"(Z|[-+][0-9]{2}:[0-9]{2})?)?",
    re.ASCII,
)
_LONGEST_NUMBER: Final = 400


class TemplateError(Exception):
    """A template that cannot be used; the message is for `spec.generate[].template.value`."""


class _Loader(yaml.CSafeLoader):
    """Plain scalars keep their text, and differ from quoted ones."""


_Loader.yaml_implicit_resolvers = {None: [(_PLAIN, re.compile(""))]}


def read_documents(text: str) -> list[yaml.Node]:
    """The documents that are not empty; raises TemplateError."""
    try:
        depth = 0
        for event in yaml.parse(text, Loader=_Loader):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > MAX_DEPTH:
                    raise TemplateError(
                        f"failed to parse YAML: it is nested deeper than {MAX_DEPTH} levels"
                    )
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
        nodes = list(yaml.compose_all(text, Loader=_Loader))
    except yaml.YAMLError as error:
        problem = yaml_problem(text) or "yaml: control characters are not allowed"
        raise TemplateError(f"failed to parse YAML: {problem}") from error
    return [
        node
        for node in filter(None, nodes)
        if not isinstance(node, yaml.ScalarNode) or value_of(node) is not None
    ]


def line_of(node: yaml.Node) -> int:
    """The line of a node, from 1."""
    line: int = node.start_mark.line
    return line + 1


def value_of(node: yaml.Node) -> Json:
    """Return the value of a node without placeholders; raises TemplateError."""
    problems = list(_doubles(node, set()))
    if problems:
        text = "\n  ".join(["yaml: unmarshal errors:", *problems])
        raise TemplateError(f"line {line_of(node)}: {text}")
    return _Values(node).value(node)


def is_object(node: yaml.Node) -> bool:
    """Report whether a node is a mapping with texts as its keys."""
    return isinstance(node, yaml.MappingNode) and all(
        isinstance(key, yaml.ScalarNode) and (key.value == MERGE or isinstance(scalar(key), str))
        for key, _ in node.value
    )


def _doubles(node: yaml.Node, seen: set[int]) -> Iterator[str]:
    """A message for each key that occurs twice."""
    if isinstance(node, yaml.ScalarNode) or id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for member in node.value:
            yield from _doubles(member, seen)
        return
    first: dict[str, yaml.Node] = {}
    for key, member in node.value:
        if isinstance(key, yaml.ScalarNode):
            earlier = first.setdefault(key.value, key)
            if earlier is not key:
                yield (
                    f"line {line_of(key)}: mapping key {quote(key.value)} already defined "
                    f"at line {line_of(earlier)}"
                )
        yield from _doubles(member, seen)


class _Values:
    """Makes the values of one node; the nodes of aliases are made each time, within bounds."""

    __slots__ = ("_left", "_line", "_open")

    def __init__(self, node: yaml.Node) -> None:
        self._left, self._line = _MOST, line_of(node)
        self._open: set[int] = set()

    def value(self, node: yaml.Node) -> Json:
        self._left -= 1
        if self._left < 0:
            raise TemplateError(f"line {self._line}: yaml: document contains excessive aliasing")
        if isinstance(node, yaml.ScalarNode):
            return scalar(node)
        if id(node) in self._open:
            raise TemplateError(f"line {self._line}: yaml: an anchor's value contains itself")
        self._open.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            made: Json = [self.value(member) for member in node.value]
        else:
            made = self._mapping(node)
        self._open.discard(id(node))
        return made

    def _mapping(self, node: yaml.Node) -> Body:
        made: Body = {}
        merged: list[Body] = []
        for key, member in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise TemplateError(f"line {line_of(key)}: only scalar mapping keys are supported")
            if key.value == MERGE and key.tag == _PLAIN:
                merged += self._merged(member)
            else:
                made[key.value] = self.value(member)
        for mapping in merged:
            made = {**mapping, **made}
        return made

    def _merged(self, node: yaml.Node) -> list[Body]:
        value = self.value(node)
        maps = value if isinstance(value, list) else [value]
        if not all(isinstance(mapping, dict) for mapping in maps):
            raise TemplateError(
                f"line {self._line}: yaml: map merge requires map or sequence of maps as the value"
            )
        return maps


def scalar(node: yaml.ScalarNode) -> Json:
    text: str = node.value
    if node.tag == _STRING:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789" or len(text) > _LONGEST_NUMBER:
        return text
    time = _TIME.fullmatch(text)
    if time is not None:
        # A time as JSON has it.
        year, month, day, hour, minute, second, zone = time.groups()
        date = f"{year}-{int(month):02}-{int(day):02}"
        if hour is None:
            return f"{date}T00:00:00Z"
        whole, _, fraction = second.partition(".")
        fraction = fraction.rstrip("0")
        shown = f"{int(whole):02}" + (f".{fraction}" if fraction else "")
        return f"{date}T{int(hour):02}:{int(minute):02}:{shown}{zone or 'Z'}"
    joined = text.replace("_", "")
    integer = _INTEGER.fullmatch(joined)
    if integer is not None:
        sign, *digits = integer.groups()
        base, written = next(
            (base, group) for base, group in zip(_BASES, digits, strict=True) if group is not None
        )
        number = int(sign + written, base)
        if -(2**63) <= number < 2**64:
            return number
    return float(joined) if _FLOAT.fullmatch(joined) else text


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
        self._documents = [compiler.document(node) for node in read_documents(text)]
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
    names: list[str] = []
    try:
        documents = read_documents(template.get("value") or "")
        waiting, seen = list(documents), set[int]()
        while waiting:
            node = waiting.pop()
            if isinstance(node, yaml.ScalarNode):
                segments = scan(node.value, line_of(node))
                names += [segment[1] for segment in segments if isinstance(segment, tuple)]
            elif id(node) not in seen:
                seen.add(id(node))
                pairs = node.value if isinstance(node, yaml.MappingNode) else [node.value]
                waiting += [child for pair in pairs for child in pair]
    except TemplateError:
        return []
    return names


class _Compiler:
    """Compiles the texts of one template."""

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
        """Report whether a document can be an object once its placeholders have values."""
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
            line = line_of(node)
            segments = [
                self._program(segment[1], line) if isinstance(segment, tuple) else segment
                for segment in scan(node.value, line)
            ]
            if len(segments) == 1 and isinstance(segments[0], Program):
                return partial(_value, segments[0])
            return _joined(segments)
        if isinstance(node, yaml.SequenceNode):
            parts = [self._part(member) for member in node.value]

            def render(scope: Scope, host: Host) -> Json:
                made = []
                for index, part in enumerate(parts):
                    with Reraise(f"item {index}: ", CelError, CelError):
                        made.append(part(scope, host))
                return made

            return render
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

    def _program(self, expression: str, line: int) -> Program:
        try:
            return compile_expression(expression, self._environment)
        except CelCompileError as error:
            raise TemplateError(
                f"line {line}: invalid placeholder expression {quote(expression)}: {error.text}"
            ) from error


def _mentions(node: yaml.Node, seen: set[int]) -> bool:
    """Report whether a node has a placeholder or an escape anywhere."""
    if isinstance(node, yaml.ScalarNode):
        return _OPEN in node.value
    if id(node) in seen:
        return False
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        return any(_mentions(member, seen) for member in node.value)
    return any(_mentions(child, seen) for pair in node.value for child in pair)


def scan(text: str, line: int) -> list[str | tuple[str, str]]:
    """The literal parts of a text, and its placeholders as `("cel", expression)`.

    Raises TemplateError for a placeholder that is empty or does not end.
    """
    segments: list[str | tuple[str, str]] = []
    literal, at = "", 0
    while at < len(text):
        if text.startswith(_ESCAPED, at):
            literal, at = literal + _OPEN, at + len(_ESCAPED)
        elif text.startswith(_OPEN, at):
            expression, end = _placeholder(text, at, line)
            if literal:
                segments.append(literal)
            segments.append(("cel", expression))
            literal, at = "", end
        else:
            literal, at = literal + text[at], at + 1
    if literal:
        segments.append(literal)
    return segments


def _placeholder(text: str, start: int, line: int) -> tuple[str, int]:
    """The expression of the placeholder that starts here, and where what follows it begins."""
    depth, quoted, at = 0, "", start + len(_OPEN)
    offset = len(text[:start].encode())
    placeholder = f"placeholder starting at offset {offset}"
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
                raise TemplateError(f"line {line}: unbalanced parenthesis in {placeholder}")
            expression = text[start + len(_OPEN) : at].strip()
            if not expression:
                raise TemplateError(f"line {line}: empty placeholder at offset {offset}")
            return expression, at + 2
        at += 1
    if quoted:
        raise TemplateError(f"line {line}: unterminated string literal in {placeholder}")
    raise TemplateError(f"line {line}: unterminated {placeholder}: missing closing '))'")


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
        if isinstance(value, int):
            if value > _LARGEST:
                raise CelError(f"uint value {int(value)} overflows the supported integer range")
            return int(value)
        return json_of(value)
    except CelError as error:
        raise CelError(
            f"failed to convert placeholder {quote(program.source)} result: {error.message}"
        ) from error
