"""The type of every node, from the leaves up, with the complaints of cel-go in its order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from chartkit.engine.cel import ast
from chartkit.engine.cel.ast import qualified_name
from chartkit.engine.cel.checker.checked import (
    UndefinedField,
    format_call,
    format_type,
    message_name,
    type_name,
)
from chartkit.engine.cel.checker.overloads import (
    Scopes,
    Signatures,
    Tables,
    resolve_overloads,
)
from chartkit.engine.cel.checker.unification import Variables, check_size, most_general
from chartkit.engine.cel.errors import Issue
from chartkit.engine.cel.types import (
    BOOL,
    DYN,
    ERROR,
    INT,
    Type,
    TypeKind,
    list_of,
    map_of,
    optional_of,
    struct,
)
from chartkit.engine.cel.values import type_of
from chartkit.suggestions import nearest

OPTIONAL_SELECT = "_?._"
FORMAT = "format"
_UNKNOWN_RANGES = frozenset({TypeKind.DYN, TypeKind.ERROR, TypeKind.PARAMETER})


class Visitor:
    """Walks one expression; the results are its attributes.

    literals: the list and map literals outside of `format(...)`; calls: those of functions whose
    literal arguments can be judged before anything runs. Both are for the validators, inner ones
    first.
    """

    def __init__(self, tables: Tables, watched: frozenset[str]) -> None:
        self._tables = tables
        self._scopes = Scopes(tables)
        self._watched = watched
        self._formats = 0
        self.variables = Variables()
        self.types: dict[int, Type] = {}
        self.overloads: dict[int, tuple[str, ...]] = {}
        self.names: dict[int, str] = {}
        self.issues: list[Issue] = []
        self.literals: list[ast.ListLiteral | ast.MapLiteral] = []
        self.calls: list[ast.Call] = []

    def visit(self, expr: ast.Expr) -> Type:
        """The type of the node, which is filed under its id."""
        type_ = _VISITS[expr.__class__](self, expr)
        self.types[expr.id] = type_
        return type_

    def _complain(self, offset: int, message: str) -> None:
        self.issues.append(Issue(message, offset))

    def _undeclared(self, expr: ast.Expr, name: str) -> Type:
        self._complain(expr.offset, f"undeclared reference to '{name}' (in container '')")
        return ERROR

    def _mismatch(self, expr: ast.Expr, expected: Type, actual: Type) -> None:
        self._complain(
            expr.offset,
            f"expected type '{format_type(expected)}' but found '{format_type(actual)}'",
        )

    def _ident(self, expr: ast.Ident) -> Type:
        variable = self._scopes.find(expr.name)
        if variable is None:
            return self._undeclared(expr, expr.name)
        self.names[expr.id], type_ = variable
        return type_

    def _select(self, expr: ast.Select) -> Type:
        variable = self._scopes.find_qualified(expr)
        if variable is not None:
            self.names[expr.id], type_ = variable
            return type_
        selected = self._select_field(expr, expr.operand, expr.field, optional=False)
        return BOOL if expr.test_only else self.variables.resolve(selected)

    def _select_field(
        self, expr: ast.Select | ast.Call, operand: ast.Expr, field: str, *, optional: bool
    ) -> Type:
        """Return the type of a value's field; of an optional value, an optional."""
        target, present = _unwrapped(self.variables.resolve(self.visit(operand)))
        if target.kind is TypeKind.MAP:
            selected = target.parameters[1]
        elif target.kind is TypeKind.STRUCT:
            selected = self._field_type(expr.offset, target.name, field)
        else:
            selected = DYN
            if target.kind is TypeKind.PARAMETER:
                self.variables.assign(DYN, target)
            elif not target.is_dynamic and target.kind is not TypeKind.ERROR:
                self._complain(
                    expr.offset,
                    f"type '{format_type(target)}' does not support field selection",
                )
        return optional_of(selected) if optional or present else selected

    def _field_type(self, offset: int, name: str, field: str) -> Type:
        declared = self._tables.environment.find_struct(name)
        if declared is None:
            problem = f"unexpected failed resolution of '{name}'"
            if name in self._tables.environment.variables:
                problem = f"undefined field '{field}'"
            self._complain(offset, problem)
            return ERROR
        if declared.fields is None:
            return DYN
        type_ = declared.fields.get(field)
        if type_ is None:
            near = nearest(field, declared.fields, 1)
            self.issues.append(
                UndefinedField(
                    f"undefined field '{field}'", offset, name, field, near[0] if near else None
                )
            )
            return ERROR
        return type_

    def _call(self, expr: ast.Call) -> Type:
        function = expr.function.removeprefix(".")
        if function == OPTIONAL_SELECT:
            operand, field = expr.args
            name = field.value if isinstance(field, ast.Literal) else None
            if not isinstance(name, str):
                raise TypeError("the field of an optional selection is a text")
            selected = self._select_field(expr, operand, name, optional=True)
            self.overloads[expr.id] = ("select_optional_field",)
            return self.variables.resolve(selected)
        if function not in self._watched:
            return self._resolve_call(expr)
        self._formats += function == FORMAT
        type_ = self._resolve_call(expr)
        self._formats -= function == FORMAT
        self.calls.append(replace(expr, function=function))
        return type_

    def _resolve_call(self, expr: ast.Call) -> Type:
        visits, types = _VISITS, self.types
        arguments = []
        for argument in expr.args:
            types[argument.id] = type_ = visits[argument.__class__](self, argument)
            arguments.append(type_)
        functions, name = self._tables.functions, expr.function
        if expr.target is None:
            signatures = functions.get(name) or functions.get(name.removeprefix("."))
            if signatures is None:
                return self._undeclared(expr, name)
            if signatures.name != name:
                self.names[expr.id] = signatures.name
            return self._overloads_of(expr, signatures, False, arguments)
        prefix = qualified_name(expr.target)
        if prefix is not None:
            signatures = functions.get(f"{prefix}.{name}".removeprefix("."))
            if signatures is not None:
                self.names[expr.id] = signatures.name
                return self._overloads_of(expr, signatures, False, arguments)
        arguments.insert(0, self.visit(expr.target))
        signatures = functions.get(name)
        if signatures is None:
            return self._undeclared(expr, name)
        return self._overloads_of(expr, signatures, True, arguments)

    def _overloads_of(
        self, expr: ast.Call, signatures: Signatures, member: bool, arguments: list[Type]
    ) -> Type:
        if signatures.name in ("_&&_", "_||_"):
            # `&&` and `||`: what is wrong with an operand is said at the operand.
            right = True
            for operand, type_ in zip(expr.args, arguments, strict=True):
                if not self.variables.assign(type_, BOOL):
                    self._mismatch(operand, BOOL, type_)
                    right = False
            if right:
                self.overloads[expr.id] = (signatures.globals[0].overload.id,)
            return BOOL if right else ERROR
        resolution = resolve_overloads(signatures, member, tuple(arguments), self.variables)
        if not resolution.ids:
            shown = format_call([self.variables.close(argument) for argument in arguments], member)
            self._complain(
                expr.offset,
                f"found no matching overload for '{signatures.name}' applied to '{shown}'",
            )
            return ERROR
        self.overloads[expr.id] = resolution.ids
        return resolution.returns

    def _list(self, expr: ast.ListLiteral) -> Type:
        element: Type | None = None
        for position, member in enumerate(expr.elements):
            type_ = self.visit(member)
            if position in expr.optional_indices:
                type_ = self._unwrap_entry(member, type_)
            element = self._joined(element, type_)
        if not self._formats:
            self.literals.append(expr)
        return list_of(element or self.variables.make())

    def _map(self, expr: ast.MapLiteral) -> Type:
        key: Type | None = None
        value: Type | None = None
        for entry in expr.entries:
            key = self._joined(key, self.visit(entry.key))
            type_ = self.visit(entry.value)
            if entry.optional:
                type_ = self._unwrap_entry(entry.value, type_)
            value = self._joined(value, type_)
        if not self._formats:
            self.literals.append(expr)
        # Both variables are made, in this order, for an empty map.
        type_ = map_of(key or self.variables.make(), value or self.variables.make())
        check_size(type_)
        return type_

    def _unwrap_entry(self, expr: ast.Expr, given: Type) -> Type:
        """Return the type of an entry after `?`; only optionals may follow it."""
        inner, optional = _unwrapped(given)
        if not optional and not inner.is_dynamic:
            self._mismatch(expr, optional_of(inner), inner)
        return inner

    def _joined(self, before: Type | None, given: Type) -> Type:
        """The type of the members of a literal so far; mixed ones are dyn."""
        if before is None or before is given:
            return given
        if self.variables.assign(before, given):
            return most_general(before, given)
        return DYN

    def _struct(self, expr: ast.StructLiteral) -> Type:
        name, type_ = self._literal_of(expr)
        if name is None:
            return self._undeclared(expr, expr.name)
        for entry in expr.fields:
            given = self.visit(entry.value)
            wanted = self._field_type(entry.offset, name, entry.field)
            if entry.optional:
                given = self._unwrap_entry(entry.value, given)
            if not self.variables.assign(wanted, given):
                self._complain(
                    entry.offset,
                    f"expected type of field '{entry.field}' is '{format_type(wanted)}' "
                    f"but provided type is '{format_type(given)}'",
                )
        return type_

    def _literal_of(self, expr: ast.StructLiteral) -> tuple[str | None, Type]:
        """The name under which the fields are looked up, and the type of the literal."""
        name = expr.name.removeprefix(".")
        variable = self._tables.environment.variables.get(name)
        if variable is not None and variable.type.kind is TypeKind.TYPE:
            type_ = variable.type.parameters[0]
        else:
            declared = self._tables.environment.find_struct(name)
            if declared is None:
                return None, ERROR
            type_ = declared.literal_type or struct(name)
        self.names[expr.id] = name
        message = message_name(type_)
        if message is not None:
            return message, type_
        self._complain(expr.offset, f"'{type_name(type_)}' is not a message type")
        return name, ERROR

    def _comprehension(self, expr: ast.Comprehension) -> Type:
        over = self.visit(expr.iter_range)
        accumulated = self.visit(expr.accu_init)
        # The types of one or two variables that run over a list or a map
        type_over = self.variables.resolve(over)
        if type_over.kind is TypeKind.LIST:
            element = type_over.parameters[0]
            first, second = (INT, element) if expr.iter_var2 else (element, element)
        elif type_over.kind is TypeKind.MAP:
            first, second = type_over.parameters[0], type_over.parameters[1]
        elif type_over.kind in _UNKNOWN_RANGES:
            self.variables.assign(DYN, type_over)
            first, second = DYN, DYN
        else:
            self._complain(
                expr.iter_range.offset,
                f"expression of type '{format_type(type_over)}' cannot be range of a comprehension "
                "(must be list, map, or dynamic)",
            )
            first, second = ERROR, ERROR
        self._scopes.enter({expr.accu_var: accumulated})
        names = {expr.iter_var: first}
        if expr.iter_var2:
            names.setdefault(expr.iter_var2, second)
        self._scopes.enter(names)
        self._assert(expr.loop_condition, BOOL)
        self._assert(expr.loop_step, accumulated)
        self._scopes.leave()
        type_ = self.visit(expr.result)
        self._scopes.leave()
        return self.variables.resolve(type_)

    def _assert(self, expr: ast.Expr, expected: Type) -> None:
        given = self.visit(expr)
        if not self.variables.assign(expected, given):
            self._mismatch(expr, expected, given)


def _unwrapped(value: Type) -> tuple[Type, bool]:
    """Return the type inside an optional, and whether the value is one."""
    if value.kind is TypeKind.OPAQUE and value.name == "optional_type":
        return value.parameters[0], True
    return value, False


_VISITS: dict[type, Callable[[Visitor, Any], Type]] = {
    ast.Literal: lambda _visitor, expr: type_of(expr.value),
    ast.Ident: Visitor._ident,
    ast.Select: Visitor._select,
    ast.Call: Visitor._call,
    ast.ListLiteral: Visitor._list,
    ast.MapLiteral: Visitor._map,
    ast.StructLiteral: Visitor._struct,
    ast.Comprehension: Visitor._comprehension,
}
