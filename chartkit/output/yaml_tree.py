"""A values file as a tree whose parts can be moved, with their comments and as they are written."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import dropwhile, pairwise
from typing import Final

from chartkit.documents.yaml_dump import dump_text, dump_yaml
from chartkit.model import Body, Json

Path = tuple[str, ...]
_LONG: Final = 100
"""The letters from which YAML may write a key behind a '?'."""


@dataclass(slots=True)
class Leaf:
    """A value that is not looked into.

    lines: as it is written, the first line behind the key's colon or the item's dash, the others
    from the column of the key or dash; None: it is written from its data. comment: what follows it
    on its last line, with the spaces before it, for where it is written anew.
    """

    data: Json
    lines: list[str] | None = None
    comment: str = ""


@dataclass(slots=True)
class Block:
    """A mapping or list that stands on lines of its own.

    offset: how far its keys or dashes stand right of the key or dash above, below 0 as those of the
    file's lists do; after: what follows that key's colon on its line.
    """

    entries: list[Entry]
    listed: bool = False
    offset: int = 2
    after: str = ""


@dataclass(slots=True)
class Entry:
    """A key, or an item of a list, with its value.

    name: the key as it is written; lead: comments and empty lines above it; tail: comments below it
    that stand deeper; line: where it stood, 0 for a new one.
    """

    key: str
    value: Leaf | Block
    name: str = ""
    lead: list[str] = field(default_factory=list)
    tail: list[str] = field(default_factory=list)
    line: int = 0


@dataclass(slots=True)
class Tree:
    """A values file: head is what stands above all keys, foot what stands below them.

    rank: where a key stands among its siblings in the chart's own values; step: how far keys stand
    right of the key above; spaced: whether empty lines stand between the sections;
    newline: what ends lines; changes: how often something was taken out or put in.
    """

    root: Block
    head: list[str]
    foot: list[str]
    rank: Callable[[Path], int]
    step: int = 2
    spaced: bool = False
    newline: str = "\n"
    changes: int = 0
    heirs: dict[int, Entry] = field(default_factory=dict)

    def drop_all(self, parent: Path, dropped: Sequence[Entry]) -> None:
        """Removes entries of the mapping at a path as `drop` does each of them, in their order."""
        block = self._block(parent)
        gone = {id(entry) for entry in dropped}
        stays: list[Entry] = []
        kept: list[str] = []
        for entry in block.entries:
            entry.lead[:0], kept = kept, []
            if id(entry) not in gone:
                stays.append(entry)
            elif stays or entry is not block.entries[-1]:
                kept = _apart(entry)
        if not stays:
            # With the last one goes what is empty without it.
            self.heirs.setdefault(id(block), dropped[0])
            self.changes += len(dropped) - 1
            block.entries = block.entries[-1:]
            self.drop((*parent, dropped[-1].key))
            return
        block.entries = stays
        self.heirs.setdefault(id(block), dropped[0])
        self.changes += len(dropped)
        self._leave(kept, parent, block, len(stays))

    def find(self, path: Sequence[str]) -> Entry | None:
        """The entry at a path."""
        entry: Entry | None = None
        for step in path:
            block = as_block(entry) if entry else self.root
            if block is None or block.listed:
                return None
            entry = next((item for item in block.entries if item.key == step), None)
            if entry is None:
                return None
        return entry

    def take(self, path: Path) -> Entry:
        """Removes an entry, and what is empty without it; comments above those go with the first
        that was taken out of them."""
        parents = [self._block(path[:depth]) for depth in range(len(path))]
        taken = self._entry(path)
        _remove(parents[-1], taken)
        self.heirs.setdefault(id(parents[-1]), taken)
        self.changes += 1
        for depth in range(len(path) - 1, 0, -1):
            emptied = parents[depth]
            if emptied.entries:
                break
            entry = self._entry(path[:depth])
            heir = self.heirs[id(emptied)]
            heir.lead[:0] = _without_blank(entry.lead)
            heir.tail += entry.tail
            _remove(parents[depth - 1], entry)
            self.heirs.setdefault(id(parents[depth - 1]), heir)
        return taken

    def drop(self, path: Path) -> Entry:
        """Removes an entry with the comment that stands on it; other comments above stay."""
        block = self._block(path[:-1])
        index = next(at for at, entry in enumerate(block.entries) if entry.key == path[-1])
        taken = self.take(path)
        self._leave(_apart(taken), path[:-1], block, index)
        return taken

    def _leave(self, kept: list[str], parent: Path, block: Block, index: int) -> None:
        """Leaves comments where an entry stood."""
        if not kept:
            return
        if index < len(block.entries):
            block.entries[index].lead[:0] = kept
        elif not parent:
            self.foot[:0] = kept
        elif block.entries:
            block.entries[-1].tail += kept

    def put(self, path: Path, entry: Entry) -> bool:
        """Puts an entry to a path, after the keys that the chart has before it; False, and nothing
        done, where something is there."""
        if self.find(path) is not None:
            return False
        block = self.root
        for depth, step in enumerate(path[:-1]):
            holder = next((item for item in block.entries if item.key == step), None)
            if holder is None:
                holder = Entry(step, Block([], offset=self.step))
                self._insert(block, path[:depth], holder)
            inner = as_block(holder)
            if inner is None or inner.listed:
                return False
            block = inner
        if entry.key != path[-1]:
            entry.key, entry.name = path[-1], ""
        entry.lead = _without_blank(entry.lead)
        self.changes += 1
        self._insert(block, path[:-1], entry)
        return True

    def space(self) -> None:
        """Sets new sections apart where the file's own are."""
        for before, entry in pairwise(self.root.entries):
            is_new = 0 in (before.line, entry.line)
            if self.spaced and is_new and all(map(str.strip, entry.lead)):
                entry.lead.insert(0, "")

    def data(self) -> Body:
        """Return the data of the tree."""
        body: Body = data_of(self.root)
        return body

    def _insert(self, block: Block, parent: Path, entry: Entry) -> None:
        rank = self.rank((*parent, entry.key))
        at = len(block.entries)
        while at and self.rank((*parent, block.entries[at - 1].key)) > rank:
            at -= 1
        block.entries.insert(at, entry)

    def _block(self, path: Path) -> Block:
        if not path:
            return self.root
        block = as_block(self._entry(path))
        if block is None:
            raise KeyError(path)
        return block

    def _entry(self, path: Path) -> Entry:
        entry = self.find(path)
        if entry is None:
            raise KeyError(path)
        return entry


