"""Edits of YAML texts with ruamel.yaml's round trip: comments and order stay."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final


class _Missing:
    def __repr__(self) -> str:
        return "absent"


MISSING: Final = _Missing()
"""Stands for a key that is not there."""


def edit(text: str, source: str, paths: Iterable[tuple[tuple[str, ...], bool]]) -> str:
    """A text with some keys as another text has them.

    text: what is edited; source: where values come from, with their comments; paths: the keys,
    each with whether it is to be there. The mappings above a key are in both texts.
    """
    from ruamel.yaml.comments import CommentedMap

    yaml, target = loaded(text)
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


def loaded(text: str) -> tuple[Any, Any]:
    """ruamel's reader, set to write as a text is written, and what it reads of it."""
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 4096
    document = yaml.load(text)
    offset = list_indentation(document)
    yaml.indent(mapping=2, sequence=offset + 2, offset=offset)
    return yaml, document


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
