"""A compiled expression: run fast where that is certain to be right, exactly where it is not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

from chartkit.engine.cel.ast import Expr
from chartkit.engine.cel.checker.checked import Checked
from chartkit.engine.cel.declarations import Environment
from chartkit.engine.cel.errors import CelCompileError, CelError, CostLimitExceeded, Issue
from chartkit.engine.cel.host import OFFLINE, Host
from chartkit.engine.cel.interpreter.closures import Planner
from chartkit.engine.cel.interpreter.codegen import generate
from chartkit.engine.cel.interpreter.constant_folding import Folded, fold
from chartkit.engine.cel.interpreter.frame import WORK_LIMIT, Frame, Step
from chartkit.engine.cel.interpreter.runtime import UNDECIDED, Undecided
from chartkit.engine.cel.parser.parser import TooDeepError
from chartkit.engine.cel.types import Type
from chartkit.engine.cel.values import Value

Run = Callable[[Mapping[str, Value]], Value]


def _undecided(_variables: Mapping[str, Value]) -> Value:
    """Stands for code that there is none of."""
    raise Undecided


class Program:
    """An expression that parsed, checked, and may be evaluated any number of times."""

    __slots__ = ("_exact", "_fast", "_slots", "checked", "environment", "folded")

    def __init__(self, checked: Checked, environment: Environment) -> None:
        """Raises `CelCompileError` where a constant part of the expression has no value."""
        self.checked = checked
        self.environment = environment
        try:
            self.folded: Folded = fold(checked, environment)
        except RecursionError:
            deep = Issue(f"ERROR: <input>:-1:0: {TooDeepError()}")
            raise CelCompileError(checked.source, [deep]) from None
        self._exact: Step | None = None
        self._fast: Run | None = None
        self._slots = 0

    @property
    def source(self) -> str:
        """The expression as it was written."""
        return self.checked.source

    @property
    def root(self) -> Expr:
        """The outermost node of the expression."""
        return self.checked.root

    @property
    def output_type(self) -> Type:
        """The type of the value, as far as it is known before the evaluation."""
        return self.checked.output_type

    def evaluate(self, variables: Mapping[str, Value], host: Host = OFFLINE) -> Value:
        """The value; raises `CelError` where there is none."""
        run = self._fast or self.prepare()
        if run is not _undecided:
            try:
                return run(variables)
            except CostLimitExceeded:
                # Nothing absorbs it: to ask again would only take as long again.
                raise
            except (CelError, *UNDECIDED):
                # Whatever it was, the closures know.
                pass
        return self.evaluate_exactly(variables, host)

    def trace(self, variables: Mapping[str, Value], host: Host = OFFLINE) -> dict[int, Value]:
        """Return the value of each part by node id; a `CelError` for a part without a value.

        Constants and parts that were not evaluated are not there.
        """
        planner = Planner(self.checked, self.environment, self.folded, traced=True)
        step = planner.plan(self.checked.root, {})
        trace: dict[int, Value] = {}
        frame = Frame(variables, host, self._limit, planner.slots, trace)
        with suppress(CelError, RecursionError):
            step(frame)
        return {node: value for node, value in trace.items() if node not in self.folded.constants}

    def prepare(self) -> Run:
        """Makes the code now, which otherwise the first evaluation does."""
        limit = self._limit or WORK_LIMIT
        generated = generate(self.checked, self.environment, self.folded, limit)
        self._fast = _undecided if generated is None else generated.load()
        return self._fast

    def evaluate_exactly(self, variables: Mapping[str, Value], host: Host = OFFLINE) -> Value:
        """The value, from the closures alone; raises `CelError` where there is none."""
        try:
            step = self._exact or self._plan()
            frame = Frame(variables, host, self._limit, self._slots)
            value = step(frame)
        except RecursionError:
            # Values and expressions nest as deep as their authors like; the stack does not.
            raise CelError(str(TooDeepError())) from None
        frame.check()
        return value

    def evaluate_with_cost(
        self, variables: Mapping[str, Value], host: Host = OFFLINE
    ) -> tuple[Value | CelError, int]:
        """The value, or the error of an expression that has none, and its cost as cel-go counts."""
        step = self._exact or self._plan()
        frame = Frame(variables, host, self._limit, self._slots)
        try:
            value = step(frame)
            frame.check()
        except RecursionError:
            return CelError(str(TooDeepError())), frame.cost
        except CelError as error:
            return error, frame.cost
        return value, frame.cost

    def _plan(self) -> Step:
        planner = Planner(self.checked, self.environment, self.folded)
        self._exact = planner.plan(self.checked.root, {})
        self._slots = planner.slots
        return self._exact

    @property
    def _limit(self) -> int | None:
        return self.environment.options.cost_limit
