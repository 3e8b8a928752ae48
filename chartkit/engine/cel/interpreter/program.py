"""A compiled expression: run fast where that is certain to be right, exactly where it is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import CodeType
from typing import Any, Final, NamedTuple

from chartkit.engine.cel import ast
from chartkit.engine.cel.ast import Expr, FoldKind, shape_of
from chartkit.engine.cel.checker.checked import Checked, function_and_arguments, variable_name
from chartkit.engine.cel.declarations import Environment
from chartkit.engine.cel.errors import CelCompileError, CelError, CostLimitExceeded, Issue
from chartkit.engine.cel.host import OFFLINE, Host
from chartkit.engine.cel.interpreter import comprehension, operators
from chartkit.engine.cel.interpreter.closures import Planner
from chartkit.engine.cel.interpreter.constant_folding import Folded, fold
from chartkit.engine.cel.interpreter.fragments import Code, Scope, Unsupported, Writer
from chartkit.engine.cel.interpreter.frame import WORK_LIMIT, Frame, Step, Trace, released
from chartkit.engine.cel.interpreter.runtime import NAMES, UNDECIDED, Undecided
from chartkit.engine.cel.parser.parser import TooDeepError
from chartkit.engine.cel.types import Type
from chartkit.engine.cel.values import Value

Run = Callable[[Mapping[str, Value]], Value]


def _undecided(_variables: Mapping[str, Value]) -> Value:
    """Takes the place of code that was not generated."""
    raise Undecided


class Program:
    """A parsed and checked expression, which may be evaluated any number of times."""

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
        """The value; raises `CelError` for an expression without a value."""
        evaluations = _EVALUATIONS.get()
        if evaluations is not None:
            trace, outcome = self._trace(variables, host)
            if len(evaluations) < _MOST_EVALUATIONS:
                evaluations.append(Evaluation(self, variables, trace, outcome))
            return _raised(outcome)
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

    def trace(self, variables: Mapping[str, Value], host: Host = OFFLINE) -> Trace:
        """Return the values of the parts; parts that were not evaluated have none."""
        return self._trace(variables, host)[0]

    def _trace(self, variables: Mapping[str, Value], host: Host) -> tuple[Trace, Value | CelError]:
        if self._traced is None:
            self._traced = self._plan(traced=True)
        step, slots = self._traced
        trace = Trace()
        return trace, _outcome(step, Frame(variables, host, self._limit, slots, trace))

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
        """The closures and the number of their slots; `CelError` where the stack is full."""
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
        return released(error)
    return value


def _raised(outcome: Value | CelError) -> Value:
    if isinstance(outcome, CelError):
        try:
            raise outcome
        finally:
            # Its traceback refers to this frame: together they would wait for the collector.
            del outcome
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


_MAX_DEPTH = 40
"""Deeper expressions are left to the closures; Python's own limit is a few times this."""
_MAX_LOOPS = 15
"""Macros nested deeper are left to the closures: Python 3.12 and later compile a list comprehension
into the function around it, and crash at the 21st inside of another."""

DOCUMENTS: Final = frozenset({"object", "oldObject", "params", "request", "namespaceObject"})
"""Variables that hold documents: nothing in them is anything but plain data."""

_ROUND = 50
"""The most work of a round besides the author's code: the accumulator and the added member."""
_LOOPS = {
    FoldKind.ALL: "_all({})",
    FoldKind.ANY: "_any({})",
    FoldKind.ONE: "_one({})",
    FoldKind.LIST: "[{}]",
}
"""The code of macros; the others, and those with two variables, are left to the closures, as are
maps and objects that an expression makes."""


@dataclass(frozen=True, slots=True)
class Generated:
    """A generated function: its text, and the table of what it refers to."""

    source: str
    constants: Mapping[str, Value]

    def load(self) -> Callable[[Mapping[str, Value]], Value]:
        """The function, which sees its own table, the names of `fast` and nothing else."""
        namespace: dict[str, Any] = {**NAMES, **self.constants, "__builtins__": {}}
        code: CodeType = compile(self.source, "<cel>", "exec")
        exec(code, namespace)  # noqa: S102 - the text is ours, made of no word of the expression
        function: Callable[[Mapping[str, Value]], Value] = namespace["_run"]
        return function


