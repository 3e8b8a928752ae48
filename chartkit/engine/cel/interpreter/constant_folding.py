"""Constant folding: values known before any evaluation, and mistakes that prevent a program.

cel-go evaluates conversions of constants, lists and maps of constants, and looks members up in a
set, when it makes a program; a conversion that fails, or an invalid regular expression, fails
there, even in a branch that would never be taken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from chartkit.engine.cel import ast
from chartkit.engine.cel.checker.checked import (
    NO_CONSTANT,
    Checked,
    constant_named,
    function_and_arguments,
)
from chartkit.engine.cel.declarations import Environment
from chartkit.engine.cel.errors import CelCompileError, CelError, Issue
from chartkit.engine.cel.interpreter.comprehension import keyed
from chartkit.engine.cel.interpreter.dispatch import dispatch_for
from chartkit.engine.cel.library.printing import go_type
from chartkit.engine.cel.library.searching import Patterns
from chartkit.engine.cel.times import Duration, Timestamp
from chartkit.engine.cel.types import Type
from chartkit.engine.cel.values import Opaque, Uint, Value
from chartkit.go.regexp import RegexError

CONVERSIONS: Final = frozenset(
    {"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"}
)
PATTERNS: Final = frozenset({"find", "findAll"})
"""Functions whose constant pattern is compiled with the program in every environment, for another
implementation of cel-go's."""

_HASHED = frozenset({bool, int, Uint, float, str})
_INDEXING = frozenset({"_[_]", "_[?_]"})


class Folded:
    """The constants of an expression by node id, and the `in` whose list is a constant set."""

    __slots__ = ("constants", "memberships")

    def __init__(self) -> None:
        self.constants: dict[int, Value] = {}
        self.memberships: set[int] = set()


def fold(checked: Checked, environment: Environment) -> Folded:
    """Find the constants; raises `CelCompileError` where cel-go could not make the program."""
    folder = _Folder(checked, environment)
    try:
        folder.visit(checked.root)
    except (CelError, RegexError) as failure:
        raise CelCompileError(checked.source, [Issue(str(failure))]) from None
    return folder.folded


class _Folder:
    """One walk over an expression, the parts before the whole."""

    __slots__ = ("_checked", "_environment", "_optimize", "_patterns", "folded")

    def __init__(self, checked: Checked, environment: Environment) -> None:
        self._checked = checked
        self._environment = environment
        self._optimize = environment.options.fold
        self._patterns = Patterns()
        self.folded = Folded()

    def visit(self, expr: ast.Expr) -> bool:
        """Report whether the node is a constant."""
        return _VISITS[expr.__class__](self, expr)

    def _value(self, expr: ast.Expr) -> Value:
        return self.folded.constants[expr.id]

    def _settle(self, expr: ast.Expr, value: Value) -> bool:
        self.folded.constants[expr.id] = value
        return True

    def literal(self, expr: ast.Literal) -> bool:
        return self._settle(expr, expr.value)

    def named(self, expr: ast.Ident) -> bool:
        value = constant_named(self._checked, self._environment, expr)
        return value is not NO_CONSTANT and self._settle(expr, value)

    def select(self, expr: ast.Select) -> bool:
        if expr.id in self._checked.names:
            value = constant_named(self._checked, self._environment, expr)
            return value is not NO_CONSTANT and self._settle(expr, value)
        self.visit(expr.operand)
        return False

    def list_literal(self, expr: ast.ListLiteral) -> bool:
        constants = [self.visit(element) for element in expr.elements]
        if not self._optimize or expr.optional_indices or not all(constants):
            return False
        return self._settle(expr, [self._value(element) for element in expr.elements])

    def map_literal(self, expr: ast.MapLiteral) -> bool:
        constant = True
        for entry in expr.entries:
            constant = self.visit(entry.key) and constant
            constant = self.visit(entry.value) and constant and not entry.optional
        if not self._optimize or not constant:
            return False
        keys = [self._value(entry.key) for entry in expr.entries]
        if not all(key.__class__ in _HASHED for key in keys):
            return False
        made: dict[Value, Value] = {}
        for key, entry in zip(keys, expr.entries, strict=True):
            if key.__class__ is not str:
                made = keyed(made, key)
            made[key] = self._value(entry.value)
        return self._settle(expr, made)

    def struct_literal(self, expr: ast.StructLiteral) -> bool:
        for entry in expr.fields:
            self.visit(entry.value)
        return False

    def comprehension(self, expr: ast.Comprehension) -> bool:
        self.visit(expr.accu_init)
        self.visit(expr.iter_range)
        self.visit(expr.loop_condition)
        self.visit(expr.loop_step)
        self.visit(expr.result)
        return False

    def call(self, expr: ast.Call) -> bool:
        function, arguments = function_and_arguments(self._checked, expr)
        constants = [self.visit(argument) for argument in arguments]
        if self._optimize and function in CONVERSIONS and len(arguments) == 1 and constants[0]:
            args = (self._value(arguments[0]),)
            ids = self._checked.overloads.get(expr.id, ())
            overload = dispatch_for(self._environment, function, ids).find(args)
            return self._settle(expr, overload.implementation(*args))
        if function == "@in" and self._optimize and constants[1]:
            members = arguments[1]
            if self._checked.overloads.get(expr.id) != ("in_list",):
                return False
            values = self._value(members)
            if not values:
                return self._settle(expr, False)
            if isinstance(values, list) and all(value.__class__ in _HASHED for value in values):
                self.folded.memberships.add(expr.id)
            return False
        if function in _INDEXING and constants[1]:
            self._check_key(arguments[1])
        has_pattern = function in PATTERNS or (self._optimize and function == "matches")
        if has_pattern and len(constants) > 1 and constants[1]:
            pattern = self._value(arguments[1])
            if isinstance(pattern, str):
                self._patterns.read(pattern)
        return False

    def _check_key(self, expr: ast.Expr) -> None:
        key = self._value(expr)
        # The value of a variable, such as `json`, is asked for when it is read.
        read = isinstance(expr, ast.Ident | ast.Select) and key.__class__ is not Type
        opaque = isinstance(key, Opaque) and key.__class__ not in (Duration, Timestamp)
        if key.__class__ not in _HASHED and not read and not opaque:
            raise CelError(f"invalid qualifier type: {go_type(key)}")


_VISITS: Final[dict[type, Callable[[_Folder, Any], bool]]] = {
    ast.Literal: _Folder.literal,
    ast.Ident: _Folder.named,
    ast.Select: _Folder.select,
    ast.Call: _Folder.call,
    ast.ListLiteral: _Folder.list_literal,
    ast.MapLiteral: _Folder.map_literal,
    ast.StructLiteral: _Folder.struct_literal,
    ast.Comprehension: _Folder.comprehension,
}