def _remove(block: Block, entry: Entry) -> None:
    block.entries = [other for other in block.entries if other is not entry]


def _apart(taken: Entry) -> list[str]:
    """Return the comments that stand apart above an entry, which does not have them any more."""
    lead = taken.lead
    blank = next((at for at in range(len(lead), 0, -1) if not lead[at - 1].strip()), 0)
    kept, taken.lead = lead[:blank], lead[blank:]
    return kept if any(map(str.strip, kept)) else []


def _without_blank(lines: list[str]) -> list[str]:
    return list(dropwhile(lambda line: not line.strip(), lines))


def as_block(entry: Entry) -> Block | None:
    """The mapping or list of an entry, opened where it is written in braces; None for others."""
    value = entry.value
    if isinstance(value, Leaf) and value.data and isinstance(value.data, dict | list):
        block = value_of(value.data)
        if isinstance(block, Block):
            block.after = value.comment
            _stand(block, entry.line)
            entry.value = block
    return entry.value if isinstance(entry.value, Block) else None


def _stand(block: Block, line: int) -> None:
    """Says of all entries of a block that they stood on a line."""
    for entry in block.entries:
        entry.line = line
        if isinstance(entry.value, Block):
            _stand(entry.value, line)


def unwrap(entry: Entry) -> None:
    """Put the first item of a list in its place."""
    block = as_block(entry)
    if block is not None and block.listed:
        first = block.entries[0]
        entry.value = first.value
        entry.lead += first.lead
        if isinstance(first.value, Block):
            first.value.after, first.value.offset = block.after, 2


def value_of(data: Json) -> Leaf | Block:
    """A value that is written from its data."""
    if isinstance(data, dict) and data:
        return Block([Entry(key, value_of(item), "") for key, item in data.items()])
    if isinstance(data, list) and data:
        return Block([Entry("", value_of(item)) for item in data], listed=True, offset=-1)
    return Leaf(data)


