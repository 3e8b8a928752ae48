"""The meaning of the names of a checked expression: constants, variables, functions."""

from __future__ import annotations

from typing import Final

from chartkit.engine.cel.ast import Call, Expr, Ident, Select
from chartkit.engine.cel.checker.checked import Checked
from chartkit.engine.cel.declarations import Environment
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.types import TypeKind
from chartkit.engine.cel.values import Value

NO_CONSTANT: Final = object()


def variable_name(checked: Checked, expr: Expr) -> str | None:
    """The variable that a node is as a whole; None where it is none. A leading dot stays."""
    found = checked.names.get(expr.id)
    if found is not None and expr.__class__ in (Ident, Select):
        return found
    return expr.name if expr.__class__ is Ident else None


def constant_named(checked: Checked, environment: Environment, expr: Expr) -> Value:
    """The constant that a name stands for: a type or a library's value; else `NO_CONSTANT`.

    Raises `CelError` for a name whose value is a type, but which the environment does not know as
    one: cel-go makes no program of it, even where it is a macro's own variable.
    """
    name = variable_name(checked, expr)
    if name is None:
        return NO_CONSTANT
    declared = environment.variables.get(name.removeprefix("."))
    type_ = checked.types.get(expr.id)
    if declared is not None:
        # A comprehension's variable may have the same name; its type then differs.
        if declared.type != type_:
            return NO_CONSTANT
        if declared.has_value:
            return declared.value
    if type_ is not None and type_.kind is TypeKind.TYPE:
        raise CelError(f"reference to undefined type: {name}")
    return NO_CONSTANT


def function_and_arguments(checked: Checked, call: Call) -> tuple[str, tuple[Expr, ...]]:
    """The function's name and its arguments, the target first if it is one."""
    name = checked.names.get(call.id)
    if call.target is None:
        return name or call.function, call.args
    if name is not None:
        return name, call.args
    return call.function, (call.target, *call.args)
