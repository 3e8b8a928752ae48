"""The YAML of generation templates, read as go-yaml's version 3 reads it into objects.

`yes`, `no`, `on` and `off` are texts there, a date is a time, a key may not stand twice. Problems
are told in its words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import yaml

from chartkit.documents.yaml_builder import MAX_DEPTH
from chartkit.go.strconv import quote
from chartkit.go.yaml_errors import yaml_problem
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
    """Plain scalars keep their text, and are told from quoted ones."""


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
    return [node for node in nodes if node is not None and not _is_null(node)]


def line_of(node: yaml.Node) -> int:
    """Return the line of a node, from 1."""
    line: int = node.start_mark.line
    return line + 1


def _is_null(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and value_of(node) is None


def value_of(node: yaml.Node) -> Json:
    """Return the value of a node without placeholders; raises TemplateError."""
    problems = list(_doubles(node, set()))
    if problems:
        text = "\n  ".join(["yaml: unmarshal errors:", *problems])
        raise TemplateError(f"line {line_of(node)}: {text}")
    return _Values(node).value(node)


def is_object(node: yaml.Node) -> bool:
    """Return whether a node is a mapping whose keys are all texts."""
    return isinstance(node, yaml.MappingNode) and all(
        isinstance(key, yaml.ScalarNode) and (key.value == MERGE or isinstance(scalar(key), str))
        for key, _ in node.value
    )


def _doubles(node: yaml.Node, seen: set[int]) -> Iterator[str]:
    """The keys that stand twice."""
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
            known = first.setdefault(key.value, key)
            if known is not key:
                yield (
                    f"line {line_of(key)}: mapping key {quote(key.value)} already defined "
                    f"at line {line_of(known)}"
                )
        yield from _doubles(member, seen)


class _Values:
    """Makes the values of one node; what aliases stand for is made each time, within bounds."""

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
        for each in merged:
            made = {**each, **made}
        return made

    def _merged(self, node: yaml.Node) -> list[Body]:
        value = self.value(node)
        maps = value if isinstance(value, list) else [value]
        if not all(isinstance(one, dict) for one in maps):
            raise TemplateError(
                f"line {self._line}: yaml: map merge requires map or sequence of maps as the value"
            )
        return maps


def scalar(node: yaml.ScalarNode) -> Json:
    """The value of a scalar."""
    text: str = node.value
    return text if node.tag == _STRING else _resolved(text)


def _resolved(text: str) -> Json:
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
    plain = text.replace("_", "")
    integer = _INTEGER.fullmatch(plain)
    if integer is not None:
        sign, *digits = integer.groups()
        base, found = next(
            (base, one) for base, one in zip(_BASES, digits, strict=True) if one is not None
        )
        number = int(sign + found, base)
        if -(2**63) <= number < 2**64:
            return number
    return float(plain) if _FLOAT.fullmatch(plain) else text
