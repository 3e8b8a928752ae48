"""YAML as most manifests have it, read line by line: a key or an item a line, told apart by
indentation.

libyaml makes an object of each token, which takes most of the time of reading. A single line says
little about YAML, so a document with a line of another form than those below is left to libyaml,
and what is read here is what libyaml reads.
"""

from __future__ import annotations

import contextlib
import json
import re
import string
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from chartkit.documents.yaml_builder import (
    MAX_DEPTH,
    BuiltDocument,
    Start,
    build_documents,
    resolve_plain,
)
from chartkit.errors import InputError

Row = tuple[str, str, str, str, str]
"""A line: its indentation, its dash, its key, the key's value, and the item without a key. Lines
of a text belong to the one that it begins in."""

_CUT: Final = re.compile(r"^---(?=[ \n]|\Z)", re.MULTILINE)
_MARKER: Final = re.compile(r"---(?: +(?:#.*)?)?(?:\n|\Z)")
KEY: Final = r"[A-Za-z0-9_./$(+^=~][A-Za-z0-9_./$()+^=<>~*?!@-]{0,250}"
_VALUE: Final = r"[|>]-?[ ]*(?:\n(?:[ ]*\n)*\1%s.*)+|[^ \n].*"
_ITEM: Final = _VALUE % "[ ]"
_MEMBER: Final = _VALUE % "(?(2)[ ]{3}|[ ])"
_LINE: Final = re.compile(
    rf"^([ ]*)(-[ ]+)?(?:({KEY}):(?:[ ]+({_MEMBER})|[ ]*)|(?(2)({_ITEM})|(?:\#.*)?))$", re.MULTILINE
)
_QUOTED: Final = re.compile(r"""'((?:[^']|'')*)'|"(?:[^"\\]|\\["\\nrtbf])*\"""")
_QUOTES: Final = "'\""
_EMPTY: Final[Mapping[str, Callable[[], Any]]] = {"{}": dict, "[]": list}
_WORD: Final = (
    r"""(?:[A-Za-z0-9_./$(+<=~^;\\]|-(?=[A-Za-z0-9]))[A-Za-z0-9_./$()+<=>~^;\\*@%-]*"""
    r"""|"[^"\\]*"|'[^']*'"""
)
_LIST: Final = re.compile(rf"\[ ?(?:{_WORD})(?:, ?(?:{_WORD}))* ?\]")
_MAPPING: Final = re.compile(rf"\{{ ?{KEY}: (?:{_WORD})(?:, ?{KEY}: (?:{_WORD}))* ?\}}")
_ITEM_WORDS: Final = re.compile(_WORD)
_MEMBER_WORDS: Final = re.compile(rf"({KEY}): ({_WORD})")
_COMMENT: Final = re.compile(r" #.*")
FIRST: Final = re.compile(r"^ *[^ #\n]", re.MULTILINE)
_ITEMS: Final = re.compile(r"^items:[ ]*\n(?=([ ]*)-)", re.MULTILINE)
_BREAKS: Final = re.compile(r"\n+")
_OTHER_BREAKS: Final = "\r\x85\u2028\u2029"
"""The characters that end a line in YAML besides the usual one."""
_PLAIN: Final = frozenset(string.ascii_letters + string.digits + "_./$(+<=~^;\\")
"""The characters that begin a scalar without quotes, among others."""
_FARTHEST: Final = MAX_DEPTH // 2 - 2
"""The last column in which a container begins; what is deeper is libyaml's to refuse."""
_MOST: Final = 4096
"""The most scalars, and the most keys, that are kept."""


class _UnusualError(Exception):
    """A document that only a parser of YAML understands."""


def read_documents(text: str, file: str, lines: int = 0) -> list[BuiltDocument]:
    """Return the documents of a text that are not empty; lines: how many precede it in the file,
    for hints alone. Raise InputError as `build_documents` does."""
    if not any(mark in text for mark in _OTHER_BREAKS):
        with contextlib.suppress(InputError):
            return list(_by_parts(text, file))
    # Errors are reported for the whole text.
    return [built for built in build_documents(text, file, lines) if built.body is not None]


