"""The exact way to run an expression: a closure for each node, as cel-go's interpreter has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from chartkit.engine.cel import ast
from chartkit.engine.cel.checker.checked import Checked, function_and_arguments, variable_name
from chartkit.engine.cel.declarations import Environment
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.interpreter import comprehension
from chartkit.engine.cel.interpreter.attributes import (
    Attribute,
    Choice,
    Qualifier,
    Selectable,
    evaluated,
    resolved,
)
from chartkit.engine.cel.interpreter.comprehension import (
    COMPARING,
    call,
    counted,
    differs,
    equals,
    matching,
    membership,
)
from chartkit.engine.cel.interpreter.constant_folding import PATTERNS, Folded
from chartkit.engine.cel.interpreter.dispatch import dispatch_for
from chartkit.engine.cel.interpreter.frame import Frame, Round, Step, absorbed, released
from chartkit.engine.cel.library.membership import Members
from chartkit.engine.cel.values import OptionalValue, Value, same


def junction(decisive: bool, left: Step, right: Step) -> Step:
    """`left && right`: false (decisive) where either is, even where the other fails; or
    `left || right`: true where either is."""
    neutral = not decisive

    def run(frame: Frame) -> Value:
        error = None
        try:
            value = left(frame)
            if value is decisive:
                return decisive
            if value is not neutral:
                error = CelError("no such overload")
        except CelError as failure:
            error = absorbed(failure, frame)
        try:
            value = right(frame)
            if value is decisive:
                return decisive
            if value is not neutral:
                raise error or CelError("no such overload")
            if error is not None:
                raise error
        except CelError as failure:
            if error is None:
                raise
            # The first error is the one that is reported.
            released(failure)
            raise error from None
        finally:
            # An error refers to this frame by its traceback: without it both are freed at once.
            error = None
        return neutral

    return run


def not_strictly_false(argument: Step) -> Step:
    """False for false alone: a loop goes on past errors."""

    def run(frame: Frame) -> Value:
        frame.cost += 1
        try:
            return argument(frame) is not False
        except CelError as failure:
            absorbed(failure, frame)
            return True

    return run


def otherwise(unwraps: bool, left: Step, right: Step) -> Step:
    """`left.or(right)`: the first optional value that is there; right is not run for nothing. Or
    `left.orValue(right)`: what is in it (unwraps)."""

    def run(frame: Frame) -> Value:
        value = left(frame)
        if value.__class__ is not OptionalValue:
            raise CelError("no such overload")
        if not value.present:
            return right(frame)
        return value.value if unwraps else value

    return run


@dataclass(frozen=True, slots=True)
class Local:
    """A variable of a comprehension.

    read: the step that gives its value; fresh: it is the accumulator of a macro that started as an
    empty list or map, which nothing else refers to.
    """

    read: Step
    fresh: bool = False


Scope = Mapping[str, Local]

_KEYS = (str, int, float, bool)


class Planner:
    """Makes the closures of one expression; traced: they note the value of each part in the
    frame's `Trace`."""

    __slots__ = ("_checked", "_environment", "_folded", "_traced", "slots")

    def __init__(
        self, checked: Checked, environment: Environment, folded: Folded, traced: bool = False
    ) -> None:
        self._checked = checked
        self._environment = environment
        self._folded = folded
        self._traced = traced
        self.slots = 0

    def plan(self, expr: ast.Expr, scope: Scope) -> Step:
        """The step that evaluates a node."""
        if expr.id in self._folded.constants:
            value = self._folded.constants[expr.id]
            return lambda _frame: value
        selectable = self._selectable(expr, scope)
        if selectable is not None:
            step: Step = evaluated(selectable)
        else:
            step = _PLANS[expr.__class__](self, expr, scope)
        return _traced(expr.id, step) if self._traced else step

    # Variables and selections.

    def _selectable(self, expr: ast.Expr, scope: Scope) -> Selectable | None:
        if expr.id in self._folded.constants:
            return None
        name = variable_name(self._checked, expr)
        if name is not None:
            read = _variable(name, scope)
            return Attribute(expr.id, _traced(expr.id, read) if self._traced else read)
        if expr.__class__ is ast.Select:
            if expr.test_only:
                return None
            assert isinstance(expr, ast.Select)
            operand = self._operand(expr.operand, scope)
            return operand.select(Qualifier(expr.id, expr.field, None, False))
        if expr.__class__ is ast.Call:
            plan = _SELECTIONS.get(expr.function)
            return None if plan is None else plan(self, expr, scope)
        return None

    def _operand(self, expr: ast.Expr, scope: Scope) -> Selectable:
        selectable = self._selectable(expr, scope)
        return Attribute(expr.id, self.plan(expr, scope)) if selectable is None else selectable

    def index(self, expr: ast.Call, scope: Scope) -> Selectable:
        """`operand[key]`, `operand[?key]` and `operand.?field`."""
        qualifier = self._qualifier(expr, scope, expr.function != "_[_]")
        return self._operand(expr.args[0], scope).select(qualifier)

    def conditional(self, expr: ast.Call, scope: Scope) -> Selectable:
        """`condition ? yes : no`."""
        condition, yes, no = expr.args
        return Choice(
            expr.id,
            self.plan(condition, scope),
            self._operand(yes, scope),
            self._operand(no, scope),
        )

    def _qualifier(self, expr: ast.Call, scope: Scope, optional: bool) -> Qualifier:
        key = expr.args[1]
        if expr.function == "_?._" and isinstance(key, ast.Literal):
            return Qualifier(expr.id, key.value, None, optional)
        if key.id in self._folded.constants:
            value = self._folded.constants[key.id]
            if isinstance(value, _KEYS):
                return Qualifier(expr.id, value, None, optional)
        selectable = self._selectable(key, scope)
        computed = self.plan(key, scope) if selectable is None else resolved(selectable)
        return Qualifier(expr.id, None, computed, optional)

    def select(self, expr: ast.Select, scope: Scope) -> Step:
        """`has(operand.field)`; every other selection is an attribute."""
        operand = self._operand(expr.operand, scope)
        return operand.select(Qualifier(expr.id, expr.field, None, False)).present

    # Everything else.

    def call(self, expr: ast.Call, scope: Scope) -> Step:
        """A function or operator."""
        function, arguments = function_and_arguments(self._checked, expr)
        special = _SPECIAL.get(function)
        if special is not None and len(arguments) == special[0]:
            return special[1](*[self.plan(argument, scope) for argument in arguments])
        ids = self._checked.overloads.get(expr.id, ())
        lazy = _LAZY.get(function)
        if lazy is not None and len(arguments) == 2 and (len(ids) != 1 or ids[0] == lazy[0]):
            return lazy[1](*[self.plan(argument, scope) for argument in arguments])
        if expr.id in self._folded.memberships:
            members = self._folded.constants[arguments[1].id]
            return _membership(self.plan(arguments[0], scope), members)
        in_place = self._in_place(function, arguments, scope)
        if in_place is not None:
            return in_place
        steps = tuple([self.plan(argument, scope) for argument in arguments])
        if function == "matches" and self._environment.options.fold:
            pattern = self._folded.constants.get(arguments[1].id)
            if isinstance(pattern, str):
                return matching(steps[0], pattern)
        dispatch = dispatch_for(self._environment, function, ids).bound(arguments)
        if function in PATTERNS and isinstance(self._folded.constants.get(arguments[1].id), str):
            dispatch = dispatch.silent()
        if len(ids) == 1 and function in COMPARING:
            steps = (*steps[:-1], counted(steps[-1]))
        if function == "@in":
            return membership(dispatch, steps[0], steps[1], certain=len(ids) == 1)
        return call(dispatch, steps, certain=len(ids) == 1)

    def _in_place(
        self, function: str, arguments: tuple[ast.Expr, ...], scope: Scope
    ) -> Step | None:
        """The step of a macro that extends its own list or map."""
        if not arguments or not isinstance(arguments[0], ast.Ident):
            return None
        local = scope.get(arguments[0].name)
        if local is None or not local.fresh:
            return None
        if function == "_+_" and isinstance(arguments[1], ast.ListLiteral):
            if arguments[1].optional_indices:
                return None
            elements = [self.plan(element, scope) for element in arguments[1].elements]
            return comprehension.appended(local.read, tuple(elements))
        if function == "cel.@mapInsert":
            more = [self.plan(argument, scope) for argument in arguments[1:]]
            if len(more) == 1:
                return comprehension.merged(local.read, more[0])
            return comprehension.inserted(local.read, *more)
        return None

    def list_literal(self, expr: ast.ListLiteral, scope: Scope) -> Step:
        """`[…]`."""
        elements = [self.plan(element, scope) for element in expr.elements]
        return comprehension.list_of_steps(elements, expr.optional_indices)

    def map_literal(self, expr: ast.MapLiteral, scope: Scope) -> Step:
        """`{…}`."""
        return comprehension.map_of_steps(
            [
                (self.plan(entry.key, scope), self.plan(entry.value, scope), entry.optional)
                for entry in expr.entries
            ]
        )

    def struct_literal(self, expr: ast.StructLiteral, scope: Scope) -> Step:
        """`Name{…}`."""
        name = self._checked.names.get(expr.id, expr.name).removeprefix(".")
        declared = self._environment.find_struct(name)
        construct = None if declared is None else declared.construct
        if construct is None:

            def run(_frame: Frame) -> Value:
                raise CelError(f"unknown type '{name}'")

            return run
        fields = [
            (entry.field, self.plan(entry.value, scope), entry.optional) for entry in expr.fields
        ]
        return comprehension.struct_of_steps(fields, construct)

    def comprehension(self, expr: ast.Comprehension, scope: Scope) -> Step:
        """A fold; its variables are seen in it alone."""
        iter_range = self.plan(expr.iter_range, scope)
        empty = None if expr.kind is None else _EMPTY.get(expr.kind)
        slot, first = self._slot(), self._slot()
        second = self._slot() if expr.iter_var2 else None
        initial = empty or self.plan(expr.accu_init, scope)
        accumulator = Local(comprehension.accumulated(slot, initial), bool(empty))
        outer = {**scope, expr.accu_var: accumulator}
        inner = {**outer, expr.iter_var: Local(_slot_reader(first))}
        if second is not None:
            inner[expr.iter_var2] = Local(_slot_reader(second))
        inner[expr.accu_var] = accumulator
        condition = expr.loop_condition
        is_endless = isinstance(condition, ast.Literal) and condition.value is True
        step = self.plan(expr.loop_step, inner)
        return comprehension.Fold(
            iter_range,
            slot,
            first,
            second,
            None if is_endless else self.plan(condition, inner),
            _round(expr.id, first, second, step) if self._traced else step,
            self.plan(expr.result, outer),
        ).run

    def _slot(self) -> int:
        self.slots += 1
        return self.slots - 1


