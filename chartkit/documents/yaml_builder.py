"""A builder of values from libyaml's events, with the scalar rules of sigs.k8s.io/yaml."""

from __future__ import annotations

import base64
import math
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple

import yaml
from yaml._yaml import CParser
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)
from yaml.reader import Reader

from chartkit.errors import InputError
from chartkit.model import Location

MAX_DEPTH: Final = 200
"""The greatest depth of nested containers: far beyond any Kubernetes object, and safe for
recursion."""

MAX_ALIASED: Final = 400_000
"""The greatest number of values that a document's aliases may expand to; more is an alias bomb."""

_LIST_DEPTH: Final = 2
"""The depth of a sequence in a document's mapping, as the items of a List are."""

NextEvent = Callable[[], Any]


class Start(NamedTuple):
    """The beginning of a value: line (from 1), column (from 0), and offset in characters."""

    line: int
    column: int
    offset: int


class BuiltDocument(NamedTuple):
    """One document of a text: its value with its beginning, its slice of the text in characters,
    the beginnings of its `items`, and whether it is in plain block style."""

    body: Any
    content: Start
    start: int
    end: int
    items: Sequence[Start]
    is_block: bool = False


_BINARY_TAG: Final = "tag:yaml.org,2002:binary"
_PLAIN_TAGS: Final = frozenset(f"tag:yaml.org,2002:{t}" for t in ("int", "float", "bool", "null"))
_JSON_EXPONENT_FROM: Final = 1e21
_EXPONENT_FROM: Final = 6
"""The exponent from which Go's format 'g' writes a number in scientific notation."""
_INT64: Final = 2**63
_UINT64_DIGITS: Final = 20
_TRUE = ("y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE")
_FALSE = ("n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE")
_WORDS: Final[dict[str, bool | None]] = (
    dict.fromkeys(_TRUE, True)
    | dict.fromkeys(_FALSE, False)
    | dict.fromkeys(("", "~", "null", "Null", "NULL"))
)
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_INT = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|0[0-7]*|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_TEMPLATE_CODE = re.compile(
    r"^\s*\{(%|\{-?\s*(if|else|end|range|with|define|include|template|\$\w*\s*:?=|/\*))"
    r"|\{\{-?\s*[^}\n]*\.(Values|Release|Chart|Capabilities|Template|Files)\b",
    re.MULTILINE,
)
_TEMPLATE_HINT = "render a template with its program; Helm's is named by its chart's folder"
_OPEN = (
    "while scanning a quoted scalar",
    "while parsing a flow mapping",
    "while parsing a flow sequence",
)
_NUMBER_START = frozenset("+-.0123456789")
_BASES = {"x": 16, "X": 16, "b": 2, "B": 2, "o": 8, "O": 8}


def build_documents(text: str, file: str, lines: int = 0) -> Iterator[BuiltDocument]:
    """Yield the documents of a text; lines: how many precede it in the file, for hints alone. Raise
    InputError with file, line and column for invalid YAML, for a number that JSON lacks, for
    nesting deeper than MAX_DEPTH, and for aliases that expand to more than MAX_ALIASED values."""
    if "\x00" in text:
        raise InputError("is not text: it holds a NUL byte", Location(file))
    try:
        parser = CParser(text)
        try:
            next_event: NextEvent = parser.get_event
            while (event := next_event()).__class__ is not StreamEndEvent:
                if event.__class__ is DocumentStartEvent:
                    content = next_event()
                    builder = Builder(next_event, file)
                    value = builder.value(content)
                    end, begin = next_event().end_mark.index, _start_of(content.start_mark)
                    items = builder.starts(value)
                    start: Any = event.start_mark
                    yield BuiltDocument(value, begin, start.index, end, items)
        finally:
            parser.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        location = Location(file, mark.line + 1, mark.column + 1) if mark else Location(file)
        problem = _one_line(error.problem or error.context or "cannot be parsed")
        opened, hint = error.context_mark, None
        if _TEMPLATE_CODE.search(text):
            hint = _TEMPLATE_HINT
        elif mark and text[mark.index - 1 : mark.index + 1] == "${":
            hint = "quote ${…} within brackets and braces"
        elif "cannot start any token" in problem or "tab character" in problem:
            hint = "YAML indents with spaces, and quotes text that begins with @, ` or %"
        elif opened and mark and error.context in _OPEN and opened.line < mark.line:
            hint = f"what begins in line {opened.line + 1 + lines} is not closed"
        raise InputError(f"is not YAML: {problem}", location, hint) from None
    except yaml.YAMLError as error:
        control = Reader.NON_PRINTABLE.search(text)
        if control is None:
            raise InputError(f"is not YAML: {_one_line(str(error))}", Location(file)) from None
        before = text[: control.start()].split("\n")
        location = Location(file, len(before), len(before[-1]) + 1)
        message = f"is not YAML: it holds the control character U+{ord(control[0]):04X}"
        raise InputError(message, location) from None


