"""Messages of go-yaml about a text that `chartkit.documents.reader` could not read.

The texts are libyaml's own; go-yaml adds a line to those that are not in the first one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

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

from chartkit.documents.yaml_builder import MAX_DEPTH, resolve_plain
from chartkit.go.fmt import format_float
from chartkit.go.strconv import quote

_UNSUPPORTED = {
    **dict.fromkeys((".nan", ".NaN", ".NAN"), "NaN"),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), "+Inf"),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), "-Inf"),
}


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
    return None if has_alias else _key_problem(text)


def _key_problem(text: str) -> str | None:
    """Return the message about the first key that JSON cannot hold: lists and objects are
    refused when they are read, null when the document is written as JSON."""
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


_QUOTING: Final = tuple("'\"|>")
_NIL: Final = "interface {}(nil)"


def _place(error: MarkedYAMLError) -> str:
    """go-yaml counts lines from 0, and from 1 where its scanner stopped."""
    problem, context = error.problem_mark, error.context_mark
    line = 0
    if problem is not None and problem.line:
        line = problem.line + isinstance(error, ScannerError)
    elif context is not None:
        line = context.line
    return f"line {line}: " if line else ""
