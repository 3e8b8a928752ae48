"""`cel.bind`, a value with a name of its own in one expression; `proto.hasExt` and `proto.getExt`,
extension fields of protobuf messages."""

from __future__ import annotations

from typing import Final

from chartkit.engine.cel.ast import Expr, FoldKind, Ident, Select, qualified_name
from chartkit.engine.cel.declarations import Expander, Library, Macro, macro
from chartkit.engine.cel.parser.building import Builder

UNUSED = "#unused"
"""The variable of a comprehension that never runs; no author can write it."""


def bound(make: Builder, name: str, value: Expr, result: Expr) -> Expr:
    """`result` where `name` is `value`."""
    return make.comprehension(
        make.list_literal(),
        UNUSED,
        value,
        make.literal(False),
        make.ident(name),
        result,
        accu_var=name,
        kind=FoldKind.BIND,
    )


def is_namespace(target: Expr | None, name: str) -> bool:
    """Report whether a call is one of `name.function(…)`."""
    return isinstance(target, Ident) and target.name == name


def _bind(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    if not is_namespace(target, "cel"):
        return None
    variable, value, result = args
    if not isinstance(variable, Ident):
        raise make.fail(variable, "cel.bind() variable names must be simple identifiers")
    return bound(make, variable.name, value, result)


MACROS: tuple[Macro, ...] = (macro("cel.bind(x, value, result)", _bind),)

LIBRARY: Final = Library("cel.lib.ext.cel.bindings", macros=MACROS)


def _extension(test_only: bool) -> Expander:
    def expand(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
        if not is_namespace(target, "proto"):
            return None
        message, name = args
        field = qualified_name(name) if isinstance(name, Select) else None
        if field is None:
            raise make.fail(name, "invalid extension field")
        return make.select(message, field, test_only)

    return expand


_EXTENSIONS: Final = (
    macro("proto.getExt(message, extension)", _extension(test_only=False)),
    macro("proto.hasExt(message, extension)", _extension(test_only=True)),
)

PROTOS_LIBRARY: Final = Library("cel.lib.ext.protos", macros=_EXTENSIONS)
