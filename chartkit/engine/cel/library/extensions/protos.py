"""`proto.hasExt` and `proto.getExt`: extension fields of protobuf messages."""

from __future__ import annotations

from typing import Final

from chartkit.engine.cel.ast import Expr, Select, qualified_name
from chartkit.engine.cel.declarations import Expander, Library, Macro, macro
from chartkit.engine.cel.library.extensions.bindings import is_namespace
from chartkit.engine.cel.parser.building import Builder


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


MACROS: tuple[Macro, ...] = (
    macro("proto.getExt(message, extension)", _extension(test_only=False)),
    macro("proto.hasExt(message, extension)", _extension(test_only=True)),
)

LIBRARY: Final = Library("cel.lib.ext.protos", macros=MACROS)
