"""How large a value may become: what a policy says must not fill the memory."""

from __future__ import annotations

from chartkit.engine.cel.errors import CostLimitExceeded

MAX_SIZE = 10_000_000
"""Characters or bytes of one value; what Kubernetes' cost limit allows ends below it."""

MAX_MEMBERS = 2_000_000
"""Members of one list or map."""

MAX_WORK = 300_000
"""Comparisons that one call may make, and members that it may write as text."""


def bounded(size: int) -> None:
    """Raises `CostLimitExceeded` where a text is about to become too large."""
    _limit(size, MAX_SIZE)


def bounded_members(count: int) -> None:
    """Raises `CostLimitExceeded` where a list or map is about to become too large."""
    _limit(count, MAX_MEMBERS)


def bounded_work(steps: int) -> None:
    """Raises `CostLimitExceeded` where a call takes too many steps."""
    _limit(steps, MAX_WORK)


def _limit(found: int, most: int) -> None:
    if found > most:
        raise CostLimitExceeded("operation cancelled: actual cost limit exceeded")