def _by_parts(text: str, file: str) -> Iterator[BuiltDocument]:
    """Yield the documents of a text, which a line that begins with `---` always ends."""
    starts = [match.start() for match in _CUT.finditer(text)]
    if not starts or starts[0]:
        starts.insert(0, 0)
    reader = _Reader()
    line = 1
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        part = text[start:end]
        try:
            yield from reader.documents(part, start, line)
        except _UnusualError:
            for document in build_documents(part, file):
                if document.body is not None:
                    lines = line - 1
                    moved = BuiltDocument(
                        document.body,
                        _later(document.content, start, lines),
                        document.start + start,
                        document.end + start,
                        [_later(item, start, lines) for item in document.items],
                    )
                    yield moved
        line += part.count("\n")


def _later(start: Start, offset: int, lines: int) -> Start:
    return Start(start.line + lines, start.column, start.offset + offset)


class _Reader:
    """A reader of documents; scalars: values by text; names: keys, each kept once."""

    __slots__ = ("_is_block", "_names", "_scalars")

    def __init__(self) -> None:
        self._scalars: dict[str, Any] = {}
        self._names: dict[str, str] = {}
        self._is_block = True

    def documents(self, text: str, offset: int, line: int) -> Iterator[BuiltDocument]:
        """Yield the document of a text, if any, that begins at offset; raise `_UnusualError`."""
        begin = 0
        if text.startswith("---"):
            marker = _MARKER.match(text)
            if marker is None:
                raise _UnusualError
            begin = marker.end()
        # The lines of a text; raise `_UnusualError` where one is of another form.
        row_text = text[begin:]
        if not row_text.replace("\n", "").isprintable():
            raise _UnusualError
        rows: list[Row] = _LINE.findall(row_text)
        missing = row_text.count("\n") + 1 - len(rows)
        if missing:
            inner = sum(row[3].count("\n") + row[4].count("\n") for row in rows)
            # Without a line end, the last line of a text is another.
            if inner != missing or row_text[-1] != "\n":
                raise _UnusualError
        first = FIRST.search(text, begin)
        if first is None:
            return
        self._is_block = True
        body = self._value(rows)
        at = first.end() - 1
        content = Start(line + text.count("\n", 0, at), at - first.start(), offset + at)
        is_list = isinstance(body, dict) and isinstance(body.get("items"), list)
        items = list(_items(text, len(body["items"]), offset, line)) if is_list else ()
        start = offset if begin else offset + at
        yield BuiltDocument(body, content, start, offset + len(text), items, self._is_block)

    def _value(self, rows: Iterable[Row]) -> Any:
        """Return the value of a document; raise `_UnusualError`."""
        scalars, names = self._scalars, self._names
        root: dict[str, Any] = {}
        outer: list[tuple[int, Any]] = []
        column = -1
        container: Any = root
        # The key of the innermost mapping that waits for its value.
        pending: str | None = ""
        for indent, dash, key, text, item in rows:
            if not (key or item):
                continue
            at = len(indent)
            if dash:
                column, container = _listed(outer, column, container, pending, at)
                pending = None
                if item:
                    value = scalars.get(item, scalars)
                    container.append(self._scalar(item, at) if value is scalars else value)
                    continue
                members: dict[str, Any] = {}
                container.append(members)
                outer.append((column, container))
                column, container = at + len(dash), members
            elif pending is not None and at > column:
                column, container = _opened(outer, column, container, pending, at, {})
            elif at != column or container.__class__ is list:
                while column > at or (column == at and container.__class__ is list):
                    column, container = outer.pop()
                if column != at:
                    raise _UnusualError
            name = names.get(key) or self._name(key)
            if text:
                value = scalars.get(text, scalars)
                container[name] = self._scalar(text, column) if value is scalars else value
                pending = None
            else:
                container[name] = None
                pending = name
        return root[""]

    def _name(self, text: str) -> str:
        """Return a key that is not a number, no boolean and not null; raise `_UnusualError`."""
        if resolve_plain(text) != text:
            raise _UnusualError
        if len(self._names) < _MOST:
            self._names[text] = text
        return text

    def _scalar(self, text: str, column: int) -> Any:
        """Return the value of a text after a key or dash in a column; raise `_UnusualError`."""
        first = text[0]
        if first in "|>":
            head, *lines = text.split("\n")
            if not lines:
                raise _UnusualError
            indent = len(lines[0]) - len(lines[0].lstrip(" "))
            if indent <= column or len(lines[0]) == indent:
                raise _UnusualError
            blank = " " * indent
            if any(line[:indent] != blank[: len(line)] for line in lines):
                raise _UnusualError
            is_folded = head[0] == ">"
            value = "\n".join([line[indent:] for line in lines]).rstrip("\n")
            if is_folded:
                if "\n " in value or value[0] == " ":
                    raise _UnusualError
                value = _BREAKS.sub(_folded, value)
            return value if "-" in head else f"{value}\n"
        bare = _COMMENT.sub("", text) if "#" in text and first not in _QUOTES else text
        bare = bare.rstrip(" ")
        if bare in _EMPTY:
            return _EMPTY[bare]()
        if first in "[{":
            self._is_block = False
            # A list or mapping of scalars between brackets.
            if bare[0] == "[" and _LIST.fullmatch(bare):
                return [self._scalar(word, 0) for word in _ITEM_WORDS.findall(bare)]
            if bare[0] == "{" and _MAPPING.fullmatch(bare):
                members = _MEMBER_WORDS.findall(bare)
                return {self._name(key): self._scalar(word, 0) for key, word in members}
            raise _UnusualError
        if first in _QUOTES:
            match = _QUOTED.fullmatch(bare)
            if match is None:
                raise _UnusualError
            if bare[0] == "'":
                value = bare[1:-1].replace("''", "'")
            else:
                quoted_value: str = json.loads(bare) if "\\" in bare else bare[1:-1]
                value = quoted_value
        else:
            value = _plain(bare)
        if len(self._scalars) >= _MOST:
            self._scalars.clear()
        self._scalars[text] = value
        return value


