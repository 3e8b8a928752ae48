"""How large a value may become: what a policy says must not fill the memory."""

from __future__ import annotations

from chartkit.engine.cel.errors import CostLimitExceeded

MAX_SIZE = 20_000_000
"""Characters, bytes or members of one value; what Kubernetes' cost limit allows ends below it."""


def bounded(size: int) -> None:
    """Raises `CostLimitExceeded` where a value is about to become too large."""
    if size > MAX_SIZE:
        raise CostLimitExceeded("operation cancelled: actual cost limit exceeded")
