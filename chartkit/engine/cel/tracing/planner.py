"""Closures of an expression's tree that compute values with their provenance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Final, TypeAlias

from chartkit.engine.cel import ast
from chartkit.engine.cel.ast import FoldKind, Shape, shape_of
from chartkit.engine.cel.checker.checked import Checked, function_and_arguments, variable_name
from chartkit.engine.cel.declarations import Environment
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.interpreter.attributes import KEY_CLASSES
from chartkit.engine.cel.interpreter.comprehension import keyed
from chartkit.engine.cel.interpreter.constant_folding import Folded
from chartkit.engine.cel.interpreter.dispatch import dispatch_for
from chartkit.engine.cel.interpreter.program import Program
from chartkit.engine.cel.library.kyverno.or_value import COMPATIBLE
from chartkit.engine.cel.library.printing import go_type
from chartkit.engine.cel.tracing import folds, junctions
from chartkit.engine.cel.tracing.calls import (
    comparison,
    comparison_with,
    function,
    negation,
    special,
    step,
)
from chartkit.engine.cel.tracing.datum import (
    NO_CAUSES,
    UNKNOWN,
    Causes,
    Datum,
    Entries,
    Extent,
    Key,
    Step,
    TraceError,
    TraceFrame,
    chain,
    child,
    listed,
    presence,
    unknown,
)
from chartkit.engine.cel.values import KeyedMap, OptionalValue, Value
from chartkit.model import FieldPath


def list_of_steps(elements: Sequence[Step], optional: frozenset[int]) -> Step:
    """`[a, ?b]`."""

    def run(frame: TraceFrame) -> Datum:
        members: list[Datum] = []
        causes: list[Causes] = []
        for index, element in enumerate(elements):
            datum = element(frame)
            if index in optional:
                causes.append(datum)
                present = _opened(datum)
                if present is None:
                    continue
                datum = present
            members.append(datum)
        return listed(members, Extent(lacking=tuple(causes)))

    return run


def map_of_steps(entries: Sequence[tuple[Step, Step, bool]]) -> Step:
    """`{a: b, ?c: d}`."""

    def run(frame: TraceFrame) -> Datum:
        values: dict[Value, Value] = {}
        members: dict[str, Datum] = {}
        causes: list[Causes] = []
        for key_step, value_step, optional in entries:
            key, datum = key_step(frame), value_step(frame)
            causes += [key, datum]
            present = _opened(datum) if optional else datum
            if present is None:
                values.pop(key.value, None)
                continue
            if key.value is UNKNOWN or present.value is UNKNOWN:
                return unknown(*causes)
            if key.value.__class__ is not str:
                values = keyed(values, key.value)
            values[key.value] = present.value
            members[str(key.value)] = present
        entries_ = None if isinstance(values, KeyedMap) else members
        return Datum(values, None, tuple(causes), entries_)

    return run


def _opened(datum: Datum) -> Datum | None:
    """Return the value in an optional; None if it is absent. Raises `TraceError`."""
    value = datum.value
    if value is UNKNOWN:
        return datum
    if value.__class__ is not OptionalValue:
        raise TraceError("cannot initialize an optional part from a value", datum)
    return datum._replace(value=value.value) if value.present else None


def opaque(parts: Sequence[Step]) -> Step:
    """The step of a value of which only the parts are known."""
    return lambda frame: unknown(*[part(frame) for part in parts])


_MOST_STEPS: Final = 30_000
"""Units of cost of one trace; longer ones tell nothing."""

Scope: TypeAlias = Mapping[str, int]
"""The variables of macros, by their places in `TraceFrame.locals`."""


class Planner:
    """Makes the closures of one expression; slots: the places that its macros need."""

    __slots__ = ("_checked", "_environment", "_folded", "slots")

    def __init__(self, checked: Checked, environment: Environment, folded: Folded) -> None:
        self._checked = checked
        self._environment = environment
        self._folded = folded
        self.slots = 0

    def plan(self, expr: ast.Expr, scope: Scope, rest: FieldPath = ()) -> Step:
        """Return the step of a node; rest: the constant keys that are selected from it."""
        if expr.id in self._folded.constants:
            datum = Datum(self._folded.constants[expr.id])
            return lambda _frame: datum
        name = variable_name(self._checked, expr)
        if name is not None:
            return self._variable(name, scope)
        return _PLANS[expr.__class__](self, expr, scope, rest)

    def _variable(self, name: str, scope: Scope) -> Step:
        slot = scope.get(name)
        if slot is not None:
            return lambda frame: frame.locals[slot]
        name = name.removeprefix(".")

        def run(frame: TraceFrame) -> Datum:
            datum = frame.roots.get(name)
            if datum is None:
                raise TraceError(f"no such attribute(s): {name}", NO_CAUSES)
            return datum

        return run

    # Selections.

    def select(self, expr: ast.Select, scope: Scope, rest: FieldPath) -> Step:
        """`operand.field` or `has(operand.field)`."""
        if expr.test_only:
            return presence(self.plan(expr.operand, scope, (expr.field, *rest)), expr.field)
        return self._chain(expr, scope, rest)

    def index(self, expr: ast.Call, scope: Scope, rest: FieldPath) -> Step:
        """`operand[key]`, `operand[?key]` or `operand.?field`."""
        if self._constant_key(expr) is not None:
            return self._chain(expr, scope, rest)
        optional = expr.function != "_[_]"
        operand = self.plan(expr.args[0], scope)
        chosen = self.plan(expr.args[1], scope)

        def run(frame: TraceFrame) -> Datum:
            base, key = operand(frame), chosen(frame)
            if key.value is UNKNOWN:
                return unknown(base, key)
            if key.value.__class__ not in KEY_CLASSES:
                raise TraceError(f"invalid qualifier type: {go_type(key.value)}", key)
            why = NO_CAUSES if key.is_constant else key
            return child(base, key.value, optional=optional, why=why)

        return run

    def _chain(
        self, expr: ast.Expr, scope: Scope, rest: FieldPath, default: Datum | None = None
    ) -> Step:
        """Return the step of the selections with constant keys that end here; default: a constant
        that an `orValue` gives for what is absent."""
        keys: list[Key] = []
        while expr.id not in self._checked.names:
            pair = self._constant_key(expr)
            if pair is None:
                break
            expr, key = pair
            keys.append(key)
        keys.reverse()
        path = (*(key for key, _ in keys), *rest)
        return chain(self.plan(expr, scope, path), keys, path, default)

    def _constant_key(self, expr: ast.Expr) -> tuple[ast.Expr, Key] | None:
        """Return the operand and the key of a selection with a constant one."""
        if isinstance(expr, ast.Select):
            return None if expr.test_only else (expr.operand, (expr.field, False))
        if not isinstance(expr, ast.Call) or expr.function not in ast.INDEXING:
            return None
        operand, chosen = expr.args
        key = self._folded.constants.get(chosen.id)
        if expr.function == "_?._" and isinstance(chosen, ast.Literal):
            key = chosen.value
        return (operand, (key, expr.function != "_[_]")) if isinstance(key, str) else None

    # Calls.

    def call(self, expr: ast.Call, scope: Scope, rest: FieldPath) -> Step:
        """A function or operator."""
        selection = _SELECTIONS.get(expr.function)
        if selection is not None:
            return selection(self, expr, scope, rest)
        name, arguments = function_and_arguments(self._checked, expr)
        if name in _DEFAULTS and arguments[1].id in self._folded.constants:
            default = Datum(self._folded.constants[arguments[1].id])
            if self._constant_key(arguments[0]) is not None:
                return self._chain(arguments[0], scope, (), default)
        steps = [self.plan(argument, scope) for argument in arguments]
        if len(steps) == 2 and name in _JUNCTIONS:
            return _JUNCTIONS[name](*steps)
        if name == "_||_":
            return junctions.disjunction(*steps, left_first=junctions.is_guard(arguments[1]))
        if name in ("_==_", "_!=_"):
            constant = self._folded.constants.get(arguments[1].id, self)
            if isinstance(constant, str | int | float | None):
                return comparison_with(steps[0], constant, equality=name == "_==_")
            return comparison(*steps, equality=name == "_==_")
        if name == "!_":
            return negation(*steps)
        ids = self._checked.overloads.get(expr.id, ())
        dispatch = dispatch_for(self._environment, name, ids).bound(arguments)
        called = function(dispatch, certain=len(ids) == 1)
        if name == "@in":
            return junctions.membership(
                lambda frame, value, members: called(frame, (value, members)), *steps
            )
        return step(special(name, called), steps)

    def conditional(self, expr: ast.Call, scope: Scope, rest: FieldPath) -> Step:
        """`condition ? yes : no`."""
        condition, yes, no = expr.args
        return junctions.choice(
            self.plan(condition, scope), self.plan(yes, scope, rest), self.plan(no, scope, rest)
        )

    # Literals.

    def list_literal(self, expr: ast.ListLiteral, scope: Scope, _rest: FieldPath) -> Step:
        """`[a, ?b]`."""
        elements = [self.plan(element, scope) for element in expr.elements]
        return list_of_steps(elements, expr.optional_indices)

    def map_literal(self, expr: ast.MapLiteral, scope: Scope, _rest: FieldPath) -> Step:
        """`{a: b, ?c: d}`."""
        return map_of_steps(
            [
                (self.plan(entry.key, scope), self.plan(entry.value, scope), entry.optional)
                for entry in expr.entries
            ]
        )

    def struct_literal(self, expr: ast.StructLiteral, scope: Scope, _rest: FieldPath) -> Step:
        """`Name{field: value}`: objects of patches, which no condition is about."""
        parts = [self.plan(entry.value, scope) for entry in expr.fields]
        return opaque(parts)

    # Macros.

    def comprehension(self, expr: ast.Comprehension, scope: Scope, _rest: FieldPath) -> Step:
        """A macro, recognised by the kind of its fold."""
        shape = shape_of(expr)
        if shape is None:
            return opaque([self.plan(expr.iter_range, scope)])
        if shape.kind is FoldKind.BIND:
            value = self.plan(expr.accu_init, scope)
            slot = self._slot()
            inner = {**scope, expr.accu_var: slot}
            return folds.bound(slot, value, self.plan(expr.result, inner))
        items = self.plan(expr.iter_range, scope)
        first, second = self._slot(), self._slot() if expr.iter_var2 else None
        inner = {**scope, expr.iter_var: first}
        if second is not None:
            inner[expr.iter_var2] = second
        return self._macro(shape, folds.Loop(items, first, second), inner)

    def _macro(self, shape: Shape, loop: folds.Loop, scope: Scope) -> Step:
        def planned(expr: ast.Expr | None) -> Step | None:
            return None if expr is None else self.plan(expr, scope)

        condition = planned(shape.predicate)
        if shape.kind in _DECIDING:
            assert condition is not None
            return _DECIDING[shape.kind](loop, condition)
        value = planned(shape.value)
        assert value is not None
        return folds.collected(loop, folds.Outcome(condition, value, planned(shape.key)))

    def _slot(self) -> int:
        self.slots += 1
        return self.slots - 1


_SELECTIONS: Final[dict[str, Callable[[Planner, ast.Call, Scope, FieldPath], Step]]] = {
    "_[_]": Planner.index,
    "_[?_]": Planner.index,
    "_?._": Planner.index,
    "_?_:_": Planner.conditional,
}
_DEFAULTS: Final = frozenset({"orValue", COMPATIBLE})
_JUNCTIONS: Final[dict[str, Callable[[Step, Step], Step]]] = {
    "_&&_": junctions.conjunction,
    "or": partial(junctions.otherwise, False),
    "orValue": partial(junctions.otherwise, True),
    COMPATIBLE: junctions.or_any_value,
}
_DECIDING: Final[dict[FoldKind, Callable[[folds.Loop, Step], Step]]] = {
    FoldKind.ALL: folds.every,
    FoldKind.ANY: folds.some,
    FoldKind.ONE: folds.single,
}
_PLANS: Final[dict[type, Callable[[Planner, Any, Scope, FieldPath], Step]]] = {
    ast.Select: Planner.select,
    ast.Call: Planner.call,
    ast.ListLiteral: Planner.list_literal,
    ast.MapLiteral: Planner.map_literal,
    ast.StructLiteral: Planner.struct_literal,
    ast.Comprehension: Planner.comprehension,
}


def causes_of(program: Program, roots: Entries, host: Host, value: Value = False) -> Causes | None:
    """Return the reads that gave an expression a value, or left it without any; None if it has
    another value, or takes too long.

    roots: the variables; host: a `RepeatHost`.
    """
    try:
        datum = traced(program, roots, host)
    except TraceError as error:
        return error.causes
    except (CelError, RecursionError):
        return None
    return datum if datum.value is value or datum.value is UNKNOWN else None


def traced(program: Program, roots: Entries, host: Host) -> Datum:
    """Return the value of an expression with its provenance; raises `CelError`."""
    step, slots = _planned(program)
    return step(TraceFrame(roots, host, _MOST_STEPS, slots))


@lru_cache(maxsize=512)
def _planned(program: Program) -> tuple[Step, int]:
    planner = Planner(program.checked, program.environment, program.folded)
    step = planner.plan(program.root, {})
    return step, planner.slots
