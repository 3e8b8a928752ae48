"""A compiled expression: run fast where that is certain to be right, exactly where it is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Final, NamedTuple

from chartkit.engine.cel.ast import Expr
from chartkit.engine.cel.checker.checked import Checked
from chartkit.engine.cel.declarations import Environment
from chartkit.engine.cel.errors import CelCompileError, CelError, CostLimitExceeded, Issue
from chartkit.engine.cel.host import OFFLINE, Host
from chartkit.engine.cel.interpreter.closures import Planner
from chartkit.engine.cel.interpreter.codegen import generate
from chartkit.engine.cel.interpreter.constant_folding import Folded, fold
from chartkit.engine.cel.interpreter.frame import WORK_LIMIT, Frame, Step, Trace
from chartkit.engine.cel.interpreter.runtime import UNDECIDED, Undecided
from chartkit.engine.cel.parser.parser import TooDeepError
from chartkit.engine.cel.types import Type
from chartkit.engine.cel.values import Value

Run = Callable[[Mapping[str, Value]], Value]


def _undecided(_variables: Mapping[str, Value]) -> Value:
    """Takes the place of code that was not generated."""
    raise Undecided


class Program:
    """An expression that parsed, checked, and may be evaluated any number of times."""

    __slots__ = ("_exact", "_fast", "_slots", "_traced", "checked", "environment", "folded")

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
        self._traced: tuple[Step, int] | None = None

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
        evaluations = _EVALUATIONS.get()
        if evaluations is not None:
            return self._observed(variables, host, evaluations)
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
        return _raised(self.evaluate_with_cost(variables, host)[0])

    def _observed(
        self, variables: Mapping[str, Value], host: Host, evaluations: list[Evaluation]
    ) -> Value:
        if self._traced is None:
            self._traced = self._plan(traced=True)
        step, slots = self._traced
        trace = Trace()
        outcome = _outcome(step, Frame(variables, host, self._limit, slots, trace))
        if len(evaluations) < _MOST_EVALUATIONS:
            evaluations.append(Evaluation(self, variables, trace, outcome))
        return _raised(outcome)

    def trace(self, variables: Mapping[str, Value], host: Host = OFFLINE) -> Trace:
        """Return the values of the parts; parts that were not evaluated have none."""
        evaluations: list[Evaluation] = []
        with suppress(CelError):
            self._observed(variables, host, evaluations)
        return evaluations[0].trace

    def prepare(self) -> Run:
        """Makes the code now, which otherwise the first evaluation does."""
        limit = self._limit or WORK_LIMIT
        try:
            generated = generate(self.checked, self.environment, self.folded, limit)
            self._fast = _undecided if generated is None else generated.load()
        except RecursionError:
            # The stack has no room for it now; another caller may have.
            return _undecided
        return self._fast

    def evaluate_with_cost(
        self, variables: Mapping[str, Value], host: Host = OFFLINE
    ) -> tuple[Value | CelError, int]:
        """The value, or the error of an expression that has none, and its cost as cel-go counts."""
        if self._exact is None:
            try:
                self._exact, self._slots = self._plan()
            except CelError as error:
                return error, 0
        frame = Frame(variables, host, self._limit, self._slots)
        return _outcome(self._exact, frame), frame.cost

    def _plan(self, *, traced: bool = False) -> tuple[Step, int]:
        """Return the closures and the number of their slots; raises `CelError` where the stack has
        no room for them."""
        planner = Planner(self.checked, self.environment, self.folded, traced=traced)
        try:
            return planner.plan(self.checked.root, {}), planner.slots
        except RecursionError:
            raise CelError(str(TooDeepError())) from None

    @property
    def _limit(self) -> int | None:
        return self.environment.options.cost_limit


def _outcome(step: Step, frame: Frame) -> Value | CelError:
    """Return a value, or the error of an expression that has none."""
    try:
        value = step(frame)
        frame.check()
    except RecursionError:
        # Values and expressions nest as deep as their authors like; the stack does not.
        return CelError(str(TooDeepError()))
    except CelError as error:
        return error
    return value


def _raised(outcome: Value | CelError) -> Value:
    if isinstance(outcome, CelError):
        raise outcome
    return outcome


class Evaluation(NamedTuple):
    """An evaluation of a program that was observed; outcome: its value, or its `CelError`."""

    program: Program
    variables: Mapping[str, Value]
    trace: Trace
    outcome: Value


_EVALUATIONS: ContextVar[list[Evaluation] | None] = ContextVar("cel_evaluations", default=None)
_MOST_EVALUATIONS: Final = 1000


@contextmanager
def observed() -> Iterator[list[Evaluation]]:
    """Observe the programs that are evaluated inside the block: the list grows by one at the end
    of each evaluation."""
    evaluations: list[Evaluation] = []
    token = _EVALUATIONS.set(evaluations)
    try:
        yield evaluations
    finally:
        _EVALUATIONS.reset(token)