def generate(
    checked: Checked, environment: Environment, folded: Folded, limit: int
) -> Generated | None:
    """The code of an expression; None if none can be generated."""
    generator = Generator(checked, environment, folded)
    try:
        code = generator.visit(checked.root, {})
    except Unsupported:
        return None
    if generator.weight > limit:
        return None
    meter = f"    m = [{limit - generator.weight}]\n" if generator.metered else ""
    source = f"def _run(v):\n{meter}    return {code.text}\n"
    return Generated(source, generator.table)


class Generator(Writer):
    """Walks one expression."""

    def visit(self, expr: ast.Expr, scope: Scope) -> Code:
        if expr.id in self.folded.constants:
            return self.known(self.folded.constants[expr.id])
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise Unsupported
        name = variable_name(self.checked, expr)
        if name is None:
            visit = _VISITS.get(expr.__class__)
            if visit is None:
                raise Unsupported
            code = visit(self, expr, scope)
        else:
            code = self._variable(name, scope)
        self._depth -= 1
        return code

    def _variable(self, name: str, scope: Scope) -> Code:
        self.weight += 1
        local = scope.get(name)
        if local is not None:
            return local
        if name == "@result":
            raise Unsupported
        name = name.removeprefix(".")
        return Code(f"v[{self.constant(name)}]", document=name in DOCUMENTS)

    def select(self, expr: ast.Select, scope: Scope) -> Code:
        """`operand.field` and `has(operand.field)`."""
        if expr.test_only:
            return operators.presence(self, expr, scope)
        optional = operators.optional_path(self, expr, scope)
        if optional is not None:
            return optional.code(self)
        operand = self.visit(expr.operand, scope)
        self.weight += operators.SELECTION
        return Code(f"{operand.text}[{self.constant(expr.field)}]", document=operand.document)

    def call(self, expr: ast.Call, scope: Scope) -> Code:
        """A function or operator."""
        function, arguments = function_and_arguments(self.checked, expr)
        emit = operators.EMITTERS.get((function, len(arguments)))
        if emit is not None:
            code = emit(self, expr, arguments, scope)
            if code is not None:
                return code
        return operators.dispatched(self, expr, function, arguments, scope)

    def list_literal(self, expr: ast.ListLiteral, scope: Scope) -> Code:
        """`[…]`."""
        if expr.optional_indices:
            raise Unsupported
        self.weight += comprehension.LIST_COST
        elements = ", ".join(self.visit(element, scope).text for element in expr.elements)
        return Code(f"[{elements}]", list)


def _comprehension(writer: Generator, fold: ast.Comprehension, scope: Scope) -> Code:
    """The code of a macro; raises `Unsupported` for the closures' own."""
    shape = shape_of(fold)
    if shape is None or shape.kind not in _LOOPS or fold.iter_var2:
        raise Unsupported
    writer.weight += 3
    source = writer.visit(fold.iter_range, scope)
    first = writer.local()
    inner = {**scope, fold.iter_var: Code(first, document=source.document)}
    # What @result is called outside is not seen inside: it would be another macro's.
    inner.pop(fold.accu_var, None)
    before, writer.weight = writer.weight, _ROUND
    writer.loops += 1
    if writer.loops > _MAX_LOOPS:
        raise Unsupported
    predicate = None if shape.predicate is None else writer.visit(shape.predicate, inner).condition
    value = None if shape.value is None else writer.visit(shape.value, inner).text
    writer.loops -= 1
    weight, writer.weight = writer.weight, before
    chosen = "" if value is None or predicate is None else f" if {predicate}"
    rounds = f"for {first} in _items({source.text}, {writer.meter()}, {weight}){chosen}"
    kind = list if shape.kind is FoldKind.LIST else bool
    return Code(_LOOPS[shape.kind].format(f"{value or predicate} {rounds}"), kind)


_VISITS: Final[dict[type, Callable[[Generator, Any, Scope], Code]]] = {
    ast.Select: Generator.select,
    ast.Call: Generator.call,
    ast.ListLiteral: Generator.list_literal,
    ast.Comprehension: _comprehension,
}
