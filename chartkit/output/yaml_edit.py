"""Edits of YAML texts by places: what an edit does not name stays as it is, byte for byte."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Final

import yaml

from chartkit.documents.reader import parse_yaml
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.errors import InputError
from chartkit.model import Body, Json, Location, same
from chartkit.output.round_trip import NOT_EDITABLE

_PLAIN: Final = re.compile(r"[A-Za-z_./][\w./-]*")
_MOST: Final = 1_000
"""The most edits of a text."""


def rewritten(text: str, wanted: Body, file: Path, hint: str) -> str:
    """Return a text with the values that are wanted; only what differs is written anew. New keys
    come in the order of the wanted values.

    Raise InputError where the text cannot be edited, such as below an anchor that is used twice;
    hint: what to do by hand then.
    """
    for _ in range(_MOST):
        try:
            value = parse_yaml(text)
            if same(value, wanted):
                return text
            text = _Text(text).edited(value, wanted)
        except (_NotEditableError, InputError, yaml.YAMLError, ValueError):
            break
    raise InputError(NOT_EDITABLE, Location(str(file)), hint)


class _NotEditableError(Exception):
    """No single edit brings a text nearer to what is wanted."""


@dataclass(slots=True)
class _Text:
    """A text, and the nodes that libyaml reads in it."""

    text: str
    root: Any = field(init=False)
    list_indent: int = field(init=False)

    def __post_init__(self) -> None:
        self.root = yaml.compose(self.text, yaml.CSafeLoader)
        nodes = list(_nodes(self.root))
        if len({id(node) for node in nodes}) < len(nodes):
            raise _NotEditableError  # An alias: an edit may change values elsewhere.
        found = Counter(
            self._dash(value.value[0]) - self._line_start(self._dash(value.value[0]))
            - key.start_mark.column
            for node in nodes
            if isinstance(node, yaml.MappingNode)
            for key, value in node.value
            if isinstance(value, yaml.SequenceNode) and value.value and not value.flow_style
        )  # fmt: skip
        self.list_indent = found.most_common(1)[0][0] if found else 2

    def edited(self, value: Json, wanted: Json) -> str:
        """Return the text after one edit that brings it nearer to the wanted value."""
        return self._edited(self.root, value, wanted)

    def _edited(self, node: Any, value: Any, wanted: Any) -> str:
        if isinstance(node, yaml.MappingNode) and isinstance(wanted, dict):
            return self._mapping(node, value, wanted)
        if isinstance(node, yaml.SequenceNode) and isinstance(wanted, list):
            return self._sequence(node, value, wanted)
        raise _NotEditableError

    def _mapping(self, node: Any, value: Body, wanted: Body) -> str:
        entries = {key.value: (key, item) for key, item in node.value}
        if entries.keys() != value.keys() or not wanted:
            raise _NotEditableError
        before: Any = None
        for name, new in wanted.items():
            if name not in entries:
                entry = f"{_flow(name)}: {_flow(new)}"
                return self._with(
                    node, before, entry if node.flow_style else self._lines({name: new})
                )
            key, before = entries[name]
            if _is_filled(value[name], new) and not same(value[name], new):
                return self._edited(before, value[name], new)
            if not same(value[name], new):
                return self._replaced(node, key, before, new)
        at = next(at for at, name in enumerate(entries) if name not in wanted)
        return self._without(node, at, node.value)

    def _sequence(self, node: Any, value: Sequence[Any], wanted: Sequence[Any]) -> str:
        one, other = (
            [json.dumps(each, sort_keys=True) for each in both] for both in (value, wanted)
        )
        changes = SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
        kind, start, end, first, _ = next(each for each in changes[::-1] if each[0] != "equal")
        if kind == "delete":
            return self._without(node, end - 1, [(each, each) for each in node.value])
        if kind == "replace" and _is_filled(value[start], wanted[first]):
            return self._edited(node.value[start], value[start], wanted[first])
        item, old = wanted[first], node.value[start if kind == "replace" else start - 1]
        if kind == "replace" and not isinstance(item, dict | list):
            [*lines] = [_flow(item)] if node.flow_style else self._lines([item])
            if len(lines) == 1 and isinstance(old, yaml.ScalarNode):
                new = lines[0].removeprefix("- ")
                return self._put(old.start_mark.index, self._end(old), new)
        before = node.value[start - 1] if start else None
        return self._with(node, before, _flow(item) if node.flow_style else self._lines([item]))

    def _with(self, node: Any, before: Any, new: str | list[str]) -> str:
        """Return the text with an entry or item after another one, the first where that is none."""
        first = node.value[0] if node.value else None
        if isinstance(new, str):
            if before is not None:
                return self._put(self._end(before), self._end(before), f", {new}")
            opening = "[" if isinstance(node, yaml.SequenceNode) else "{"
            start = self.text.index(opening, node.start_mark.index) + 1
            return self._put(start, start, f"{new}, " if first is not None else new)
        top = self._dash(first) if not isinstance(first, tuple) else first[0].start_mark.index
        indent = " " * (top - self._line_start(top))
        if before is None:
            lines = [new[0], *(_indented(line, indent) for line in new[1:]), indent]
            return self._put(top, top, self._newline.join(lines))
        end = self._line_end(self._end(before))
        lines = ["", *(_indented(line, indent) for line in new)]
        return self._put(end, end, self._newline.join(lines))

    def _without(self, node: Any, at: int, entries: Sequence[tuple[Any, Any]]) -> str:
        """Return the text without an entry or item, which is not the only one."""
        if len(entries) == 1:
            raise _NotEditableError
        first, last = entries[at]
        if node.flow_style:
            if at:
                return self._put(self._end(entries[at - 1][1]), self._end(last), "")
            return self._put(first.start_mark.index, entries[1][0].start_mark.index, "")
        start = first.start_mark.index if first is not last else self._dash(first)
        line = self._line_start(start)
        if self.text[line:start].strip():
            following = entries[at + 1 : at + 2]
            if not following or first is last:
                raise _NotEditableError
            return self._put(start, following[0][0].start_mark.index, "")
        return self._put(line, self._line_end(self._end(last)) + len(self._newline), "")

    def _replaced(self, node: Any, key: Any, item: Any, new: Json) -> str:
        """Return the text with another value of a key."""
        start, end = self.text.index(":", self._end(key)) + 1, self._end(item)
        if node.flow_style:
            return self._put(start, end, f" {_flow(new)}")
        head, *others = self._lines({key.value: new})
        head, end = head.removeprefix(_key(key.value)), max(start, end)
        if not others:
            return self._put(start, end, head)
        column = " " * (key.start_mark.index - self._line_start(key.start_mark.index))
        rest = self.text[end : self._line_end(end)]
        below = [_indented(line, column) for line in others]
        return self._put(start, self._line_end(end), self._newline.join([head + rest, *below]))

    def _put(self, start: int, end: int, new: str) -> str:
        return self.text[:start] + new + self.text[end:]

    def _lines(self, value: Json) -> list[str]:
        """Return a mapping or list in block style, indented as the text's own are."""
        found: list[str] = []
        for each in value.items() if isinstance(value, dict) else value:
            key, item = each if isinstance(value, dict) else ("", each)
            body = self._lines(item) if item and isinstance(item, dict | list) else []
            if isinstance(value, list):
                lines = body or dump_yaml([item]).rstrip("\n").split("\n")
                found.append(f"- {lines[0]}" if body else lines[0])
                found += [_indented(line, "  ") for line in lines[1:]] if body else lines[1:]
            elif body:
                step = " " * self.list_indent if isinstance(item, list) else "  "
                found += [_key(key)]
                found += [_indented(line, step) for line in body]
            else:
                lines = dump_yaml({"k": item}).rstrip("\n").split("\n")
                found += [_key(key) + lines[0].removeprefix("k:"), *lines[1:]]
        return found

    @property
    def _newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    def _end(self, node: Any) -> int:
        """Return the end of an entry or a node, without comments below it."""
        node = node[1] if isinstance(node, tuple) else node
        while isinstance(node, yaml.CollectionNode) and node.value and not node.flow_style:
            last = node.value[-1]
            node = last[1] if isinstance(last, tuple) else last
        end: int = node.end_mark.index
        return len(self.text[:end].rstrip()) if node.value else end

    def _dash(self, node: Any) -> int:
        return self.text.rindex("-", 0, node.start_mark.index)

    def _line_start(self, at: int) -> int:
        return self.text.rfind("\n", 0, at) + 1

    def _line_end(self, at: int) -> int:
        end = self.text.find("\n", at)
        end = len(self.text) if end < 0 else end
        return end - 1 if self.text[at:end].endswith("\r") else end


def _nodes(root: Any) -> Iterator[Any]:
    yield root
    for each in root.value if isinstance(root, yaml.CollectionNode) else ():
        for node in each if isinstance(each, tuple) else (each,):
            yield from _nodes(node)


def _is_filled(value: Any, wanted: Any) -> bool:
    """Report whether both are mappings, or both lists, and neither is empty."""
    is_alike = isinstance(wanted, dict | list) and type(value) is type(wanted)
    return is_alike and bool(value) and bool(wanted)


def _key(name: str) -> str:
    """Return a key with its colon."""
    return f"{json.dumps(name)}:" if "\n" in name else dump_yaml({name: None})[: -len(" null\n")]


def _flow(value: Json) -> str:
    """Return a value in one line, as it may be written within braces and brackets."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_flow(key)}: {_flow(each)}' for key, each in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_flow, value))}]"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and parse_yaml(value) == value:
        return value
    return json.dumps(value, ensure_ascii=False)


def _indented(line: str, indent: str) -> str:
    return f"{indent}{line}" if line else ""
