"""Edits of YAML texts: what an edit does not name stays as it is, byte for byte."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from difflib import SequenceMatcher
from functools import partial
from pathlib import Path
from typing import Any, Final

import yaml

from chartkit.documents.reader import parse_yaml, read_text
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.errors import InputError
from chartkit.model import Body, Json, Location, same
from chartkit.output.yaml_tree import Block, Entry, Leaf, Tree, data_of, value_of, write_tree
from chartkit.output.yaml_tree_reader import BREAK, comment_of, read_tree

NOT_EDITABLE: Final = "cannot be edited without a change to other lines"
"""The message for a text that no edit leaves as it is."""
_PLAIN: Final = re.compile(r"[A-Za-z_./][\w./-]*")
_FLOW: Final = re.compile(r"\s*(?:[&!]\S*\s+)*[\[{]")
_END: Final = re.compile(r"(?:(?:\r\n|\n)(?:\.\.\.)?[ \t]*)*\Z")
"""The empty lines and the mark at the end of a document."""

_Step = tuple[int | None, str, Json]
"""A value that is wanted: the index of the value that it replaces, None for a new one, its key and
itself."""


def rewritten(text: str, wanted: Body, file: Path, hint: str, source: str = "") -> str:
    """Return a text with the values that are wanted; only what differs is written anew. New keys
    come in the order of the wanted values.

    source: a text that has new values as they are to be written, with the comments above them.
    Raise InputError where the text cannot be edited, such as below an anchor that is used twice;
    hint: what to do by hand then.
    """
    try:
        edited = _edited(text, wanted, source)
        if same(parse_yaml(edited), wanted):
            return edited
    except (_NotEditableError, InputError, yaml.YAMLError, ValueError):
        pass
    raise InputError(NOT_EDITABLE, Location(str(file)), hint)


class _NotEditableError(Exception):
    """No edit gives what is wanted and leaves the rest as it is."""


def _edited(text: str, wanted: Body, source: str) -> str:
    value = parse_yaml(text)
    if same(value, wanted):
        return text
    documents = read_text(text)
    if not documents:
        return text + ("" if text.endswith("\n") or not text else "\n") + dump_yaml(wanted)
    if len(documents) > 1 or not isinstance(value, dict) or not wanted:
        raise _NotEditableError
    tree = read_tree(documents[0], keeps_aliases=True)
    first = next(iter(tree.root.entries), None)
    if first is None or not first.line:
        return _flow_edited(text, value, wanted)
    givers = read_text(source)
    _fit(tree.root, value, wanted, read_tree(givers[0]).root if givers else None)
    top = tree.root.entries[0]
    if not top.line and not any(line.startswith("#") for line in tree.head):
        top.lead[:0], first.lead = first.lead, []
    return text_of(tree, text)


def text_of(tree: Tree, before: str) -> str:
    """Return a tree as a text that ends, and whose lines end, as the text that it was read from."""
    end = _END.search(before)
    edited = write_tree(tree).rstrip("\r\n") + (end[0] if end else "")
    ends = BREAK.findall(before)
    if len(set(ends)) < 2 and "\r" not in ends:
        return edited
    old, new = BREAK.split(before), BREAK.split(edited)
    usual = "\r\n" if "\r\n" in ends else "\n"
    chosen = [*[usual] * (len(new) - 1), ""]
    for a, b, size in SequenceMatcher(None, old, new, False).get_matching_blocks():
        for at in range(size):
            if a + at < len(ends) and b + at < len(new) - 1:
                chosen[b + at] = ends[a + at]
    return "".join(line + end for line, end in zip(new, chosen, strict=True))


def _steps(value: Json, wanted: Json) -> list[_Step]:
    """Return the values of a wanted mapping or list, in the order in which they are written."""
    if isinstance(value, dict) and isinstance(wanted, dict):
        indexes = {key: index for index, key in enumerate(value)}
        new = leading = list[str]()
        behind: dict[str, list[str]] = {}
        for key in wanted:
            if key in indexes:
                new = behind[key] = []
            else:
                new.append(key)
        kept = (key for key in value if key in behind)
        order = [*leading, *(name for key in kept for name in (key, *behind[key]))]
        return [(indexes.get(key), key, wanted[key]) for key in order]
    if not isinstance(value, list) or not isinstance(wanted, list):
        raise _NotEditableError
    old, new = ([json.dumps(item, sort_keys=True) for item in items] for items in (value, wanted))
    steps: list[_Step] = []
    for _, start, end, first, last in SequenceMatcher(None, old, new, False).get_opcodes():
        steps += [
            (start + at if start + at < end else None, "", wanted[first + at])
            for at in range(last - first)
        ]
    return steps


def _fit(block: Block, value: Any, wanted: Any, giver: Leaf | Block | None) -> None:
    """Make a block one of the wanted value; giver: a value that has new values as written."""
    givers = giver.entries if isinstance(giver, Block) and not giver.listed else []
    given = {entry.key: entry for entry in givers}
    values = list(value.values()) if isinstance(value, dict) else value
    old, block.entries = block.entries, []
    if len(old) != len(values):
        raise _NotEditableError
    comments: list[str] = []
    start = 0
    for index, key, new in _steps(value, wanted):
        if index is None:
            entry = _new(key, new, given.get(key))
            is_item = block.listed and new and isinstance(new, dict)
            # A text of several lines is written as such.
            if is_item and all(map(_is_flow, old)) and "\\n" not in (text := _flow(new)):
                entry.value = Leaf(new, [f" {text}"])
        else:
            entry = old[index]
            comments += _comments(old[start:index])
            entry.lead, comments, start = [*comments, *entry.lead], [], index + 1
            if not same(values[index], new):
                _replace(entry, values[index], new, given.get(key))
        block.entries.append(entry)
    block.entries[-1].tail += _comments(old[start:])


def _is_flow(entry: Entry) -> bool:
    return isinstance(entry.value, Leaf) and bool(_FLOW.match("\n".join(entry.value.lines or [])))


def _comments(removed: list[Entry]) -> list[str]:
    """Return the comments that stay where entries were."""
    lines = [line for entry in removed for line in (*entry.lead, *entry.tail)]
    return lines if any(map(str.strip, lines)) else []


def _new(key: str, value: Json, given: Entry | None) -> Entry:
    if given is None or not same(data_of(given.value), value):
        return Entry(key, value_of(value))
    blank = [at for at, line in enumerate(given.lead) if not line.strip()]
    lead = given.lead[blank[-1] + 1 :] if blank else given.lead
    return Entry(key, given.value, given.name, lead)


def _replace(entry: Entry, value: Json, wanted: Json, given: Entry | None) -> None:
    """Give an entry another value, in place where both have parts."""
    old = entry.value
    if _is_filled(value, wanted):
        if isinstance(old, Block):
            _fit(old, value, wanted, given.value if given else None)
            return
        text = "\n".join(old.lines or [])
        if _FLOW.match(text):
            entry.value = Leaf(wanted, _flow_edited(text, value, wanted).split("\n"))
            return
        if not text.lstrip().startswith("*"):
            raise _NotEditableError
    comment = comment_of(old.after) if isinstance(old, Block) else old.comment
    new = _new(entry.key, wanted, given).value
    if comment and isinstance(new, Block):
        new.after = comment
    elif comment:
        new = Leaf(wanted, None, comment)
    entry.value = new


def _flow_edited(text: str, value: Json, wanted: Json) -> str:
    """Return a text with a value in braces or brackets as one with the wanted value."""
    node: Any = yaml.compose(text, yaml.CBaseLoader)
    start, end = node.start_mark.index, node.end_mark.index
    write: Callable[[Json], str] = _flow
    with suppress(ValueError):
        json.loads(text[start:end])
        write = partial(json.dumps, ensure_ascii=False)
    return text[:start] + _flow_part(text, node, value, wanted, write) + text[end:]


def _flow_part(text: str, node: Any, value: Any, wanted: Any, write: Callable[[Json], str]) -> str:
    start, end = node.start_mark.index, node.end_mark.index
    if same(value, wanted):
        return text[start:end]
    if not _is_filled(value, wanted) or not isinstance(node, yaml.CollectionNode):
        return write(wanted)
    is_mapping = isinstance(node, yaml.MappingNode)
    pairs = node.value if is_mapping else [(item, item) for item in node.value]
    if is_mapping and [key.value for key, _ in pairs] != list(value):
        raise _NotEditableError
    values = list(value.values()) if is_mapping else value
    starts = [key.start_mark.index for key, _ in pairs]
    ends = [max(key.end_mark.index, item.end_mark.index) for key, item in pairs]
    lead = text[start + 1 : starts[0]]
    between = text[ends[0] : starts[1]] if len(starts) > 1 else f",{lead}" if "\n" in lead else ", "
    between = ", " if "#" in between else between
    written = write
    if "\n" in lead and write is not _flow:
        pad, close = (part.rpartition("\n")[2] for part in (lead, text[ends[-1] : end - 1]))
        written = partial(_indented_json, pad, pad.removeprefix(close))
    parts = [text[start : starts[0]]]
    for index, name, new in _steps(value, wanted):
        if len(parts) > 1:
            parts.append(text[ends[index - 1] : starts[index]] if index else between)
        if index is None:
            parts.append(f"{written(name)}: {written(new)}" if is_mapping else written(new))
            continue
        key, item = pairs[index]
        if same(values[index], new):
            parts.append(text[starts[index] : ends[index]])
        elif is_mapping and not _is_filled(values[index], new):
            parts.append(f"{text[starts[index] : key.end_mark.index]}: {written(new)}")
        else:
            before = text[starts[index] : item.start_mark.index]
            parts.append(before + _flow_part(text, item, values[index], new, write))
    return "".join([*parts, text[ends[-1] : end]])


def _indented_json(pad: str, step: str, value: Json) -> str:
    """A value in JSON, further lines indented by pad; step: by how much parts are."""
    return json.dumps(value, ensure_ascii=False, indent=step).replace("\n", f"\n{pad}")


def _is_filled(value: Any, wanted: Any) -> bool:
    """Report whether both are mappings, or both lists, and neither is empty."""
    is_alike = isinstance(wanted, dict | list) and type(value) is type(wanted)
    return is_alike and bool(value) and bool(wanted)


def _flow(value: Json) -> str:
    """Return a value in one line, as it may be written within braces and brackets."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_flow(key)}: {_flow(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_flow, value))}]"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and parse_yaml(value) == value:
        return value
    return json.dumps(value, ensure_ascii=False)