def data_of(value: Leaf | Block) -> Json:
    """Return the data of a value."""
    if isinstance(value, Leaf):
        return value.data
    if value.listed:
        return [data_of(entry.value) for entry in value.entries]
    return {entry.key: data_of(entry.value) for entry in value.entries}


def copy_of(value: Leaf | Block) -> Leaf | Block:
    """The same value once more, without the comments of its keys."""
    if isinstance(value, Leaf):
        return Leaf(value.data, None if value.comment else value.lines)
    entries = [Entry(entry.key, copy_of(entry.value), entry.name) for entry in value.entries]
    return Block(entries, value.listed, value.offset)


def write_tree(tree: Tree) -> str:
    """Return the text of a values file."""
    lines = [*tree.head]
    # The usual indentation of lists below their keys.
    counter: Counter[int] = Counter()
    todo = [tree.root]
    while todo:
        block = todo.pop()
        for entry in block.entries:
            if isinstance(entry.value, Block):
                todo.append(entry.value)
                if entry.value.listed and not block.listed and entry.value.offset >= 0:
                    counter[entry.value.offset] += 1
    dash = counter.most_common(1)[0][0] if counter else 2
    _write_block(lines, tree.root, "", dash)
    if not tree.root.entries:
        lines.append("{}")
    said = [at for at, line in enumerate(tree.foot) if line.strip()]
    lines += tree.foot[: said[-1] + 1] if said else []
    return tree.newline.join([*lines, ""])


def _write_block(lines: list[str], block: Block, pad: str, dash: int) -> None:
    for entry in block.entries:
        lines += _indented(entry.lead, pad)
        mark = "-" if block.listed else f"{entry.name or _quoted(entry.key)}:"
        value = entry.value
        if isinstance(value, Block):
            _write_nested(lines, value, pad, mark, dash)
        elif value.lines is None and isinstance(value.data, str) and "\n" not in value.data:
            lines.append(f"{pad}{mark} {dump_text(value.data)}{value.comment}")
        elif value.lines is None:
            first, *others = dump_yaml([value.data]).rstrip("\n").split("\n")
            lines.append(f"{pad}{mark}{first[1:]}{value.comment}")
            lines += _indented(others, pad)
        else:
            lines.append(f"{pad}{mark}{value.lines[0]}")
            lines += _indented(value.lines[1:], pad)
        lines += _indented(entry.tail, pad)


def _write_nested(lines: list[str], block: Block, pad: str, mark: str, dash: int) -> None:
    offset = block.offset if block.offset >= 0 else dash if mark != "-" else 2
    inner = pad + " " * offset
    if mark != "-" or block.after:
        lines.append(f"{pad}{mark}{block.after}")
        _write_block(lines, block, inner, dash)
        return
    first = len(lines)
    _write_block(lines, block, inner, dash)
    while lines[first].lstrip().startswith("#"):
        lines[first] = f"{pad}{lines[first].strip()}"
        first += 1
    gap = " " * (max(offset, 2) - 1)
    lines[first] = f"{pad}-{gap}{lines[first].lstrip()}"


class Outdented(str):
    """A comment that is indented less than the entry which it belongs to. written: its line as it
    is in the text; column: the indentation of the entry."""

    __slots__ = ("column", "written")
    written: str
    column: int


def outdented(line: str, column: int) -> str:
    """Return a line that is indented less than a column, without its indentation."""
    comment = Outdented(line.lstrip(" "))
    comment.written, comment.column = line, column
    return comment


def _indented(lines: Iterable[str], pad: str) -> Iterator[str]:
    for line in lines:
        if isinstance(line, Outdented) and line.column == len(pad):
            yield line.written
        else:
            yield f"{pad}{line}" if line else ""


def _quoted(key: str) -> str:
    """Return a key as YAML, on one line."""
    if len(key) < _LONG and "\n" not in key:
        return dump_text(key)
    text = dump_yaml({key: None}).removesuffix(" null\n").removesuffix(":")
    return json.dumps(key) if text.startswith("? ") else text