def _variable(name: str, scope: Scope) -> Step:
    local = scope.get(name)
    if local is not None:
        return local.read
    name = name.removeprefix(".")

    def run(frame: Frame) -> Value:
        try:
            return frame.variables[name]
        except KeyError:
            raise CelError(f"no such attribute(s): {name}") from None

    return run


def _slot_reader(slot: int) -> Step:
    return lambda frame: frame.slots[slot]


def _membership(argument: Step, values: Value) -> Step:
    assert isinstance(values, list)
    members = Members(values)
    if members.hashed:
        return lambda frame: members.has(argument(frame))

    def run(frame: Frame) -> Value:
        value = argument(frame)
        frame.work(len(values))
        return any(same(value, member) for member in values)

    return run


def _traced(node: int, step: Step) -> Step:
    def run(frame: Frame) -> Value:
        assert frame.trace is not None
        try:
            value = step(frame)
        except CelError as failure:
            frame.trace[node] = failure
            raise
        frame.trace[node] = value
        return value

    return run


def _round(loop: int, first: int, second: int | None, step: Step) -> Step:
    def run(frame: Frame) -> Value:
        outer = frame.trace
        assert outer is not None
        inner = frame.trace = outer.inner()
        try:
            return step(frame)
        finally:
            frame.trace = outer
            other = None if second is None else frame.slots[second]
            outer.add_round(loop, Round(frame.slots[first], other, inner))

    return run


