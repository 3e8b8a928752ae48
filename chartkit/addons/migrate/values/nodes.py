"""Values files as nodes with places: of what nobody asks for, the end alone is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn

import yaml
from yaml._yaml import CParser
from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from chartkit.addons.migrate.values.tree import Path
from chartkit.documents.reader import Document
from chartkit.errors import InputError
from chartkit.model import Location

Opens = Callable[[Path], bool]
"""Return whether the mapping or list at a path of keys is to be looked into."""

_STARTS: Final = (MappingStartEvent, SequenceStartEvent)
_ENDS: Final = (MappingEndEvent, SequenceEndEvent)


class AliasNode(yaml.Node):
    """A name in place of a value that is written elsewhere; value: the name."""


class SealedNode(yaml.Node):
    """A mapping or list that is taken as it is written.

    value: the node that it ends with; end_mark: None for a block, which ends where the next key
    begins.
    """

    def __init__(self, start: Any, last: Any) -> None:
        end = last.end_mark if start.flow_style else None
        super().__init__("", _leaf(last), start.start_mark, end)


def _leaf(event: Any) -> yaml.Node:
    """Return the node of a scalar, an alias or a closing brace."""
    start, end = event.start_mark, event.end_mark
    if isinstance(event, AliasEvent):
        return AliasNode("", f"*{event.anchor}", start, end)
    is_scalar = isinstance(event, ScalarEvent)
    return yaml.ScalarNode(
        "", event.value if is_scalar else "", start, end, event.style if is_scalar else None
    )


def compose(document: Document, opens: Opens) -> Any:
    """Return the root node of a document, a mapping; raise InputError for one that cannot be moved.

    Lists in lists, and what stands in braces, is sealed as well as what is not opened; blocks with
    an alias are not, whose values are written out where they stand.
    """
    text = document.source.text
    try:
        holders = _holders(document) if "*" in text else frozenset()
        parser = CParser(text)
        try:
            return _Composer(parser.get_event, opens, holders).document()
        finally:
            parser.dispose()
    except yaml.YAMLError as error:
        message = getattr(error, "problem", None) or "cannot be read as YAML"
        raise InputError(str(message), document.location) from None


def _holders(document: Document) -> frozenset[int]:
    """Return the blocks with aliases in them, by their numbers among the collections."""
    holders: set[int] = set()
    above: list[tuple[int, bool]] = []
    count = 0
    for event in yaml.parse(document.source.text, Loader=yaml.CSafeLoader):
        if isinstance(event, _STARTS):
            above.append((count, isinstance(event, SequenceStartEvent)))
            count += 1
        elif isinstance(event, _ENDS):
            above.pop()
        elif isinstance(event, AliasEvent):
            if above and above[-1][1]:
                _refuse_alias(document, event)
            holders.update(number for number, _ in above)
    return frozenset(holders)


def _refuse_alias(document: Document, event: Any) -> NoReturn:
    mark = event.start_mark
    place = Location(document.source.file, mark.line + 1, mark.column + 1)
    hint = "write the values out in place of *aliases in lists"
    raise InputError("has aliases in lists, which cannot be moved", place, hint)


class _Composer:
    """Makes the nodes of one document."""

    def __init__(
        self, next_event: Callable[[], Any], opens: Opens, holders: frozenset[int]
    ) -> None:
        self._next = next_event
        self._opens = opens
        self._holders = holders
        self._collections = 0

    def document(self) -> Any:
        """Return the root; raise YAMLError where the text has more than one document."""
        self._next()
        self._next()
        root = self._node(self._next(), (), is_open=True)
        self._next()
        if not isinstance(self._next(), StreamEndEvent):
            raise yaml.MarkedYAMLError(problem="but found another document")
        return root

    def _node(self, event: Any, path: Path | None, *, is_open: bool) -> Any:
        """Return the node that an event begins; path: of keys, None below a list."""
        if event.__class__ not in _STARTS:
            return _leaf(event)
        number = self._collections
        self._collections += 1
        if event.flow_style or not (is_open or number in self._holders):
            return self._sealed(event)
        if event.__class__ is SequenceStartEvent:
            return self._list(event)
        return self._mapping(event, path)

    def _list(self, start: Any) -> Any:
        items: list[Any] = []
        while (event := self._next()).__class__ is not SequenceEndEvent:
            is_open = event.__class__ is not SequenceStartEvent
            items.append(self._node(event, None, is_open=is_open))
        return yaml.SequenceNode("", items, start.start_mark, None, False)

    def _mapping(self, start: Any, path: Path | None) -> Any:
        pairs: list[Any] = []
        while (event := self._next()).__class__ is not MappingEndEvent:
            key = self._node(event, None, is_open=False)
            below = None if path is None else (*path, str(key.value))
            value = self._next()
            is_open = below is None or value.__class__ not in _STARTS or self._opens(below)
            pairs.append((key, self._node(value, below, is_open=is_open)))
        return yaml.MappingNode("", pairs, start.start_mark, None, False)

    def _sealed(self, start: Any) -> SealedNode:
        last, depth = start, 1
        while depth:
            event = self._next()
            kind = event.__class__
            if kind in _STARTS:
                depth += 1
                self._collections += 1
            elif kind in _ENDS:
                depth -= 1
                # The end of a block is not written.
                if event.end_mark.index > event.start_mark.index:
                    last = event
            else:
                last = event
        return SealedNode(start, last)
