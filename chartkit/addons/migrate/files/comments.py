"""The comments of a YAML text, each with the key that it speaks of."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import yaml

from chartkit.model import FieldPath

_COMMENT: Final = re.compile(r"(?:^|(?<=[ \t]))#.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment.

    line: counted from 0; text: with its `#`; path: of the key or list item on its line, else of the
    next one, empty before the first and None behind the last; is_alone: whether nothing else is on
    its line.
    """

    line: int
    text: str
    path: FieldPath | None
    is_alone: bool


def composed(text: str) -> Any:
    """Return the root node of a text with one document; None if it is empty or is not YAML, as JSON
    may be."""
    try:
        return yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError:
        return None


def comments_in(text: str) -> list[Comment]:
    """Return the comments of a text with one document; none of one that is not YAML."""
    root = composed(text) if "#" in text else None
    if root is None:
        return []
    spans = sorted(_scalars(root))
    starts = [start for start, _ in spans]
    keys = sorted(_keys(root, ()), key=lambda key: (key[0], len(key[1])))
    lines = [line for line, _ in keys]
    found = []
    for match in _COMMENT.finditer(text):
        index = bisect_right(starts, match.start()) - 1
        if index >= 0 and match.start() < spans[index][1]:
            continue
        begin = text.rfind("\n", 0, match.start()) + 1
        is_alone = not text[begin : match.start()].strip()
        line = text.count("\n", 0, match.start())
        at = bisect_right(lines, line)
        if not is_alone:
            path = keys[at - 1][1] if at else ()
        elif at == len(keys):
            path = None
        else:
            path = keys[at][1] if at else ()
        found.append(Comment(line, match[0].rstrip(), path, is_alone))
    return found


def _scalars(node: Any) -> Iterator[tuple[int, int]]:
    todo = [node]
    while todo:
        one = todo.pop()
        if isinstance(one, yaml.MappingNode):
            todo.extend(part for pair in one.value for part in pair)
        elif isinstance(one, yaml.SequenceNode):
            todo.extend(one.value)
        elif one is not None:
            yield one.start_mark.index, one.end_mark.index


def _keys(node: Any, path: FieldPath) -> Iterator[tuple[int, FieldPath]]:
    """Yield the line and the path of every key and list item."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = (*path, str(key.value))
            yield key.start_mark.line, inner
            yield from _keys(value, inner)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield value.start_mark.line, (*path, index)
            yield from _keys(value, (*path, index))
