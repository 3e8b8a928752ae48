"""YAML with comments above its keys, for values files that people read and edit."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator

from chartkit.documents.yaml_dump import dump_yaml
from chartkit.model import Body, FieldPath, Json

Comments = Callable[[FieldPath], str]
"""The comment above the key or list item at a path; empty for none."""

_WIDTH = 98
_INDENT = "  "


def commented(body: Body, comments: Comments) -> str:
    """A mapping as YAML, keys in their order; top-level keys are set apart by empty lines."""
    parts = ["\n".join(_entry(key, value, comments, (key,), 0)) for key, value in body.items()]
    return "\n\n".join(parts) + "\n" if parts else ""


def comment(text: str, level: int = 0) -> str:
    """A text as comment lines, at a level of indentation."""
    mark = _INDENT * level + "# "
    lines = text.splitlines()
    return "\n".join(
        textwrap.fill(line, _WIDTH, initial_indent=mark, subsequent_indent=mark)
        for line in lines
        if line
    )


def _entry(key: str, value: Json, comments: Comments, path: FieldPath, level: int) -> Iterator[str]:
    text = comments(path)
    if text:
        yield comment(text, level)
    name = _INDENT * level + dump_yaml({key: None}).removesuffix(" null\n")
    if isinstance(value, dict) and value:
        if level and len(value) == 1 and not isinstance(next(iter(value.values())), dict | list):
            yield _on_one_line(key, value, level)
            return
        yield name
        for inner, item in value.items():
            yield from _entry(inner, item, comments, (*path, inner), level + 1)
    elif isinstance(value, list) and value:
        line = _on_one_line(key, value, level)
        is_commented = any(comments((*path, index)) for index in range(len(value)))
        if not is_commented and "\n" not in line and len(line) <= _WIDTH:
            yield line
            return
        yield name
        for index, item in enumerate(value):
            yield from _item(item, comments, (*path, index), level + 1)
    else:
        yield _indented(dump_yaml({key: value}), level)


def _on_one_line(key: str, value: Json, level: int) -> str:
    return _indented(dump_yaml({key: value}, flow_leaves=True), level)


def _item(value: Json, comments: Comments, path: FieldPath, level: int) -> Iterator[str]:
    text = comments(path)
    if text:
        yield comment(text, level)
    yield _indented(dump_yaml([value]), level)


def _indented(text: str, level: int) -> str:
    return textwrap.indent(text.rstrip("\n"), _INDENT * level)
