"""The limits of values: the results of a policy must not fill the memory."""

from __future__ import annotations

from chartkit.engine.cel.errors import CostLimitExceeded
from chartkit.engine.cel.values import OptionalValue, Struct, Value

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


def bounded(size: int) -> None:
    """Raises `CostLimitExceeded` where a text is about to become too large."""
    _limit(size, MAX_SIZE)


def bounded_members(count: int) -> None:
    """Raises `CostLimitExceeded` where a list or map is about to become too large."""
    _limit(count, MAX_MEMBERS)


def bounded_work(steps: int) -> None:
    """Raises `CostLimitExceeded` where a call takes too many steps."""
    _limit(steps, MAX_WORK)


def bounded_search(steps: int) -> None:
    """Raises `CostLimitExceeded` where a search for a regular expression takes too many steps."""
    _limit(steps, MAX_STEPS)


def bounded_patterns(instructions: int) -> None:
    """Raises `CostLimitExceeded` where the regular expressions of an expression are too large."""
    _limit(instructions, MAX_PATTERNS)


def bounded_value(value: Value) -> None:
    """Raises `CostLimitExceeded` where a value would be too large if it were written out.

    What stands in many places counts in each: a short expression makes lists that hold one
    another so often that no one could write them.
    """
    pending = [value]
    members = size = 0
    while pending:
        each = pending.pop()
        if isinstance(each, list):
            members += len(each)
            bounded_work(members)
            pending += each
        elif isinstance(each, dict):
            members += len(each)
            bounded_work(members)
            pending += each.values()
        elif isinstance(each, str | bytes):
            size += len(each)
            bounded(size)
        elif isinstance(each, OptionalValue):
            members += 1
            pending.append(each.value)
        elif isinstance(each, Struct):
            pending.append(dict(each.fields))


def _limit(found: int, most: int) -> None:
    if found > most:
        raise CostLimitExceeded("operation cancelled: actual cost limit exceeded")
