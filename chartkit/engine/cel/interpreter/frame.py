"""One evaluation: its variables, what it may cost, and what it has cost so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeAlias

from chartkit.engine.cel.errors import CelError, CostLimitExceeded, Stopped
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.values import UINT_MAX, Value

COST_EXCEEDED = "operation cancelled: actual cost limit exceeded"

WORK_LIMIT = 1_000_000
"""Units of cost where an environment has no limit, so that no expression runs for minutes."""

MAX_WORK = 1_000_000
"""Members of lists and maps that calls may go through in one evaluation, beside what they cost:
for cel-go a comparison of two maps costs no more, however much is in them."""

CALL_WORK = 24
"""The work of a function call, in members visited."""

ERROR_WORK = 32
"""The work of an error that is absorbed."""


_MOST_ROUNDS: Final = 100


class Trace(dict[int, Value]):
    """The values of the parts of an expression, by node ID; a `CelError` for a part without value.

    A part inside a loop has the value of the last round. rounds: by the ID of a loop, its first
    rounds and the last one.
    """

    __slots__ = ("_most", "rounds")

    def __init__(self, most: int = _MOST_ROUNDS) -> None:
        super().__init__()
        self.rounds: dict[int, list[Round]] = {}
        self._most = most

    def inner(self) -> Trace:
        """Return a trace for one round of a loop, which keeps fewer rounds of the loops in it."""
        return Trace(max(self._most // 10, 1))

    def add_round(self, loop: int, current: Round) -> None:
        rounds = self.rounds.setdefault(loop, [])
        if len(rounds) < self._most:
            rounds.append(current)
        else:
            rounds[-1] = current
        self.update(current.trace)


class Round(NamedTuple):
    """One round of a loop: the values of its variables, and of the parts inside it."""

    first: Value
    second: Value
    trace: Trace


class Frame:
    """The state that a step reads and writes.

    slots: the variables of comprehensions, each at a place of its own. limited: whether the limit
    is the environment's; a cost that cel-go cannot tell counts only there. trace: the values of
    the parts, None where nothing observes them.
    """

    __slots__ = (
        "_sizes",
        "_work",
        "cost",
        "host",
        "limit",
        "limited",
        "slots",
        "trace",
        "variables",
    )

    def __init__(
        self,
        variables: Mapping[str, Value],
        host: Host,
        limit: int | None,
        slots: int,
        trace: Trace | None = None,
    ) -> None:
        self.variables = variables
        self.host = host
        self.limited = limit is not None
        self.limit = WORK_LIMIT if limit is None else limit
        self.slots: list[Value] = [None] * slots
        self.cost = 0
        self.trace = trace
        self._work = 0
        self._sizes: dict[int, tuple[Value, int]] = {}

    def check(self) -> None:
        """Raises `CostLimitExceeded` where the evaluation has cost too much."""
        if self.cost > UINT_MAX:
            # cel-go counts in 64 bits and does not mind when they overflow.
            self.cost &= UINT_MAX
        if self.cost > self.limit:
            raise CostLimitExceeded(COST_EXCEEDED)

    def traverse(self, value: Value) -> None:
        """Counts that everything in a value is gone through; raises `CostLimitExceeded`."""
        self.work(self._size(value))

    def work(self, members: int) -> None:
        """Counts members that are gone through or made; raises `CostLimitExceeded`."""
        self._work += members
        if self._work > MAX_WORK:
            raise CostLimitExceeded(COST_EXCEEDED)

    def _size(self, value: Value) -> int:
        kind = value.__class__
        if kind is str or kind is bytes:
            return 1 + len(value) // _TEXT  # type: ignore[arg-type]
        if kind is not list and kind is not dict:
            return 1
        # The value is kept with its size: its identity then stays its own.
        sized = self._sizes.get(id(value))
        if sized is None:
            members = value if kind is list else value.values()  # type: ignore[attr-defined]
            size = 1 + sum(map(self._size, members))  # type: ignore[arg-type]
            sized = self._sizes[id(value)] = (value, size)
        return sized[1]


_TEXT = 100
"""Characters of a text that are as much work as one member."""

Step: TypeAlias = Callable[[Frame], Value]
"""A part of an expression, ready to run; raises `CelError` where it has no value."""


def absorbed(error: CelError, frame: Frame) -> CelError:
    """The error, for those who go on without it; what nothing absorbs is raised again."""
    if isinstance(error, Stopped):
        raise error
    frame.work(ERROR_WORK)
    return released(error)


def released(error: CelError) -> CelError:
    """Return an error without the frames that it went through: together with the values that they
    hold, and the trace that holds the error, they would wait for the collector."""
    error.__context__ = error.__cause__ = None
    return error.with_traceback(None)
