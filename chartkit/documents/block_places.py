"""Places in YAML as most manifests have it: a key or an item a line, told apart by indentation.

A line by itself tells little of YAML, so what is not one of the plain forms below is left to the
parser, and the result is the parser's for all that is taken.
"""

from __future__ import annotations

import re
import string
from functools import lru_cache
from typing import Any, Final

from chartkit.documents.yaml_builder import resolve_plain

Mark = tuple[int, int]
"""A line and a column, from 0."""

_KEY: Final = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./-]*")
_PLAIN: Final = frozenset(string.ascii_letters + string.digits + "_./$(+<=~^;\\")
"""The characters that begin a scalar without quotes, among others."""
_QUOTED: Final = re.compile(r"""'(?:[^']|'')*'|"(?:[^"\\]|\\.)*\"""")
_BLOCK: Final = frozenset(("|", "|-", "|+", ">", ">-", ">+"))


class _UnusualError(Exception):
    """A line that only a parser of YAML understands."""


def block_places(text: str) -> tuple[Any, int] | None:
    """Return the places of a text's first value and the line that it begins in, from 0; None for a
    text that is not in plain block style.

    Mappings are by key and lists in order, each member a pair of its mark and what it holds.
    """
    if "\t" in text or "\r" in text:
        return None
    try:
        return _Reader().read(text)
    except _UnusualError:
        return None


class _Reader:
    """A reader of lines.

    open: the containers around the current line, each with the column of its keys or dashes;
    holder: of a key whose value is to come the mapping, the key and its column; block: the column
    that lines of a block scalar are beyond, or -1.
    """

    __slots__ = ("block", "first", "holder", "open", "root")

    def __init__(self) -> None:
        self.root: Any = None
        self.first = 0
        self.open: list[tuple[int, Any]] = []
        self.holder: tuple[dict[str, Any], str, int] | None = None
        self.block = -1

    def read(self, text: str) -> tuple[Any, int]:
        """Return the root's places and its line; raise `_UnusualError`."""
        for number, line in enumerate(text.split("\n")):
            content = line.lstrip(" ")
            if not content:
                continue
            column = len(line) - len(content)
            if self.block >= 0:
                if column > self.block:
                    continue
                self.block = -1
            first = content[0]
            if first == "#" or (line == "---" and not self.open):
                continue
            if not self.open:
                self.first = number
            elif column < self.open[0][0]:
                break
            if first == "-":
                self._item(number, column, content)
            else:
                self._key(number, column, content)
        if self.root is None:
            raise _UnusualError
        return self.root, self.first

    def _item(self, line: int, column: int, content: str) -> None:
        if content[1:2] != " ":
            raise _UnusualError
        items = self._container(column, list)
        inner = content[2:].lstrip(" ")
        if not inner:
            raise _UnusualError
        start = column + len(content) - len(inner)
        key, colon, _ = inner.partition(":")
        if colon and _is_key(key):
            members: dict[str, Any] = {}
            items.append(((line, start), members))
            self.open.append((start, members))
            self._key(line, start, inner)
        else:
            items.append(((line, start), self._value(inner.rstrip(" "), column)))

    def _key(self, line: int, column: int, content: str) -> None:
        at, members = self.open[-1] if self.open else (-1, None)
        if at != column or self.holder is not None or members.__class__ is not dict:
            members = self._container(column, dict)
        key, colon, value = content.partition(":")
        if not colon or not _is_key(key):
            raise _UnusualError
        inner = value.strip(" ")
        if not inner:
            members[key] = ((line, column), None)
            self.holder = members, key, column
        elif value[0] != " ":
            raise _UnusualError
        else:
            members[key] = ((line, column), self._value(inner, column))

    def _container(self, column: int, kind: type) -> Any:
        """Return the mapping or list that has its keys or dashes in a column."""
        holder, self.holder = self.holder, None
        if holder is not None:
            members, key, of_key = holder
            if column > of_key or (column == of_key and kind is list):
                made = kind()
                members[key] = (members[key][0], made)
                self.open.append((column, made))
                return made
        containers = self.open
        if not containers and self.root is None:
            self.root = kind()
            containers.append((column, self.root))
        while containers:
            at, container = containers[-1]
            if at == column and container.__class__ is kind:
                return container
            if at < column:
                break
            containers.pop()
        raise _UnusualError

    def _value(self, value: str, column: int) -> Any:
        """Return the places in a value on the line of its key or dash, in a column."""
        first = value[0]
        if first in _PLAIN or (first == "-" and value[1:2] not in ("", " ")):
            if "#" in value or ": " in value or value[-1] == ":":
                raise _UnusualError
            return None
        if value == "{}":
            return {}
        if value == "[]":
            return []
        if value in _BLOCK:
            self.block = column
            return None
        if _QUOTED.fullmatch(value) is None:
            raise _UnusualError
        return None


@lru_cache(maxsize=4096)
def _is_key(text: str) -> bool:
    """Return whether a text is a key as it stands, which no number and no boolean is."""
    return _KEY.fullmatch(text) is not None and resolve_plain(text) == text
