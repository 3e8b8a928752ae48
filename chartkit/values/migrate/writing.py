"""Writes trees as values files, and values that people must decide about as comments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from chartkit.documents.reader import Document
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.helm.render import merge
from chartkit.model import Body, Json
from chartkit.values.migrate.context import Outcome, Step
from chartkit.values.migrate.tree import Block, Entry, Leaf, Path, Tree


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


def leftovers(old: Body, new: Body, steps: Sequence[Step]) -> dict[Path, str]:
    """Return what is to be decided of each key whose value the new file does not have.

    A key that is where it was, or that stands with the same value where it goes, is in the file;
    so is one whose parts went somewhere each by itself.
    """
    found: dict[Path, str] = {}
    for step in steps:
        path = _path(old, step.key.partition("[")[0])
        if step.outcome is not Outcome.ASKED or path is None:
            continue
        value = _at(old, path)
        parts = (each.key.startswith(f"{step.key}.") for each in steps)
        targets = (_path(new, target) for target in step.targets)
        stands = (target is not None and _at(new, target) == value for target in targets)
        if _at(new, path) != value and not any(parts) and not any(stands):
            said = found.get(path, "")
            found[path] = said if step.do in said else f"{said} {step.do}".lstrip()
    return found


def as_comments(document: Document, text: str, kept: Mapping[Path, str]) -> Iterator[str]:
    """The lines of comments that hold old values, those of one decision together.

    document: the old file; text: the new one, whose comments are not repeated.
    """
    decisions: dict[str, list[Path]] = {}
    for path, do in kept.items():
        decisions.setdefault(do, []).append(path)
    there = {line.strip() for line in text.splitlines()}
    for do, paths in decisions.items():
        names = ", ".join(".".join(path) for path in paths)
        yield f"# TODO: decide about {names}. {do}".rstrip()
        lines = (line for path in paths for line in _comments(document, path))
        yield from (line for line in dict.fromkeys(lines) if line not in there)
        values: Body = {}
        for path in paths:
            values = merge(values, _below(path, _at(document.body, path)))
        yield from (f"#   {line}".rstrip() for line in dump_yaml(values).splitlines())


def _comments(document: Document, path: Path) -> Iterator[str]:
    """The comments that stand on a key and on those that hold it."""
    lines = document.source.text.splitlines()
    for length in range(1, len(path) + 1):
        start = end = document.locate(*path[:length]).line - 1
        while start and lines[start - 1].lstrip().startswith("#"):
            start -= 1
        yield from (line.strip() for line in lines[start:end])


def _below(path: Path, value: Json) -> Body:
    head, *rest = path
    return {head: _below(tuple(rest), value) if rest else value}


def _path(values: Json, name: str) -> Path | None:
    """The path that a dotted name stands for; a key may hold dots itself."""
    for key in values if isinstance(values, dict) else ():
        if name == key:
            return (key,)
        if name.startswith(f"{key}."):
            below = _path(values[key], name[len(key) + 1 :])
            if below is not None:
                return (key, *below)
    return None


def _at(values: Json, path: Path) -> Json:
    for key in path:
        values = values.get(key) if isinstance(values, dict) else None
    return values
