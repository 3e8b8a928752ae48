"""The part of a legacy policy that stays: its text as it was, without the rules that converted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from chartkit.documents.reader import read_text
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.errors import InputError
from chartkit.migration.files.comments import composed
from chartkit.migration.files.notes import indented, without_notes
from chartkit.model import Body


def annotated(text: str, lines: Sequence[str]) -> str:
    """Return the text of a document with notes above its first key."""
    clean = without_notes(text)
    root = composed(clean)
    at = root.start_mark.line if root is not None and root.start_mark.column == 0 else 0
    before = clean.splitlines(keepends=True)
    return "".join([*before[:at], *indented(lines, 0), *before[at:]])


def left_text(text: str, kept: Mapping[int, Sequence[str]], remaining: Body) -> str:
    """Return the text of a policy with some of its rules, each below its notes.

    kept: the notes by the rule's index; remaining: the policy as it must read. A text that cannot
    be cut line by line, as one with rules on one line, is written anew.
    """
    cut = _cut(without_notes(text), kept)
    if cut is not None and _reads_as(cut, remaining):
        return cut
    notes = [line for lines in kept.values() for line in lines]
    return "".join(indented(notes, 0)) + dump_yaml(remaining)


def _cut(text: str, kept: Mapping[int, Sequence[str]]) -> str | None:
    rules = _rules(text)
    if rules is None or rules.flow_style or not rules.value:
        return None
    lines = text.splitlines(keepends=True)
    starts = [_with_comments(lines, item.start_mark.line) for item in rules.value]
    ends = [*starts[1:], _end(rules)]
    written = lines[: starts[0]]
    for index, (start, end) in enumerate(zip(starts, ends, strict=True)):
        if index in kept:
            item = rules.value[index].start_mark.line
            column = len(lines[item]) - len(lines[item].lstrip())
            written += [*lines[start:item], *indented(kept[index], column), *lines[item:end]]
    return "".join([*written, *lines[ends[-1] :]])


def _with_comments(lines: Sequence[str], line: int) -> int:
    while line and lines[line - 1].lstrip().startswith("#"):
        line -= 1
    return line


def _end(node: Any) -> int:
    """Return the line behind a node's last scalar."""
    if isinstance(node, yaml.ScalarNode) or node.flow_style or not node.value:
        mark = node.end_mark
        return int(mark.line + bool(mark.column))
    last = node.value[-1]
    return _end(last[1] if isinstance(last, tuple) else last)


def _rules(text: str) -> Any:
    node = composed(text)
    for step in ("spec", "rules"):
        pairs = node.value if isinstance(node, yaml.MappingNode) else ()
        node = next((value for key, value in pairs if key.value == step), None)
    return node if isinstance(node, yaml.SequenceNode) else None


def _reads_as(text: str, body: Body) -> bool:
    try:
        return [each.body for each in read_text(text)] == [body]
    except InputError:
        return False
