"""Reading of YAML files as trees."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Any, Final, NamedTuple

import yaml

from chartkit.documents.reader import Document
from chartkit.errors import InputError
from chartkit.model import Json, Location
from chartkit.output.yaml_tree import Block, Entry, Leaf, Path, Tree, outdented, value_of

_MERGE: Final = "<<"
BREAK: Final = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
"""The line breaks of YAML."""
_BLANK: Final = " \t"
_COMMENT: Final = re.compile(r"(?:\A|(?<!\s)\s)\s*#.*", re.DOTALL)


def read_tree(
    document: Document, rank: Callable[[Path], int] = lambda _: 0, keeps_aliases: bool = False
) -> Tree:
    """Return a file with one mapping as a tree; raise InputError for one that has no parts to move.
    rank: where a key stands among its siblings; keeps_aliases: whether aliases, and mappings with
    merge keys, stay as they are; they are written out otherwise."""
    lines = BREAK.split(document.source.text)
    while lines and not lines[-1].strip(_BLANK):
        lines.pop()
    try:
        node: Any = yaml.compose(document.source.text, yaml.CBaseLoader)
    except yaml.YAMLError as error:
        problem = getattr(error, "problem", None) or "cannot be read as YAML"
        message = "has an anchor twice" if problem == "second occurrence" else str(problem)
        raise InputError(message, document.location) from None
    if node.flow_style:
        root = value_of(document.body)
        head = [line for line in lines if line.lstrip().startswith("#")]
        return Tree(root if isinstance(root, Block) else Block([]), head, [], rank)
    for key, _ in node.value:
        mark = key.start_mark
        where = Location(document.source.file, mark.line + 1, mark.column + 1)
        if key.value == _MERGE:
            raise InputError("has a merge key, which cannot be moved", where, "write it out")
        if key.value not in document.body:
            raise InputError(f"the key '{key.value}' is not a string", where, "quote it")
        if lines[mark.line].lstrip().startswith("?"):
            raise InputError("has a key behind a '?', which cannot be moved", where, "leave it out")
    reader = _Reader(lines, keeps_aliases)
    start = node.value[0][0].start_mark.line
    # The comment above the first key: without anything between it and that key, it speaks of it.
    comment = takewhile(lambda line: line.lstrip().startswith("#"), reversed(lines[:start]))
    head_end = start - len(list(comment))
    end = len(lines)
    if lines[-1].rstrip(_BLANK) == "...":
        end -= 1
    root = reader.block(node, document.body, head_end, end)
    newline = "\r\n" if "\r\n" in document.source.text else "\n"
    head, foot = lines[:head_end], reader.loose
    offsets = [
        entry.value.offset
        for entry in root.entries
        if isinstance(entry.value, Block) and not entry.value.listed
    ]
    step = Counter(offsets).most_common(1)[0][0] if offsets else 2
    # Empty lines stand above half of the keys but the first.
    spaced = [entry for entry in root.entries[1:] if not all(map(str.strip, entry.lead))]
    is_spaced = bool(spaced) and len(spaced) * 2 >= len(root.entries) - 1
    return Tree(root, head, foot, rank, step, is_spaced, newline)


class _Slot(NamedTuple):
    """A key or an item: where it begins, where the text of its value does, and its node."""

    key: str
    name: str
    line: int
    after: int
    node: Any
    data: Json
    is_alias: bool = False

    @property
    def is_on_one_line(self) -> bool:
        """Report whether a scalar ends on the line of its key or dash."""
        node = self.node
        is_scalar = node.__class__ is yaml.ScalarNode and not self.is_alias
        return is_scalar and node.end_mark.line == self.line


class _Reader:
    """Reads blocks; `loose`: the comment lines below the last one that do not belong to it."""

    def __init__(self, lines: list[str], keeps_aliases: bool) -> None:
        self._lines = lines
        self._keeps_aliases = keeps_aliases
        self._ends: dict[int, int] = {}
        self.loose: list[str] = []

    def block(self, node: Any, body: Json, start: int, end: int, top: bool = True) -> Block:
        """A mapping or list in block style, whose lines, comments among them, are start to end."""
        column = node.start_mark.column if _is_list(node) else _column(node)
        slots = list(self._slots(node, body, column))
        block = Block([], listed=_is_list(node))
        at = start
        # Of two equal keys the last one holds.
        entries: dict[int | str, Entry] = {}
        for index, slot in enumerate(slots):
            limit = slots[index + 1].line if index + 1 < len(slots) else end
            is_last = index + 1 == len(slots)
            entry = Entry(slot.key, Leaf(None), slot.name, line=slot.line + 1)
            if at < slot.line:
                entry.lead = self._dedented(at, slot.line, column)
            if limit == slot.line + 1 and slot.is_on_one_line:
                own_end, first = limit, self._first_line(slot, column)
                entry.value = Leaf(slot.data, [first], self._comment_after(slot))
            else:
                # Below the last key of a mapping, what stands at its own column speaks of it too.
                own_end = self._own_end(slot, limit, column - 1 if is_last and not top else column)
                self._fill(entry, slot, own_end, column)
            entries[index if block.listed else slot.key] = entry
            at = own_end
        self.loose = self._lines[at:end]
        block.entries = list(entries.values())
        return block

    def _slots(self, node: Any, body: Json, column: int) -> Iterator[_Slot]:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                line, end = self._lines[key.start_mark.line], key.end_mark.column
                name = line[key.start_mark.column : end]
                after = line.index(":", end) + 1
                # The node of an alias is that of its anchor, which stands above.
                is_alias = value.start_mark.index < key.end_mark.index
                yield _Slot(
                    key.value, name, key.start_mark.line, after, value, body[key.value], is_alias
                )
            return
        at, end = node.start_mark.line, node.start_mark.index
        for index, item in enumerate(node.value):
            while self._lines[at][column : column + 1] != "-":
                at += 1
            is_alias = item.start_mark.index < end
            end = max(end, item.end_mark.index)
            yield _Slot("", "", at, -1, item, body[index], is_alias)
            at += 1

    def _fill(self, entry: Entry, slot: _Slot, own_end: int, column: int) -> None:
        """The value of an entry, and the comments below it."""
        first = self._first_line(slot, column)
        is_alias = slot.is_alias or (
            isinstance(slot.node, yaml.MappingNode)
            and any(key.value == _MERGE for key, _ in slot.node.value)
        )
        if is_alias and not self._keeps_aliases:
            end = self._content_end(slot)
            entry.value = value_of(slot.data)
            if isinstance(entry.value, Leaf):
                entry.value.comment = comment_of(first)
        elif not is_alias and _is_block(slot.node) and self._is_plain(slot):
            first_node = slot.node if _is_list(slot.node) else slot.node.value[0][0]
            begin = slot.line if first_node.start_mark.line == slot.line else slot.line + 1
            inner = self.block(slot.node, slot.data, begin, own_end, top=False)
            entry_column: int = (
                slot.node.start_mark.column if _is_list(slot.node) else _column(slot.node)
            )
            inner.offset = entry_column - column
            inner.after = first if begin > slot.line else ""
            entry.value = inner
            entry.tail = [_dedent(line, column) for line in self.loose]
            return
        else:
            end = self._content_end(slot)
            rest = self._dedented(slot.line + 1, end, column)
            entry.value = Leaf(slot.data, [first, *rest], self._comment_after(slot))
        entry.tail = self._dedented(end, own_end, column)

    def _first_line(self, slot: _Slot, column: int) -> str:
        """Return the text after a key's colon or an item's dash."""
        return self._lines[slot.line][slot.after if slot.after >= 0 else column + 1 :]

    def _comment_after(self, slot: _Slot) -> str:
        if slot.is_alias:
            return comment_of(self._first_line(slot, 0))
        if _is_block(slot.node):
            return ""
        mark = slot.node.end_mark
        if _is_empty(slot.node):
            return comment_of(self._first_line(slot, 0)) if slot.after >= 0 else ""
        if _is_literal(slot.node) or mark.line >= len(self._lines):
            return ""
        return comment_of(self._lines[mark.line][mark.column :])

    def _own_end(self, slot: _Slot, limit: int, column: int) -> int:
        """Return the end of the comments below an entry: those indented deeper than its key."""
        end = at = min(self._content_end(slot), limit)
        while at < limit:
            line = self._lines[at]
            if line.strip():
                if len(line) - len(line.lstrip()) <= column:
                    break
                end = at + 1
            at += 1
        # The end of comments right below an entry that do not belong to the next one, as examples
        # of a value do
        if column >= 0:
            at = end
            while at < limit and self._lines[at].lstrip().startswith("#"):
                at += 1
            apart = at < limit and not self._lines[at].strip()
            return at if apart else end
        return end

    def _content_end(self, slot: _Slot) -> int:
        """The line behind the last one of a value."""
        if slot.is_alias or _is_empty(slot.node):
            return slot.line + 1
        if _is_block(slot.node):
            if id(slot.node) not in self._ends:
                self._ends[id(slot.node)] = self._content_end(self._last(slot.node))
            return self._ends[id(slot.node)]
        mark = slot.node.end_mark
        # A last line of spaces alone, without its end, counts as two.
        end: int = min(mark.line if mark.column == 0 else mark.line + 1, len(self._lines))
        kept = "+" in self._first_line(slot, 0).partition("#")[0] and _is_literal(slot.node)
        while end > slot.line + 1 and not kept and not self._lines[end - 1].strip(_BLANK):
            end -= 1
        return max(end, slot.line + 1)

    def _last(self, node: Any) -> _Slot:
        """Return the last key or item of a block, as far as its end needs it."""
        if _is_list(node):
            value, line, after = node.value[-1], node.value[-1].start_mark.line, -1
            ends = (item.end_mark.index for item in node.value[:-1])
            is_alias = value.start_mark.index < max(ends, default=node.start_mark.index)
        else:
            key, value = node.value[-1]
            line, after = key.start_mark.line, key.end_mark.column
            is_alias = value.start_mark.index < key.end_mark.index
        if is_alias:
            line = min(node.end_mark.line, len(self._lines)) - 1
            while not self._lines[line].strip() or self._lines[line].lstrip().startswith("#"):
                line -= 1
        return _Slot("", "", line, after, value, None, is_alias)

    def _is_plain(self, slot: _Slot) -> bool:
        """Report whether a block has parts, with plain keys and nothing before its first dash."""
        if _is_list(slot.node):
            mark: yaml.Mark = slot.node.start_mark
            return self._lines[mark.line].startswith("-", mark.column)
        return isinstance(slot.data, dict) and all(
            key.value in slot.data and self._is_simple(key) for key, _ in slot.node.value
        )

    def _is_simple(self, key: Any) -> bool:
        """Report whether a key is on one line and its colon behind it."""
        line: str = self._lines[key.end_mark.line]
        rest = line[key.end_mark.column :]
        return key.start_mark.line == key.end_mark.line and rest.lstrip().startswith(":")

    def _dedented(self, start: int, end: int, column: int) -> list[str]:
        return [_dedent(line, column) for line in self._lines[start:end]]


def _is_block(node: Any) -> bool:
    """Report whether a value is a mapping or list in block style."""
    return isinstance(node, yaml.CollectionNode) and not node.flow_style


def _is_list(node: Any) -> bool:
    return isinstance(node, yaml.SequenceNode)


def _is_empty(node: Any) -> bool:
    """Report whether nothing is written where a value could be."""
    return isinstance(node, yaml.ScalarNode) and node.start_mark.index == node.end_mark.index


def _is_literal(node: Any) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.style in ("|", ">")


def _column(node: Any) -> int:
    column: int = node.value[0][0].start_mark.column
    return column


def comment_of(text: str) -> str:
    """Return the comment in what follows a value, with the spaces before it."""
    comment = _COMMENT.search(text)
    return comment[0].rstrip() if comment else ""


def _dedent(line: str, column: int) -> str:
    spaces = len(line) - len(line.lstrip(" "))
    return line[column:] if spaces >= column or spaces == len(line) else outdented(line, column)
