"""Writes trees as values files, and values that people must decide about as comments."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final

from chartkit.addons.migrate.values.context import Outcome, Step
from chartkit.addons.migrate.values.tree import Block, Leaf, Path, Tree
from chartkit.documents.reader import Document
from chartkit.documents.yaml_dump import dump_text, dump_yaml
from chartkit.helm.model import merge
from chartkit.model import Body, Json, value_at

_LONG: Final = 100
"""The letters from which YAML may write a key behind a '?'."""


def write_tree(tree: Tree) -> str:
    """Return the text of a values file."""
    lines = [*tree.head]
    # The usual indentation of lists below their keys.
    found: Counter[int] = Counter()
    todo = [tree.root]
    while todo:
        block = todo.pop()
        for entry in block.entries:
            if isinstance(entry.value, Block):
                todo.append(entry.value)
                if entry.value.listed and not block.listed and entry.value.offset >= 0:
                    found[entry.value.offset] += 1
    dash = found.most_common(1)[0][0] if found else 2
    _write_block(lines, tree.root, "", dash)
    if not tree.root.entries:
        lines.append("{}")
    said = [at for at, line in enumerate(tree.foot) if line.strip()]
    lines += tree.foot[: said[-1] + 1] if said else []
    return "\n".join(lines) + "\n"


def _write_block(lines: list[str], block: Block, pad: str, dash: int) -> None:
    for entry in block.entries:
        lines += _indented(entry.lead, pad)
        mark = "-" if block.listed else f"{entry.name or _quoted(entry.key)}:"
        value = entry.value
        if isinstance(value, Block):
            _write_nested(lines, value, pad, mark, dash)
        elif value.lines is None:
            lines += _dumped(value, pad, mark)
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


def _indented(lines: Iterable[str], pad: str) -> Iterator[str]:
    return (f"{pad}{line}" if line else "" for line in lines)


def _dumped(leaf: Leaf, pad: str, mark: str) -> Iterator[str]:
    comment = f"  {leaf.comment}" if leaf.comment else ""
    data = leaf.data
    if isinstance(data, str) and "\n" not in data:
        yield f"{pad}{mark} {dump_text(data)}{comment}"
        return
    first, *others = dump_yaml([data]).rstrip("\n").split("\n")
    yield f"{pad}{mark}{first[1:]}{comment}"
    yield from _indented(others, pad)


def _quoted(key: str) -> str:
    """Return a key as YAML, on one line."""
    if len(key) < _LONG and "\n" not in key:
        return dump_text(key)
    text = dump_yaml({key: None}).removesuffix(" null\n").removesuffix(":")
    return json.dumps(key) if text.startswith("? ") else text


def leftovers(old: Body, new: Body, steps: Sequence[Step]) -> dict[Path, str]:
    """Return what is to be decided of each key whose value the new file does not have.

    A key that is where it was, or that stands with the same value where it goes, is in the file;
    so is one whose parts went somewhere each by itself.
    """
    found: dict[Path, dict[str, None]] = {}
    holders = {step.path[:length] for step in steps for length in range(len(step.path))}
    for step in steps:
        path = step.path
        if step.outcome is not Outcome.ASKED or path in holders or not _has(old, path):
            continue
        value = value_at(old, path)
        targets = (_path(new, target) for target in step.targets)
        stands = (target is not None and value_at(new, target) == value for target in targets)
        if value_at(new, path) != value and not any(stands):
            found.setdefault(path, {})[step.do] = None
    return {path: " ".join(filter(None, said)) for path, said in found.items()}


def as_comments(document: Document, text: str, kept: Mapping[Path, str]) -> Iterator[str]:
    """The lines of comments that hold old values, those of one decision together.

    document: the old file; text: the new one, whose comments are not repeated.
    """
    decisions: dict[str, list[Path]] = {}
    for path, do in kept.items():
        decisions.setdefault(do, []).append(path)
    there = {line.strip() for line in text.splitlines()}
    old = document.source.text.splitlines()

    @cache
    def above(key: Path) -> Sequence[str]:
        return _comments(old, document.locate(*key).line)

    for do, paths in decisions.items():
        names = ", ".join(".".join(path) for path in paths)
        yield f"# TODO: decide about {names}. {do}".rstrip()
        keys = (path[:length] for path in paths for length in range(1, len(path) + 1))
        lines = (line for key in keys for line in above(key))
        yield from (line for line in dict.fromkeys(lines) if line not in there)
        values: Body = {}
        for path in paths:
            values = merge(values, _below(path, value_at(document.body, path)))
        yield from (f"#   {line}".rstrip() for line in dump_yaml(values).splitlines())


def _comments(lines: Sequence[str], line: int) -> list[str]:
    """The comments that stand on the key of a line."""
    start = end = line - 1
    while start and lines[start - 1].lstrip().startswith("#"):
        start -= 1
    return [line.strip() for line in lines[start:end]]


def _below(path: Path, value: Json) -> Body:
    head, *rest = path
    return {head: _below(tuple(rest), value) if rest else value}


def _has(values: Json, path: Path) -> bool:
    for key in path:
        if not isinstance(values, dict) or key not in values:
            return False
        values = values[key]
    return True


def _path(values: Json, name: str) -> Path | None:
    """The path that a dotted name stands for; a key may hold dots itself."""
    if not isinstance(values, dict):
        return None
    if name in values:
        return (name,)
    for dot in re.finditer(r"\.", name):
        head = name[: dot.start()]
        below = _path(values[head], name[dot.end() :]) if head in values else None
        if below is not None:
            return (head, *below)
    return None
