"""The value of each part of an expression, to explain the whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from chartkit.engine.cel.ast import Call, Comprehension, Expr, Ident, MacroCall, parts
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import OFFLINE, Host
from chartkit.engine.cel.interpreter.program import Program
from chartkit.engine.cel.syntax import unparse
from chartkit.engine.cel.values import Value


@dataclass(frozen=True, slots=True)
class Part:
    """One part of an expression.

    offset: where it stands in the source, in characters; depth: how many parts it is inside of;
    error: why it has no value, None where it has one.
    """

    text: str
    offset: int
    depth: int
    value: Value
    error: CelError | None = None


def explain(
    program: Program, variables: Mapping[str, Value], host: Host = OFFLINE
) -> tuple[Part, ...]:
    """The parts that were evaluated, the whole before what it is made of; constants are left out.

    What is written twice is told once. A macro that goes through a list is one part beside what
    it goes through: what stands inside of it came to something else in each round.
    """
    return tuple(_Explanation(program, program.trace(variables, host)).parts(program.root, 0))


class _Explanation:
    """The parts of one evaluation."""

    __slots__ = ("_macros", "_told", "_trace")

    def __init__(self, program: Program, trace: Mapping[int, Value]) -> None:
        self._macros = program.checked.parsed.macro_calls
        self._trace = trace
        self._told: set[str] = set()

    def parts(self, expr: Expr, depth: int) -> Iterator[Part]:
        """The part that a node is, if it was evaluated, and those inside of it."""
        if expr.id in self._trace:
            value = self._trace[expr.id]
            text = unparse(expr, self._macros)
            if text in self._told:
                return
            self._told.add(text)
            if isinstance(value, CelError):
                yield Part(text, expr.offset, depth, None, value)
            else:
                yield Part(text, expr.offset, depth, value)
            depth += 1
        macro = self._macros.get(expr.id)
        inner = _inner(expr) if macro is None else self._written(macro)
        for each in inner:
            yield from self.parts(each, depth)

    def _written(self, macro: MacroCall) -> Iterator[Expr]:
        if macro.target is not None:
            yield macro.target
        loops = macro.args and isinstance(macro.args[0], Ident) and macro.function != "bind"
        if not loops or macro.args[0].id in self._trace:
            yield from macro.args


def _inner(expr: Expr) -> tuple[Expr, ...]:
    """The parts that have one value: not those of a macro's rounds, and no name of a field."""
    if isinstance(expr, Comprehension):
        return (expr.iter_range,)
    if isinstance(expr, Call) and expr.function == "_?._":
        return expr.args[:1]
    return parts(expr)
