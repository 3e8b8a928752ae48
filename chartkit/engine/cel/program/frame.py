"""One evaluation: its variables, what it may cost, and what it has cost so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from chartkit.engine.cel.errors import CelError, CostLimitExceeded
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.values import UINT_MAX, Value

COST_EXCEEDED = "operation cancelled: actual cost limit exceeded"

WORK_LIMIT = 2_000_000
"""Units of cost where an environment has no limit, so that no expression runs for minutes."""


class Frame:
    """What a step reads and writes.

    slots: the variables of comprehensions, each at a place of its own. trace: by node id what the
    parts came to, where somebody wants to know; a `CelError` is a part's failure.
    """

    __slots__ = ("cost", "host", "limit", "slots", "trace", "variables")

    def __init__(
        self,
        variables: Mapping[str, Value],
        host: Host,
        limit: int,
        slots: int,
        trace: dict[int, Value] | None = None,
    ) -> None:
        self.variables = variables
        self.host = host
        self.limit = limit
        self.slots: list[Value] = [None] * slots
        self.cost = 0
        self.trace = trace

    def check(self) -> None:
        """Raises `CostLimitExceeded` where the evaluation has cost too much."""
        if self.cost > UINT_MAX:
            # cel-go counts in 64 bits and does not mind when they overflow.
            self.cost &= UINT_MAX
        if self.cost > self.limit:
            raise CostLimitExceeded(COST_EXCEEDED)


Step: TypeAlias = Callable[[Frame], Value]
"""A part of an expression, ready to run; raises `CelError` where it has no value."""


def absorbed(error: CelError) -> CelError:
    """The error, for those who go on without it; what nothing absorbs is raised again."""
    if isinstance(error, CostLimitExceeded):
        raise error
    return error
