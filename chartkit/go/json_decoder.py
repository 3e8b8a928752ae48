"""JSON as Go's `encoding/json` reads it, with its error messages, and the messages of go-yaml about
a text that `chartkit.documents.reader` could not read: libyaml's own, with a line where they are
not in the first one."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Final, NoReturn

from yaml import (
    AliasEvent,
    CollectionEndEvent,
    CollectionNode,
    CollectionStartEvent,
    CSafeLoader,
    MappingNode,
    MarkedYAMLError,
    Node,
    ScalarEvent,
    SequenceNode,
    YAMLError,
    compose,
    parse,
)
from yaml.reader import ReaderError
from yaml.scanner import ScannerError

from chartkit.documents.json_text import without_surrogates
from chartkit.documents.yaml_builder import MAX_DEPTH, resolve_plain
from chartkit.go import GoError
from chartkit.go.fmt import format_float
from chartkit.go.strconv import quote, quote_byte
from chartkit.model import Json

_MAX_DEPTH = 10_000
_SPACE = " \t\r\n"
_END_OF_INPUT = "unexpected end of JSON input"
_REFUSES_SPACE = (
    "in literal",
    "in numeric literal",
    "after decimal point",
    "in exponent",
    "in string escape code",
    "in \\u",
)
_LITERALS = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}
_UNSUPPORTED = {
    **dict.fromkeys((".nan", ".NaN", ".NAN"), "NaN"),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), "+Inf"),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), "-Inf"),
}
_QUOTING: Final = tuple("'\"|>")
_NIL: Final = "interface {}(nil)"


class JsonError(GoError):
    """Text that is not JSON, with the message of `json.Unmarshal`."""


def parse_json(text: str) -> Json:
    """The value of a JSON text; raises `JsonError`.

    Whole numbers become int, others float, and `-0` the float; both represent a float64. Half a
    surrogate pair becomes U+FFFD. A number beyond float64 is an error.
    """
    try:
        value = _DECODER.decode(text)
    except (json.JSONDecodeError, JsonError) as error:
        # Go looks at the whole text before it makes a number of any part.
        raise JsonError(_Scanner(text).problem() or str(error)) from None
    except RecursionError:
        raise JsonError("exceeded max depth") from None
    return without_surrogates(value) if "\\u" in text else value


def parse_first(text: str) -> Json:
    """The first value of a text, as Go's `Decoder` reads it; raises `JsonError`. What follows is
    not looked at."""
    try:
        value, _ = _DECODER.raw_decode(text.lstrip(_SPACE))
    except json.JSONDecodeError as error:
        raise JsonError(error.msg) from None
    except RecursionError:
        raise JsonError("exceeded max depth") from None
    return without_surrogates(value) if "\\u" in text else value


def _integer(text: str) -> int | float:
    if len(text) < 16 and text != "-0":
        return int(text)
    # What float64 cannot hold exactly is rounded, as Go rounds every number.
    return _float(text)


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise JsonError(f"json: cannot unmarshal number {text} into Go value of type float64")
    return number


def _constant(_: str) -> NoReturn:
    raise json.JSONDecodeError("constant", "", 0)


_DECODER = json.JSONDecoder(parse_float=_float, parse_int=_integer, parse_constant=_constant)


class _Scanner:
    """Finds what `encoding/json` would say of a text that is not JSON."""

    def __init__(self, text: str) -> None:
        self._bytes = text.encode("utf-8", "replace")
        self._at = 0

    def problem(self) -> str | None:
        """Return the fault of the text; None if it is JSON."""
        try:
            self._value("looking for beginning of value", 0)
            self._space()
            if self._at < len(self._bytes):
                self._fail("after top-level value")
        except JsonError as stop:
            return str(stop)
        return None

    def _peek(self) -> int:
        # At the end Go's scanner is given one more space.
        return self._bytes[self._at] if self._at < len(self._bytes) else ord(" ")

    def _fail(self, context: str) -> NoReturn:
        if self._at >= len(self._bytes) and not context.startswith(_REFUSES_SPACE):
            raise JsonError(_END_OF_INPUT)
        raise JsonError(f"invalid character {quote_byte(self._peek())} {context}")

    def _space(self) -> None:
        while self._at < len(self._bytes) and self._bytes[self._at] in b" \t\r\n":
            self._at += 1

    def _value(self, context: str, depth: int) -> None:
        self._space()
        first = self._peek()
        if depth > _MAX_DEPTH:
            raise JsonError("exceeded max depth")
        if first in b"{[":
            self._container(first, depth)
        elif first == ord('"'):
            self._string()
        elif first in b"-0123456789":
            if self._peek() == ord("-"):
                self._at += 1
            if self._peek() == ord("0"):
                self._at += 1
            else:
                self._digits("in numeric literal")
            if self._next_in(b"."):
                self._digits("after decimal point in numeric literal")
            if self._next_in(b"eE"):
                self._next_in(b"+-")
                self._digits("in exponent of numeric literal")
        elif first in _LITERALS:
            word = _LITERALS[first]
            for expected in word:
                if self._peek() != expected:
                    self._fail(f"in literal {word.decode()} (expecting '{chr(expected)}')")
                self._at += 1
        else:
            self._fail(context)

    def _container(self, first: int, depth: int) -> None:
        is_object = first == ord("{")
        close, after = (
            (ord("}"), "after object key:value pair")
            if is_object
            else (ord("]"), "after array element")
        )
        self._at += 1
        self._space()
        if self._peek() == close:
            self._at += 1
            return
        while True:
            if is_object:
                self._space()
                if self._peek() != ord('"'):
                    self._fail("looking for beginning of object key string")
                self._string()
                self._space()
                if self._peek() != ord(":"):
                    self._fail("after object key")
                self._at += 1
            self._value("looking for beginning of value", depth + 1)
            self._space()
            separator = self._peek()
            if separator not in (ord(","), close):
                self._fail(after)
            self._at += 1
            if separator == close:
                return

    def _string(self) -> None:
        self._at += 1
        while self._peek() != ord('"'):
            if self._at >= len(self._bytes) or self._peek() < 0x20:
                self._fail("in string literal")
            if self._peek() == ord("\\"):
                self._at += 1
                if self._peek() not in b'bfnrt\\/"u':
                    self._fail("in string escape code")
                if self._peek() == ord("u"):
                    for _ in range(4):
                        self._at += 1
                        if self._peek() not in b"0123456789abcdefABCDEF":
                            self._fail("in \\u hexadecimal character escape")
            self._at += 1
        self._at += 1

    def _next_in(self, wanted: bytes) -> bool:
        is_next = self._at < len(self._bytes) and self._bytes[self._at] in wanted
        self._at += is_next
        return is_next

    def _digits(self, context: str) -> None:
        if self._peek() not in b"0123456789":
            self._fail(context)
        while self._next_in(b"0123456789"):
            pass


def yaml_problem(text: str) -> str | None:
    """The message of go-yaml or of `encoding/json` for a text; None where neither is known."""
    anchors, unsupported, depth, has_alias = set(), None, 0, False
    try:
        for event in parse(text.encode("utf-8", "surrogateescape"), Loader=CSafeLoader):
            depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
            if depth > MAX_DEPTH:
                # libyaml takes the square of the depth, and the text was refused for it already.
                return None
            if isinstance(event, AliasEvent) and event.anchor not in anchors:
                return f"yaml: unknown anchor '{event.anchor}' referenced"
            has_alias = has_alias or isinstance(event, AliasEvent)
            anchors.add(getattr(event, "anchor", None))
            if isinstance(event, ScalarEvent) and event.implicit[0]:
                unsupported = unsupported or _UNSUPPORTED.get(event.value)
    except ReaderError as error:
        return f"yaml: {error.reason}"
    except MarkedYAMLError as error:
        return f"yaml: {_place(error)}{error.problem}"
    except YAMLError:
        return None
    if unsupported:
        return f"json: unsupported value: {unsupported}"
    # Written out, aliases could make a text of any length.
    # The message about the first key that JSON cannot hold: lists and objects are refused when they
    # are read, null when the document is written as JSON.
    if has_alias:
        return None
    try:
        root = compose(text, Loader=CSafeLoader)
    except YAMLError:
        return None
    pairs = list(_pairs(root))
    for key, _ in pairs:
        if isinstance(key, CollectionNode):
            return f"yaml: invalid map key: {_go_syntax(key)}"
    for key, value in pairs:
        if _go_syntax(key) == _NIL:
            shown = "<nil>" if _go_syntax(value) == _NIL else _go_syntax(value)
            return f"unsupported map key of type: %!s(<nil>), key: <nil>, value: {shown}"
    return None


def _pairs(node: Node | None) -> Iterator[tuple[Node, Node]]:
    if isinstance(node, MappingNode):
        for key, value in node.value:
            yield key, value
            yield from _pairs(value)
    elif isinstance(node, SequenceNode):
        for member in node.value:
            yield from _pairs(member)


def _go_syntax(node: Node) -> str:
    """A value as Go's `%#v` writes it."""
    if isinstance(node, MappingNode):
        members = (f"{_go_syntax(key)}:{_go_syntax(value)}" for key, value in node.value)
        return f"map[interface {{}}]interface {{}}{{{', '.join(members)}}}"
    if isinstance(node, SequenceNode):
        return f"[]interface {{}}{{{', '.join(map(_go_syntax, node.value))}}}"
    text = str(node.value)
    value = text if getattr(node, "style", None) in _QUOTING else resolve_plain(text)
    if value is None:
        return _NIL
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value)
    is_float = isinstance(value, float) or abs(value) >= 2**64
    return format_float(float(value)) if is_float else str(value)


def _place(error: MarkedYAMLError) -> str:
    """go-yaml counts lines from 0, and from 1 where its scanner stopped."""
    problem, context = error.problem_mark, error.context_mark
    line = 0
    if problem is not None and problem.line:
        line = problem.line + isinstance(error, ScannerError)
    elif context is not None:
        line = context.line
    return f"line {line}: " if line else ""
