"""How large a value may become: what a policy says must not fill the memory."""

from __future__ import annotations

from chartkit.engine.cel.errors import CostLimitExceeded

MAX_SIZE = 20_000_000
"""Characters, bytes or members of one value; what Kubernetes' cost limit allows ends below it."""

MAX_WORK = 2_000_000
"""Comparisons that one call may make."""


def bounded(size: int) -> None:
    """Raises `CostLimitExceeded` where a value is about to become too large."""
    if size > MAX_SIZE:
        raise _exceeded()


def bounded_work(steps: int) -> None:
    """Raises `CostLimitExceeded` where a call takes too many steps."""
    if steps > MAX_WORK:
        raise _exceeded()


def _exceeded() -> CostLimitExceeded:
    return CostLimitExceeded("operation cancelled: actual cost limit exceeded")