class Builder:
    """A builder of one document, which caches resolved scalars."""

    __slots__ = ("aliased", "anchors", "cache", "depth", "file", "lists", "next_event", "nodes")

    def __init__(self, next_event: NextEvent, file: str) -> None:
        self.next_event = next_event
        self.file = file
        self.anchors: dict[str, tuple[Any, int] | None] = {}
        self.cache: dict[str, Any] = {}
        self.lists: list[tuple[list[Any], list[Any]]] = []
        self.nodes = 0
        self.aliased = 0
        self.depth = 0

    def value(self, event: Any) -> Any:
        """Return the value that begins with an event."""
        kind = event.__class__
        if kind is ScalarEvent:
            if event.implicit[0] and event.anchor is None:
                text = event.value
                try:
                    return self.cache[text]
                except KeyError:
                    value = self.cache[text] = self.plain(text, event)
                    return value
            text, tag = event.value, event.tag
            if event.implicit[0] or tag in _PLAIN_TAGS:
                value = self.plain(text, event)
            elif tag == _BINARY_TAG:
                try:
                    value = base64.b64decode("".join(text.split()), validate=True).decode("utf-8")
                except ValueError:
                    message = "!!binary value is not base64 of UTF-8 text"
                    raise self.error(message, event) from None
            else:
                value = text
            if event.anchor is not None:
                self.anchors[event.anchor] = (value, 1)
            return value
        if kind is AliasEvent:
            if event.anchor not in self.anchors:
                raise self.error(f"unknown alias '*{event.anchor}'", event)
            anchored = self.anchors[event.anchor]
            if anchored is None:
                raise self.error(f"anchor '&{event.anchor}' contains itself", event)
            value, weight = anchored
            self.nodes += weight
            self.aliased += weight
            if self.aliased > MAX_ALIASED:
                raise self.error(f"its aliases expand to more than {MAX_ALIASED} values", event)
            return value
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"is nested deeper than {MAX_DEPTH} levels", event)
        anchor, before = event.anchor, self.nodes
        if anchor is not None:
            self.anchors[anchor] = None
        value = self._mapping() if kind is MappingStartEvent else self._sequence()
        if anchor is not None:
            self.anchors[anchor] = (value, self.nodes - before + 1)
        self.depth -= 1
        return value

    def _sequence(self) -> list[Any]:
        next_event, value = self.next_event, self.value
        items: list[Any] = []
        if self.depth == _LIST_DEPTH:
            # The marks of its items are noted.
            marks: list[Any] = []
            self.lists.append((items, marks))
            while (event := self.next_event()).__class__ is not SequenceEndEvent:
                marks.append(event.start_mark)
                items.append(self.value(event))
            self.nodes += len(items)
            return items
        while (event := next_event()).__class__ is not SequenceEndEvent:
            items.append(value(event))
        self.nodes += len(items)
        return items

    def starts(self, document: Any) -> Sequence[Start]:
        """Return the starts of the items of a List; empty for any other document."""
        items = document.get("items") if isinstance(document, dict) else None
        marks = next((marks for listed, marks in self.lists if listed is items), ())
        return [_start_of(mark) for mark in marks]

    def _mapping(self) -> dict[str, Any]:
        next_event, value = self.next_event, self.value
        members: dict[str, Any] = {}
        while (event := next_event()).__class__ is not MappingEndEvent:
            key = value(event)
            if key.__class__ is not str:
                key = self._key(key, event)
            elif key == "<<" and event.__class__ is ScalarEvent and event.implicit[0]:
                start = next_event()
                self._merge(members, value(start), start)
                continue
            members[key] = value(next_event())
        self.nodes += len(members)
        return members

    def _merge(self, members: dict[str, Any], merged: Any, event: Any) -> None:
        for source in merged if isinstance(merged, list) else [merged]:
            if not isinstance(source, dict):
                raise self.error("a merge key ('<<') takes a mapping or a list of mappings", event)
            for key, value in source.items():
                members.setdefault(key, value)

    def plain(self, text: str, event: Any) -> Any:
        """Return an unquoted scalar by the rules of YAML 1.1 as Kubernetes has them."""
        value = resolve_plain(text)
        if value is None and _NOT_FINITE.fullmatch(text):
            raise self.error(f"'{text}' has no counterpart in JSON", event)
        return value

    def _key(self, key: Any, event: Any) -> str:
        if key is True or key is False:
            return "true" if key else "false"
        if not isinstance(key, int | float):
            braces = isinstance(event, MappingStartEvent) and event.flow_style
            hint = f"quote text that begins with {{{{; {_TEMPLATE_HINT}" if braces else None
            raise self.error("a key must be text, a number or a boolean", event, hint)
        integer = _integer(str(getattr(event, "value", key)).replace("_", ""))
        if integer is None:
            # A key as sigs.k8s.io/yaml writes it: the shortest text of a float32.
            try:
                packed = struct.pack("<f", key)
            except OverflowError:
                return ".inf" if key > 0 else "-.inf"
            [single] = struct.unpack("<f", packed)
            shortest = (f"{single:.{precision}e}" for precision in range(9))
            text = next(digits for digits in shortest if struct.pack("<f", float(digits)) == packed)
            is_fixed = -4 <= int(text.partition("e")[2]) < _EXPONENT_FROM
            return f"{Decimal(text):f}" if is_fixed else text
        if integer >= _INT64:
            raise self.error("a number as a key must fit in 64 bits with a sign", event, "quote it")
        return str(integer)

    def error(self, message: str, event: Any, hint: str | None = None) -> InputError:
        """Return an InputError at an event's location."""
        mark = event.start_mark
        return InputError(message, Location(self.file, mark.line + 1, mark.column + 1), hint)


