"""New policies as YAML that people read: keys in one order, CEL as blocks, comments above keys."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from chartkit.addons.migrate.files.comments import Comment
from chartkit.addons.migrate.files.notes import indented
from chartkit.documents.reader import Document, read_text
from chartkit.documents.yaml_dump import BlockText, dump_text, dump_yaml
from chartkit.model import Body, FieldPath, Json, mapping_at

_TOP: Final = ("apiVersion", "kind", "metadata", "spec")
_METADATA: Final = ("name", "namespace", "labels", "annotations")
_SPEC: Final = (
    "validationActions",
    "failurePolicy",
    "schedule",
    "deletionPropagationPolicy",
    "webhookConfiguration",
    "evaluation",
    "autogen",
    "matchConstraints",
    "matchImageReferences",
    "conditions",
    "matchConditions",
    "variables",
)
_WIDTH: Final = 98
_COMMAND: Final = re.compile("::|##")
_CEL: Final = frozenset({"expression", "messageExpression", "valueExpression"})


@dataclass(slots=True)
class Margin:
    """The comments of a document: those above a key or list item, at a line's end, and behind."""

    above: dict[FieldPath, list[str]] = field(default_factory=dict)
    beside: dict[FieldPath, str] = field(default_factory=dict)
    behind: list[str] = field(default_factory=list)


def printed(body: Body, margin: Margin) -> str:
    """Return a policy as YAML with its comments."""
    ordered = in_reading_order(body)
    text = dump_yaml(ordered)
    # A document with long texts of one line, such as descriptions, as folded blocks.
    document = read_text(text)[0]
    lines = text.splitlines(keepends=True)
    for path, value in _long_texts(ordered, ()):
        place = document.locate(*path)
        line, column = lines[place.line - 1], place.column - 1
        key = line[column:].partition(": ")[0]
        wrapped = textwrap.wrap(
            value, _WIDTH - column - 2, break_long_words=False, break_on_hyphens=False
        )
        below = (f"{' ' * (column + 2)}{part}\n" for part in wrapped)
        lines[place.line - 1] = "".join([f"{line[:column]}{key}: >-\n", *below])
    folded = "".join(lines)
    text = folded if [each.body for each in read_text(folded)] == [ordered] else text
    lines = text.splitlines(keepends=True)
    document = read_text(text)[0]
    for path, text in margin.beside.items():
        at = document.locate(*path).line - 1
        lines[at] = f"{lines[at].rstrip()}  {text}\n"
    for at, column, above in sorted(_places(document, margin.above), reverse=True):
        lines[at:at] = indented(above, column)
    return "".join([*lines, *indented(margin.behind, 0)])


def _long_texts(value: Json, path: FieldPath) -> Iterator[tuple[FieldPath, str]]:
    if isinstance(value, dict):
        for key, each in value.items():
            if key not in _CEL:
                yield from _long_texts(each, (*path, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _long_texts(each, (*path, index))
    elif isinstance(value, str) and isinstance(path[-1], str) and _may_fold(value):
        yield path, value


def _may_fold(text: str) -> bool:
    # A line break could make a command of a pipeline's log of what follows `::` or `##`.
    return len(text) > _WIDTH and text.isprintable() and not _COMMAND.search(text)


def _places(
    document: Document, above: Mapping[FieldPath, Sequence[str]]
) -> Iterable[tuple[int, int, Sequence[str]]]:
    for path, lines in above.items():
        place = document.locate(*path)
        at = place.line - 1
        column = place.column - 1 if path else 0
        # A list item's place is behind its dash.
        yield at, column - 2 if path and isinstance(path[-1], int) else column, lines


def in_reading_order(body: Body) -> Body:
    """Return a policy with its keys in one order and its expressions as blocks where they need
    it."""
    ordered = _ordered(body, _TOP)
    ordered["metadata"] = _ordered(mapping_at(body, "metadata"), _METADATA)
    ordered["spec"] = _blocks(_ordered(mapping_at(body, "spec"), _SPEC))
    return ordered


def _ordered(body: Body, keys: Sequence[str]) -> Body:
    first = {key: body[key] for key in keys if key in body}
    return first | {key: value for key, value in body.items() if key not in first}


def _blocks(value: Json, key: str = "") -> Json:
    """Return a value whose expressions that YAML must quote are blocks instead."""
    if isinstance(value, dict):
        return {inner: _blocks(each, inner) for inner, each in value.items()}
    if isinstance(value, list):
        return [_blocks(each) for each in value]
    if key in _CEL and isinstance(value, str) and dump_text(value).startswith("'"):
        return BlockText(value)
    return value


def margins(
    comments: Sequence[Comment],
    documents: Sequence[Body],
    place_of: Mapping[int, int],
) -> list[Margin]:
    """Return the comments of a legacy policy as those of the documents that replace it.

    place_of: the document that takes over a rule, by the rule's index; comments of rules that stay
    are left out, since they stay with them.
    """
    made = [Margin() for _ in documents]
    for comment in comments:
        path = comment.path
        if path is None:
            made[-1].behind.append(comment.text)
        elif path[:2] == ("spec", "rules") and len(path) > 2:
            index = path[2]
            if isinstance(index, int) and index in place_of:
                at = place_of[index]
                _add(made[at], _section(documents[at]), comment.text)
        elif path[:1] == ("spec",) and len(path) > 1:
            _add(made[0], _section(documents[0]), comment.text)
        elif comment.is_alone or path in made[0].beside or _nearest(documents[0], path) != path:
            _add(made[0], _nearest(documents[0], path), comment.text)
        else:
            made[0].beside[path] = comment.text
    return made


def _add(margin: Margin, path: FieldPath, text: str) -> None:
    margin.above.setdefault(path, []).append(text)


def _section(body: Body) -> FieldPath:
    """Return the path of what the policy's kind alone has, as `spec.validations`."""
    spec = mapping_at(body, "spec")
    own = next((key for key in spec if key not in _SPEC), None)
    return ("spec",) if own is None else ("spec", own)


def _nearest(body: Json, path: FieldPath) -> FieldPath:
    """Return the longest beginning of a path that a document has."""
    reached: FieldPath = ()
    for step in path:
        if not isinstance(body, dict) or step not in body:
            break
        body, reached = body[step], (*reached, step)
    return reached or ("apiVersion",)
