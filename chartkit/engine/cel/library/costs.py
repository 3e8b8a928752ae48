"""The costs of calls in cel-go's units, if not 1: the sizes that are visited."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil

from chartkit.engine.cel.errors import CostLimitExceeded
from chartkit.engine.cel.values import UINT_MAX, OptionalValue, Struct, Value

TRAVERSAL = 0.1
"""The cost of a character, byte or member that is gone through."""

UNTOLD = UINT_MAX
"""The cost that cel-go cannot tell; added to another one it counts nothing."""

_REGEX = 0.25
_NEW_LIST = 11
"""A call that makes a list."""


def size_of(value: Value) -> int:
    """The size of a text, bytes, list or map; 1 for everything else."""
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    if isinstance(value, OptionalValue) and value.present:
        return size_of(value.value)
    return 1


def traversal(size: int) -> int:
    """The cost of going through a value of a size."""
    return ceil(size * TRAVERSAL)


def of_first(args: Sequence[Value], _result: Value) -> int:
    """The first argument is gone through."""
    return traversal(size_of(args[0]))


def of_text_bytes(args: Sequence[Value], _result: Value) -> int:
    """The first argument, a text, is gone through byte by byte; what is not whole is free."""
    text = args[0]
    return int(len(text.encode("utf-8", "replace")) * TRAVERSAL) if isinstance(text, str) else 1


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


def of_transform(args: Sequence[Value], _result: Value) -> int:
    """The first argument is gone through and as much is made of it."""
    return ceil(size_of(args[0]) * 2 * TRAVERSAL)


def of_joining(_args: Sequence[Value], result: Value) -> int:
    """The result is made of parts."""
    return ceil(size_of(result) * 2 * TRAVERSAL)


def of_new_list(_args: Sequence[Value], result: Value) -> int:
    """A list is made, member by member."""
    return _NEW_LIST + size_of(result)


def of_flattening(args: Sequence[Value], _result: Value) -> int:
    """A list is gone through once for each level."""
    depth = args[1] if len(args) == 2 else 1
    times = depth if isinstance(depth, int) and depth >= 0 else 1
    return _NEW_LIST + size_of(args[0]) * times


def of_comparing_first(args: Sequence[Value], _result: Value) -> int:
    """The members of the first argument are compared with each other."""
    return _self_comparison(args[0])


def of_comparing_last(args: Sequence[Value], _result: Value) -> int:
    """The members of the last argument are compared with each other."""
    return _self_comparison(args[-1])


def _self_comparison(members: Value) -> int:
    size = size_of(members)
    texts = isinstance(members, list) and members and isinstance(members[0], str | bytes)
    return _NEW_LIST + int(size * size * (2 + TRAVERSAL if texts else 2.0))


def of_product(args: Sequence[Value], _result: Value) -> int:
    """Each member of one argument is looked for in the other."""
    return 1 + size_of(args[0]) * size_of(args[1])


def of_product_twice(args: Sequence[Value], _result: Value) -> int:
    """Each member of either argument is looked for in the other."""
    return 1 + size_of(args[0]) * size_of(args[1]) * 2


def of_list(args: Sequence[Value], _result: Value) -> int:
    """Each member of the first argument is looked at."""
    return 1 + size_of(args[0])


def of_extracting(args: Sequence[Value], result: Value) -> int:
    """A regular expression is matched and a part is taken out."""
    return ceil(1 + _regex_search(args) + size_of(result))


def of_extracting_all(args: Sequence[Value], result: Value) -> int:
    """A regular expression is matched and all parts are taken out."""
    return ceil(1 + _regex_search(args) + size_of(result) + _NEW_LIST - 1)


def of_replacing(args: Sequence[Value], result: Value) -> int:
    """A regular expression is matched and a new text made."""
    return int(1 + _regex_search(args) + size_of(result))


def _regex_search(args: Sequence[Value]) -> float:
    return ((size_of(args[0]) + 1) * TRAVERSAL) * ((size_of(args[1]) + 1) * _REGEX)


def of_traversal_and_call(args: Sequence[Value], _result: Value) -> int:
    """The first argument is gone through, and the call itself costs."""
    return 1 + traversal(size_of(args[0]))


def always(units: int) -> Callable[[Sequence[Value], Value], int]:
    """The same for every call."""
    return lambda _args, _result: units


def untold(_args: Sequence[Value], _result: Value) -> int:
    """The cost is unknown."""
    return UNTOLD


MAX_SIZE = 10_000_000
"""Characters or bytes of one value; what Kubernetes' cost limit allows ends below it."""

MAX_MEMBERS = 2_000_000
"""Members of one list or map."""

MAX_STEPS = 500_000_000
"""Steps that one call may search with, for regular expressions."""

MAX_PATTERNS = 2_000_000
"""Instructions of all regular expressions that one expression writes out."""

MAX_WORK = 250_000
"""Comparisons that one call may make, as many as Kubernetes' cost limit allows for `distinct`, and
members that it may write out."""


def bounded(size: int, most: int = MAX_SIZE) -> None:
    """Raises `CostLimitExceeded` where a text is about to become too large; or a list, or the work
    of a call, by another limit."""
    if size > most:
        raise CostLimitExceeded("operation cancelled: actual cost limit exceeded")


def bounded_value(value: Value) -> None:
    """Raises `CostLimitExceeded` where a value would be too large if it were written out.

    A value that occurs many times counts each time: a short expression makes lists that hold one
    another so often that no one could write them.
    """
    pending = [value]
    members = size = 0
    while pending:
        part = pending.pop()
        if isinstance(part, list):
            members += len(part)
            bounded(members, MAX_WORK)
            pending += part
        elif isinstance(part, dict):
            members += len(part)
            bounded(members, MAX_WORK)
            pending += part.values()
        elif isinstance(part, str | bytes):
            size += len(part)
            bounded(size)
        elif isinstance(part, OptionalValue):
            members += 1
            pending.append(part.value)
        elif isinstance(part, Struct):
            pending.append(dict(part.fields))