def _start_of(mark: Any) -> Start:
    return Start(mark.line + 1, mark.column, mark.index)


def resolve_plain(text: str) -> Any:
    """Return the value of an unquoted scalar; None for text, and for a number that JSON lacks."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_START:
        return text
    if _NOT_FINITE.fullmatch(text):
        return None
    digits = text.replace("_", "")
    integer = _integer(digits)
    if integer is not None:
        return fit_integer(integer)
    if not _FLOAT.fullmatch(digits):
        return text
    number = float(digits)
    return text if math.isinf(number) else whole(number)


def _integer(digits: str) -> int | None:
    """Return the whole number that go-yaml reads: within int64, or uint64 where it has no sign."""
    if not _INT.fullmatch(digits):
        return None
    bare = digits.lstrip("+-")
    base, start = 10, 0
    if len(bare) > 1 and bare[0] == "0":
        base, start = _BASES.get(bare[1], 8), 2 if bare[1] in _BASES else 1
    elif len(bare) > _UINT64_DIGITS:
        return None
    number = int(bare[start:] or "0", base)
    if digits[0] == "-":
        return -number if number <= _INT64 else None
    return number if number < (_INT64 if digits[0] == "+" else 2 * _INT64) else None


def fit_integer(number: int) -> int | float:
    """Return a whole number as Kubernetes decodes it: an int64 if it fits, otherwise a double."""
    return number if -(2**63) <= number < 2**63 else float(number)


def whole(number: float) -> int | float:
    """A double as it comes through JSON: `1.0` is written as 1 and read back as an integer."""
    if number.is_integer() and abs(number) < _JSON_EXPONENT_FROM:
        return fit_integer(int(Decimal(repr(number))))
    return number


def depth(value: Any) -> int:
    """Return the depth of nested containers in a value."""
    deepest, containers = 0, [value] if isinstance(value, dict | list) else []
    while containers:
        deepest += 1
        containers = [
            member
            for container in containers
            for member in (container.values() if isinstance(container, dict) else container)
            if isinstance(member, (dict, list))
        ]
    return deepest


def _one_line(text: str) -> str:
    return " ".join(text.split())
