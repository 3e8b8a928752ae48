"""What calls cost in cel-go's units, where it is not 1: the sizes that are gone through."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from chartkit.engine.cel.values import OptionalValue, Value

TRAVERSAL = 0.1
"""The cost of a character, byte or member that is gone through."""

_REGEX = 0.25


def size_of(value: Value) -> int:
    """The size of a text, bytes, list or map; 1 for everything else."""
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    if isinstance(value, OptionalValue) and value.present:
        return size_of(value.value)
    return 1


def traversal(size: int) -> int:
    """The cost of going through so much."""
    return ceil(size * TRAVERSAL)


def of_first(args: Sequence[Value], _result: Value) -> int:
    """The first argument is gone through."""
    return traversal(size_of(args[0]))


def of_second(args: Sequence[Value], _result: Value) -> int:
    """The second argument is gone through."""
    return traversal(size_of(args[1]))


def of_both(args: Sequence[Value], _result: Value) -> int:
    """Both arguments are gone through one after the other."""
    return traversal(size_of(args[0]) + size_of(args[1]))


def of_shorter(args: Sequence[Value], _result: Value) -> int:
    """Both arguments are gone through together."""
    return traversal(min(size_of(args[0]), size_of(args[1])))


def of_search(args: Sequence[Value], _result: Value) -> int:
    """The second argument is looked for at every place of the first."""
    return traversal(size_of(args[0])) * traversal(size_of(args[1]))


def of_matching(args: Sequence[Value], _result: Value) -> int:
    """A regular expression, the second argument, is matched with the first."""
    return ceil((1 + size_of(args[0])) * TRAVERSAL) * ceil(size_of(args[1]) * _REGEX)


def of_membership(args: Sequence[Value], _result: Value) -> int:
    """Every member of a list, the second argument, is looked at."""
    return size_of(args[1])
