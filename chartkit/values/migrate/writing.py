"""Writes trees as values files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from chartkit.documents.yaml_dump import dump_yaml
from chartkit.values.migrate.tree import Block, Entry, Leaf, Tree


def write_tree(tree: Tree) -> str:
    """The text of a values file."""
    dash = _dash(tree.root)
    lines = [*tree.head, *_block(tree.root, "", dash)]
    if not tree.root.entries:
        lines.append("{}")
    said = [at for at, line in enumerate(tree.foot) if line.strip()]
    lines += tree.foot[: said[-1] + 1] if said else []
    return "\n".join(lines) + "\n"


def _block(block: Block, pad: str, dash: int) -> Iterator[str]:
    for entry in block.entries:
        yield from (f"{pad}{line}" if line else "" for line in entry.lead)
        mark = "-" if block.listed else f"{_name(entry)}:"
        value = entry.value
        if isinstance(value, Block):
            yield from _nested(value, pad, mark, dash)
        elif value.lines is None:
            yield from _dumped(value, pad, mark)
        else:
            yield f"{pad}{mark}{value.lines[0]}"
            yield from (f"{pad}{line}" if line else "" for line in value.lines[1:])
        yield from (f"{pad}{line}" if line else "" for line in entry.tail)


def _nested(block: Block, pad: str, mark: str, dash: int) -> Iterator[str]:
    offset = block.offset if block.offset >= 0 else dash if mark != "-" else 2
    inner = list(_block(block, pad + " " * offset, dash))
    if mark != "-" or block.after:
        yield f"{pad}{mark}{block.after}"
        yield from inner
        return
    comments = 0
    while inner[comments].lstrip().startswith("#"):
        comments += 1
    yield from (f"{pad}{line.strip()}" for line in inner[:comments])
    gap = " " * (max(offset, 2) - 1)
    yield f"{pad}-{gap}{inner[comments].lstrip()}"
    yield from inner[comments + 1 :]


def _dumped(leaf: Leaf, pad: str, mark: str) -> Iterator[str]:
    comment = f"  {leaf.comment}" if leaf.comment else ""
    lines = dump_yaml([leaf.data]).rstrip("\n").split("\n")
    yield f"{pad}{mark}{lines[0][1:]}{comment}"
    yield from (f"{pad}{line}" if line else "" for line in lines[1:])


def _name(entry: Entry) -> str:
    if entry.name:
        return entry.name
    return dump_yaml({entry.key: None}).removesuffix(" null\n").removesuffix(":")


def _dash(root: Block) -> int:
    """Return the usual indentation of lists below their keys."""
    found: Counter[int] = Counter()
    todo = [root]
    while todo:
        block = todo.pop()
        for entry in block.entries:
            if isinstance(entry.value, Block):
                todo.append(entry.value)
                if entry.value.listed and not block.listed and entry.value.offset >= 0:
                    found[entry.value.offset] += 1
    return found.most_common(1)[0][0] if found else 2
