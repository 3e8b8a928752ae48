"""`proto.getExt` and `proto.hasExt`: extension fields of protobuf messages."""

from __future__ import annotations

from chartkit.engine.cel.ast import Expr, Ident, Select
from chartkit.engine.cel.declarations import Builder, Expander, Macro, macro
from chartkit.engine.cel.macros.bindings import is_namespace


def _qualified(expr: Expr) -> str | None:
    """`a.b.c` of a chain of selections from a name; None for anything else."""
    if isinstance(expr, Ident):
        return expr.name
    if isinstance(expr, Select) and not expr.test_only:
        operand = _qualified(expr.operand)
        return None if operand is None else f"{operand}.{expr.field}"
    return None


def _extension(test_only: bool) -> Expander:
    def expand(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
        if not is_namespace(target, "proto"):
            return None
        message, name = args
        field = _qualified(name) if isinstance(name, Select) else None
        if field is None:
            raise make.fail(name, "invalid extension field")
        return make.select(message, field, test_only)

    return expand


MACROS: tuple[Macro, ...] = (
    macro(
        "proto.getExt(message, extension)",
        _extension(test_only=False),
        "`proto.getExt(message, name.of.extension)`: the value of an extension field.",
    ),
    macro(
        "proto.hasExt(message, extension)",
        _extension(test_only=True),
        "`proto.hasExt(message, name.of.extension)`: whether an extension field is set.",
    ),
)