_EMPTY: Final[dict[ast.FoldKind, Step]] = {
    ast.FoldKind.LIST: lambda _frame: [],
    ast.FoldKind.MAP: lambda _frame: {},
}
_SELECTIONS: Final[dict[str, Callable[[Planner, Any, Scope], Selectable]]] = {
    "_[_]": Planner.index,
    "_[?_]": Planner.index,
    "_?._": Planner.index,
    "_?_:_": Planner.conditional,
}
_SPECIAL: Final[dict[str, tuple[int, Callable[..., Step]]]] = {
    "_&&_": (2, partial(junction, False)),
    "_||_": (2, partial(junction, True)),
    "_==_": (2, equals),
    "_!=_": (2, differs),
    "@not_strictly_false": (1, not_strictly_false),
}
_LAZY: Final[dict[str, tuple[str, Callable[..., Step]]]] = {
    "or": ("optional_or_optional", partial(otherwise, False)),
    "orValue": ("optional_orValue_value", partial(otherwise, True)),
}
_PLANS: Final[dict[type, Callable[[Planner, Any, Scope], Step]]] = {
    ast.Select: Planner.select,
    ast.Call: Planner.call,
    ast.ListLiteral: Planner.list_literal,
    ast.MapLiteral: Planner.map_literal,
    ast.StructLiteral: Planner.struct_literal,
    ast.Comprehension: Planner.comprehension,
}
