"""New policies as YAML that people read: keys in one order, CEL as blocks, comments above keys."""

from __future__ import annotations

import json
import re
import textwrap
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from chartkit.addons.migrate.conversion import RuleOutcome
from chartkit.addons.migrate.proof import Difference
from chartkit.addons.migrate.proof.model import Answer, Result
from chartkit.api import Counterexample
from chartkit.documents.reader import Document, read_text
from chartkit.documents.yaml_dump import BlockText, dump_text, dump_yaml
from chartkit.model import Body, FieldPath, Json, mapping_at
from chartkit.safe_text import shown, shown_lines

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
    comments = []
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
        comments.append(Comment(line, match[0].rstrip(), path, is_alone))
    return comments


def _scalars(node: Any) -> Iterator[tuple[int, int]]:
    todo = [node]
    while todo:
        current = todo.pop()
        if isinstance(current, yaml.MappingNode):
            todo.extend(part for pair in current.value for part in pair)
        elif isinstance(current, yaml.SequenceNode):
            todo.extend(current.value)
        elif current is not None:
            yield current.start_mark.index, current.end_mark.index


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


_MARK: Final = "# chartkit migrate:"
_NOTE_WIDTH: Final = 98


def wrapped(text: str, width: int = 80, first: str = "", following: str = "") -> list[str]:
    """Return the lines of a text that show it safely; first, following: what they begin with."""
    return textwrap.wrap(
        shown(text),
        width,
        initial_indent=first,
        subsequent_indent=following,
        break_long_words=False,
        break_on_hyphens=False,
    )


def note(text: str, *lines: str) -> list[str]:
    """Return a sentence as comment lines; lines: what stands below it, such as an expression."""
    begun = wrapped(text, _NOTE_WIDTH - len(_MARK) - 1)
    below = [f"  {shown(line)}" for line in lines]
    return [f"{_MARK} {line}".rstrip() for line in (*begun, *below)]


def reason_note(outcome: RuleOutcome) -> list[str]:
    """Return why a rule is left as it is, with the nearest CEL if there is one."""
    written = note(f"not converted: {outcome.reason}")
    if outcome.nearest:
        written += note("the nearest in CEL:", *shown_lines(outcome.nearest))
    return written


def without_notes(text: str) -> str:
    """Return a text without the notes of an earlier run."""
    if _MARK not in text:
        return text
    gone = {
        note.line for note in comments_in(text) if note.is_alone and note.text.startswith(_MARK)
    }
    lines = text.splitlines(keepends=True)
    return "".join(line for number, line in enumerate(lines) if number not in gone)


def is_note(text: str) -> bool:
    """Report whether a comment is a note of a migration."""
    return text.startswith(_MARK)


def indented(lines: Iterable[str], column: int) -> list[str]:
    """Return comment lines at a column, each with its line end."""
    return [f"{' ' * column}{line}\n" for line in lines]


def difference_notes(examples: Sequence[Counterexample], allowed: str) -> list[str]:
    """Return why a proof does not hold: each difference with its request; allowed: why they are
    taken, empty where they are not."""
    what = "both forms differ" if examples else "no request made either form decide"
    written = note(f"{what}, which is allowed: {allowed}" if allowed else f"not converted: {what}")
    for example in examples:
        written += note(f"{example.difference}, for", *shown_lines(dump_yaml(example.request)))
    return written


def difference_sentence(difference: Difference) -> str:
    """Return what differs: the aspect and both answers."""
    legacy, new = answer_text(difference.legacy), answer_text(difference.new)
    seen = "" if difference.typed else ", with types that the policies do not expect"
    return f"{difference.aspect}{seen}: {legacy}, now {new}"


def answer_text(answer: Answer) -> str:
    """Return an answer in one line."""
    return "; ".join(_parts(answer)) or "no result"


def _parts(answer: Answer) -> Iterator[str]:
    if answer.result is not Result.NONE:
        yield str(answer.result)
    yield from (text for text in answer.messages if text)
    yield from answer.errors
    yield from (f"error: {text}" for text in answer.failed)
    if answer.denied:
        yield "denied"
    if answer.warned:
        yield "warned"
    if answer.patched is not None:
        yield f"mutated to {_compact(answer.patched)}"
    yield from (f"mutates {_compact(body)}" for body in answer.targets)
    yield from (f"generates {_compact(body)}" for body in answer.generated)
    if answer.deletes:
        yield f"deletes at {answer.deletes}"


def _compact(body: object) -> str:
    return json.dumps(body, ensure_ascii=False)


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
WIDTH: Final = 98
_COMMAND: Final = re.compile("::|##")
CEL: Final = frozenset({"expression", "messageExpression", "valueExpression"})


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
        location = document.locate(*path)
        line, column = lines[location.line - 1], location.column - 1
        key = line[column:].partition(": ")[0]
        wrapped = textwrap.wrap(
            value, WIDTH - column - 2, break_long_words=False, break_on_hyphens=False
        )
        below = (f"{' ' * (column + 2)}{part}\n" for part in wrapped)
        lines[location.line - 1] = "".join([f"{line[:column]}{key}: >-\n", *below])
    folded = "".join(lines)
    text = folded if [document.body for document in read_text(folded)] == [ordered] else text
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
        for key, item in value.items():
            if key not in CEL:
                yield from _long_texts(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _long_texts(item, (*path, index))
    elif isinstance(value, str) and isinstance(path[-1], str) and may_fold(value):
        yield path, value


def may_fold(text: str) -> bool:
    """Report whether a text is written on several lines, which YAML joins with spaces."""
    # A line break could make a command of a pipeline's log of what follows `::` or `##`.
    return len(text) > WIDTH and text.isprintable() and not _COMMAND.search(text)


def _places(
    document: Document, above: Mapping[FieldPath, Sequence[str]]
) -> Iterable[tuple[int, int, Sequence[str]]]:
    for path, lines in above.items():
        location = document.locate(*path)
        at = location.line - 1
        column = location.column - 1 if path else 0
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
        return {inner: _blocks(item, inner) for inner, item in value.items()}
    if isinstance(value, list):
        return [_blocks(item) for item in value]
    if key in CEL and isinstance(value, str) and dump_text(value).startswith("'"):
        return BlockText(value)
    return value


def margins(
    comments: Sequence[Comment],
    documents: Sequence[Body],
    place_of: Mapping[int, tuple[int, int]],
) -> list[Margin]:
    """Return the comments of a legacy policy, placed in the documents that replace it.

    place_of: the document that takes over a rule, and the index of the rule's first entry in its
    list, by the rule's index; comments of rules that stay
    are left out, since they stay with them.
    """
    made = [Margin() for _ in documents]
    rules = Counter(document for document, _ in place_of.values())
    for comment in comments:
        path = comment.path
        if path is None:
            made[-1].behind.append(comment.text)
        elif path[:2] == ("spec", "rules") and len(path) > 2:
            index = path[2]
            if isinstance(index, int) and index in place_of:
                at, entry = place_of[index]
                section = _section(documents[at])
                _add(made[at], section if rules[at] == 1 else (*section, entry), comment.text)
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
