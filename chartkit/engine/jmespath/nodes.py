"""The syntax tree of an expression, and the clock, chance and hosts that its functions ask."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Any, Final

from chartkit.engine.jmespath.expression import ExpressionSyntaxError, FunctionError
from chartkit.engine.reads import asks_outside
from chartkit.go.fmt import go_sprint

MAX_DEPTH: Final = 150
WHOLE_INPUT: Final = "@"
"""Stands in `Expression.roots` where an expression reads its input as a whole."""
_MAKES_GO_VALUES: Final = frozenset({"items", "base64_decode"})
"""Functions whose results hold what is not a JSON value: Go's typed list, bytes that are not
strings."""
_TAKES_REFERENCES: Final = frozenset({"map", "max_by", "min_by", "sort_by"})


class Kind(IntEnum):
    """The kinds of nodes, named as the `jmespath` package names them.

    The numbers are those that Kyverno prints in messages.
    """

    EMPTY = 0
    COMPARATOR = 1
    CURRENT = 2
    EXPREF = 3
    FUNCTION_EXPRESSION = 4
    FIELD = 5
    FILTER_PROJECTION = 6
    FLATTEN = 7
    IDENTITY = 8
    INDEX = 9
    INDEX_EXPRESSION = 10
    KEY_VAL_PAIR = 11
    LITERAL = 12
    MULTI_SELECT_DICT = 13
    MULTI_SELECT_LIST = 14
    OR_EXPRESSION = 15
    AND_EXPRESSION = 16
    NOT_EXPRESSION = 17
    PIPE = 18
    PROJECTION = 19
    SUBEXPRESSION = 20
    SLICE = 21
    VALUE_PROJECTION = 22


@dataclass(frozen=True, slots=True)
class Node:
    """One node; what value holds depends on the kind (a name, a literal, a slice's parts).

    depth: how many nodes stand below each other; trees beyond `MAX_DEPTH` are refused; weight: how
    many nodes the tree has, for what a loop over it costs.
    """

    kind: Kind
    value: Any = None
    children: tuple[Node, ...] = ()
    depth: int = field(init=False, default=1, compare=False)
    weight: int = field(init=False, default=1, compare=False)

    def __post_init__(self) -> None:
        depth = 1 + max((child.depth for child in self.children), default=0)
        if depth > MAX_DEPTH:
            raise ExpressionSyntaxError("expression nests too deeply")
        object.__setattr__(self, "depth", depth)
        object.__setattr__(self, "weight", 1 + sum(child.weight for child in self.children))

    def __str__(self) -> str:
        """Return the node as Go's `%v` prints it; a slice with its numbers, not their addresses."""
        value = list(self.value) if self.kind is Kind.SLICE else self.value
        text = str(int(value)) if isinstance(value, IntEnum) else go_sprint(value)
        return f"{{{int(self.kind)} {text} [{' '.join(map(str, self.children))}]}}"


def makes_go_values(node: Node) -> bool:
    """Report whether a result may hold what is not a JSON value."""
    if node.kind is Kind.EXPREF:
        return True
    if node.kind is not Kind.FUNCTION_EXPRESSION:
        return any(map(makes_go_values, node.children))
    children = node.children
    if node.value in _TAKES_REFERENCES:
        children = tuple(
            child.children[0] if child.kind is Kind.EXPREF else child for child in children
        )
    return node.value in _MAKES_GO_VALUES or any(map(makes_go_values, children))


_NEW_SCOPE_AFTER_FIRST: Final = frozenset(
    {
        Kind.SUBEXPRESSION,
        Kind.INDEX_EXPRESSION,
        Kind.PIPE,
        Kind.PROJECTION,
        Kind.FILTER_PROJECTION,
        Kind.VALUE_PROJECTION,
    }
)
_READS_ALL: Final = frozenset({Kind.IDENTITY, Kind.CURRENT, Kind.INDEX, Kind.SLICE})


def top_names(node: Node) -> set[str]:
    """Return the names of `Expression.roots`."""
    if node.kind is Kind.FIELD:
        return {node.value}
    if node.kind in _READS_ALL:
        return {WHOLE_INPUT}
    if node.kind is Kind.EXPREF:
        return set()
    children = node.children[:1] if node.kind in _NEW_SCOPE_AFTER_FIRST else node.children
    return set().union(*map(top_names, children))


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _offline(host: str) -> Sequence[str]:
    raise FunctionError(f"lookup {host}: no such host")


@dataclass(frozen=True, slots=True)
class Sources:
    """now: nanoseconds since 1970; chance: random numbers; resolve: a host's IP addresses.

    Nothing is resolved by default: the engine works offline, and every name is unknown.
    """

    now: Callable[[], int] = time.time_ns
    chance: random.Random = field(default_factory=random.SystemRandom)
    resolve: Callable[[str], Sequence[str]] = _offline


_SOURCES: ContextVar[Sources] = ContextVar("jmespath_sources", default=Sources())  # noqa: B039


def current_sources() -> Sources:
    """The sources that searches use here and now."""
    asks_outside()
    return _SOURCES.get()


def current_time() -> datetime:
    """Return the time of the run by these sources, in UTC."""
    return _EPOCH + timedelta(microseconds=current_sources().now() // 1000)


@contextmanager
def use_sources(sources: Sources) -> Iterator[None]:
    """Lets every search inside the block use other sources."""
    token = _SOURCES.set(sources)
    try:
        yield
    finally:
        _SOURCES.reset(token)
