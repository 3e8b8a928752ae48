"""The part of an object that an expression reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from chartkit.engine.cel import ast
from chartkit.engine.cel.interpreter.program import Program
from chartkit.engine.cel.library.kyverno.or_value import COMPATIBLE
from chartkit.engine.footprint import NOTHING_READ, UnboundedError, Values

_MOST_ROUNDS: Final = 8
"""The most rounds in which the accumulator of a fold may come to hold more of the object."""

Scope = Callable[[str], Values | None]
"""Returns the values of a variable, None for a name that is none; raises `UnboundedError`."""


def read_program(program: Program, scope: Scope) -> Values:
    """Note what a program reads, and return what its value may be; raise `UnboundedError`."""
    return _Reader(program, scope).read(program.root, {})


Bound = Mapping[str, Values]


class _Reader:
    """A walk over the tree of one expression."""

    __slots__ = ("_functions", "_scope", "_variables")

    def __init__(self, program: Program, scope: Scope) -> None:
        self._functions = program.environment.functions
        self._variables = program.environment.variables
        self._scope = scope

    def read(self, node: ast.Expr, bound: Bound) -> Values:
        """Note what a node reads, and return what its value may be."""
        match node:
            case ast.Literal():
                return NOTHING_READ
            case ast.Ident():
                return self._variable(node.name, bound)
            case ast.Select():
                member = self.read(node.operand, bound).member(node.field)
                return NOTHING_READ if node.test_only else member
            case ast.Call():
                return self._call(node, bound)
            case ast.ListLiteral():
                elements = (self.read(each, bound).listed() for each in node.elements)
                return NOTHING_READ.joined(*elements)
            case ast.MapLiteral():
                for entry in node.entries:
                    self._all_of(bound, entry.key, entry.value)
                return NOTHING_READ
            case ast.StructLiteral():
                return self._all_of(bound, *(entry.value for entry in node.fields))
            case ast.Comprehension():
                return self._fold(node, bound)

    def _variable(self, name: str, bound: Bound) -> Values:
        found = bound.get(name)
        if found is None:
            found = self._scope(name)
        if found is None:
            if name in self._variables or name.startswith("."):
                raise UnboundedError(name)
            return NOTHING_READ
        return found

    def _all_of(self, bound: Bound, *parts: ast.Expr) -> Values:
        for each in parts:
            self.read(each, bound).read()
        return NOTHING_READ

    def _call(self, node: ast.Call, bound: Bound) -> Values:
        declared = self._functions.get(node.function)
        if declared is not None and any(one.hosted for one in declared.overloads):
            raise UnboundedError(node.function)
        parts = node.args if node.target is None else (node.target, *node.args)
        if node.function in ("_?._", "_[_]", "_[?_]"):
            return self._member(parts[0], parts[1], bound)
        if node.function == "_?_:_":
            condition, *branches = parts
            self._all_of(bound, condition)
            return NOTHING_READ.joined(*(self.read(each, bound) for each in branches))
        if node.function == "hasValue" or (
            node.function in ("_==_", "_!=_") and any(map(_is_null, parts))
        ):
            for each in parts:
                self.read(each, bound)
            return NOTHING_READ
        if node.function in _PASSING:
            return NOTHING_READ.joined(*(self.read(each, bound) for each in parts))
        if node.function == "_+_":
            values = [self.read(each, bound) for each in parts]
            return NOTHING_READ.joined(*(each.element().listed() for each in values))
        if node.function == "size":
            values = [self.read(each, bound) for each in parts]
            return NOTHING_READ.joined(*(each.size() for each in values))
        return self._all_of(bound, *parts)

    def _member(self, operand: ast.Expr, key: ast.Expr, bound: Bound) -> Values:
        values = self.read(operand, bound)
        if isinstance(key, ast.Literal):
            if isinstance(key.value, str):
                return values.member(key.value)
            if key.value.__class__ is int:
                return values.element()
        self._all_of(bound, key)
        return values.read()

    def _fold(self, node: ast.Comprehension, bound: Bound) -> Values:
        ranged = self.read(node.iter_range, bound)
        if node.iter_var2:
            ranged.read()
        ranged.keys()
        inner = {**bound, node.iter_var: ranged.element()}
        if node.iter_var2:
            inner[node.iter_var2] = NOTHING_READ
            inner[node.iter_var] = NOTHING_READ
        made = self.read(node.accu_init, bound)
        for _ in range(_MOST_ROUNDS):
            inner[node.accu_var] = made
            self._all_of(inner, node.loop_condition)
            step = made.joined(self.read(node.loop_step, inner))
            if step.places == made.places:
                return self.read(node.result, inner)
            made = step
        raise UnboundedError("a fold")


_PASSING: Final = frozenset(("dyn", "orValue", COMPATIBLE, "or", "value"))
"""Functions that look at nothing of what they give back."""


def _is_null(node: ast.Expr) -> bool:
    return isinstance(node, ast.Literal) and node.value is None