def _opened(
    outer: list[tuple[int, Any]], column: int, container: Any, key: str, at: int, made: Any
) -> tuple[int, Any]:
    """Open a container that is the value of a key."""
    if at > _FARTHEST:
        raise _UnusualError
    container[key] = made
    outer.append((column, container))
    return at, made


def _listed(
    outer: list[tuple[int, Any]], column: int, container: Any, pending: str | None, at: int
) -> tuple[int, Any]:
    """Return the column of a dash and the list that it adds to."""
    if pending is not None and at >= column:
        return _opened(outer, column, container, pending, at, [])
    while column > at:
        column, container = outer.pop()
    if column != at or container.__class__ is not list:
        raise _UnusualError
    return column, container


def _plain(text: str) -> Any:
    """Return the value of a scalar without quotes."""
    first = text[0]
    is_text = first in _PLAIN or (first == "-" and text[1:2] not in ("", " "))
    if not is_text or ": " in text or text[-1] == ":":
        raise _UnusualError
    value = resolve_plain(text)
    if value is None and "." in text:
        # A number that JSON lacks.
        raise _UnusualError
    return value


def _folded(breaks: re.Match[str]) -> str:
    return " " if len(breaks[0]) == 1 else breaks[0][1:]


def _items(text: str, count: int, offset: int, line: int) -> Iterator[Start]:
    """Yield where the items of a List begin; raise `_UnusualError`."""
    if not count:
        return
    head = _ITEMS.search(text)
    if head is None:
        raise _UnusualError
    dash = re.compile(rf"^{head[1]}-[ ]+", re.MULTILINE)
    matches = list(dash.finditer(text, head.end()))
    if len(matches) != count:
        raise _UnusualError
    at = 0
    for match in matches:
        line += text.count("\n", at, at := match.end())
        yield Start(line, len(match[0]), offset + at)
