"""Edits of YAML texts with ruamel.yaml's round trip: comments and order stay."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from chartkit.errors import InputError
from chartkit.model import Location, single_line


class _Missing:
    def __repr__(self) -> str:
        return "absent"


MISSING: Final = _Missing()
"""Stands for a key that is not there."""
NOT_EDITABLE: Final = "cannot be edited without a change to other lines"
"""The message for a text that no edit leaves as it is."""


def edit(text: str, source: str, paths: Iterable[tuple[tuple[str, ...], bool]], file: str) -> str:
    """Return a text with some keys as another text has them.

    text: what is edited; source: where values come from, with their comments; paths: the keys,
    each with whether it is to be there; file: the name of the text in errors. The mappings above
    a key are in both texts. Raise InputError for a text that cannot be edited.
    """
    from ruamel.yaml.comments import CommentedMap

    yaml, target = loaded(text, file)
    if target is None:
        target = CommentedMap()
    origin = yaml.load(source)
    lines = source.splitlines()
    for path, present in paths:
        parent, giver = target, origin
        for step in path[:-1]:
            parent = parent[step]
            giver = giver.get(step) if isinstance(giver, dict) else None
        if present:
            _put(parent, giver, path[-1], lines)
        else:
            parent.pop(path[-1], None)
    out = io.StringIO()
    yaml.dump(target, out)
    return out.getvalue()


def loaded(text: str, file: str = "<text>", offset: int = 0) -> tuple[Any, Any]:
    """Return ruamel's reader, set to write as a text is written, and what it reads of it.

    file, offset: the text's file and the lines before it, for errors. Raise InputError for a text
    that ruamel refuses, though chartkit's reader may take it as Kubernetes does.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 4096
    try:
        document = yaml.load(text)
    except (YAMLError, ValueError, LookupError, AssertionError) as error:
        # The last three are ruamel's for a scalar that its tag does not fit, and for a version.
        raise _not_editable(error, file, offset) from None
    indentation = list_indentation(document)
    yaml.indent(mapping=2, sequence=indentation + 2, offset=indentation)
    return yaml, document


def _not_editable(error: Exception, file: str, offset: int) -> InputError:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem, _, _ = single_line(getattr(error, "problem", None) or str(error)).partition(" with ")
    place = Location(file, offset + mark.line + 1, mark.column + 1) if mark else Location(file)
    return InputError(f"{NOT_EDITABLE}: {problem}", place)


def list_indentation(target: Any) -> int:
    """Return the indentation of most lists below their keys; 2 where there are none."""
    from ruamel.yaml.comments import CommentedMap, CommentedSeq

    found: Counter[int] = Counter()
    todo = [target]
    while todo:
        value = todo.pop()
        if isinstance(value, CommentedSeq):
            todo.extend(value)
        if not isinstance(value, CommentedMap):
            continue
        todo.extend(value.values())
        for key, item in value.items():
            if isinstance(item, CommentedSeq) and item and not item.fa.flow_style():
                found[item.lc.col - value.lc.key(key)[1]] += 1
    return 2 if not found or found.most_common(1)[0][0] else 0


def _put(parent: Any, giver: Any, key: str, lines: list[str]) -> None:
    if key in parent:
        parent[key] = giver[key]
        return
    keys = list(giver)
    before = [each for each in keys[: keys.index(key)] if each in parent]
    place = list(parent).index(before[-1]) + 1 if before else 0
    following = take_following(parent, before[-1]) if before else ""
    parent.insert(place, key, giver[key])
    give_following(parent, key, following)
    comment = _comment_above(giver, key, lines)
    if comment:
        parent.yaml_set_comment_before_after_key(key, before=comment, indent=giver.lc.col)


def _comment_above(giver: Any, key: str, lines: list[str]) -> str:
    """The comment lines that stand directly above a key."""
    found: list[str] = []
    number = giver.lc.key(key)[0] - 1
    while number >= 0 and lines[number].lstrip().startswith("#"):
        found.insert(0, lines[number].strip().removeprefix("#").removeprefix(" "))
        number -= 1
    return "\n".join(found)


def take_following(parent: Any, key: str) -> str:
    """Removes and gives the comment lines below a key: ruamel keeps them with it, people mean
    the next key."""
    container, slot, at = _last_leaf(parent, key)
    tokens = container.ca.items.get(slot)
    token = tokens[at] if tokens and len(tokens) > at else None
    if token is None or "\n" not in token.value:
        return ""
    own, _, following = token.value.partition("\n")
    token.value = own + "\n"
    return str(following)


def give_following(parent: Any, key: str, following: str) -> None:
    """Puts comment lines below a key's value."""
    from ruamel.yaml.error import CommentMark
    from ruamel.yaml.tokens import CommentToken

    container, slot, at = _last_leaf(parent, key)
    tokens = container.ca.items.setdefault(slot, [None] * 4)
    while len(tokens) <= at:
        tokens.append(None)
    # What follows the key in its own text belongs to that text's next key.
    own = tokens[at].value.partition("\n")[0] if tokens[at] is not None else ""
    if own or following:
        tokens[at] = CommentToken(f"{own}\n{following}", CommentMark(0), None)


def _last_leaf(parent: Any, key: str) -> tuple[Any, Any, int]:
    """Return the place of the comment after a key's value: ruamel's container, slot and index."""
    container: Any = parent
    slot: Any = key
    while True:
        value: Any = container[slot]
        is_mapping = isinstance(value, dict)
        if not (value and (is_mapping or isinstance(value, list))) or value.fa.flow_style():
            return container, slot, 2 if isinstance(container, dict) else 0
        container, slot = value, list(value)[-1] if is_mapping else len(value) - 1
