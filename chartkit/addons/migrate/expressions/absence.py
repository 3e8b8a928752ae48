"""Fields that an expression reads though they may be absent: there it has no value but an error.

Kyverno's conditions and `||` of CEL treat errors differently: where that would decide, a
conversion must know.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chartkit.addons.migrate.expressions.place import Place
from chartkit.addons.migrate.expressions.presence import path_of
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax.tree import Call, Index, Select, children
from chartkit.model import FieldPath

_SETTLED: Final = frozenset(("object", "metadata", name) for name in ("name", "namespace"))
"""Fields that a conversion reads plainly only where they are there."""


def reads_absent(expression: Expr, object_: Place) -> str:
    """Return the path of a field that an expression reads and that may be absent; empty for none.

    A field that the same expression asks for as an optional, too, is one that it is careful about.
    """
    reads = list(_reads(expression))
    careful = {path for path, is_optional in reads if is_optional} | _SETTLED
    for path, is_optional in reads:
        if is_optional or path in careful or path[0] not in ("object", "oldObject"):
            continue
        place = object_
        for step in path[1:]:
            place = place.at(step) if isinstance(step, int) else place.child(step)
        if path[0] == "oldObject" or place.is_optional:
            return ".".join(map(str, path))
    return ""


def _reads(expr: Expr) -> Iterator[tuple[FieldPath, bool]]:
    """Yield the fields that are read, and whether as optionals."""
    path = _path(expr)
    if path is not None:
        is_optional = any(each.optional for each in _steps(expr))
        yield path, is_optional
        return
    if isinstance(expr, Call) and expr.function == "has" and expr.target is None:
        (asked,) = expr.args
        path = _path(asked)
        if path is not None:
            yield path, True
            return
    for part in children(expr):
        yield from _reads(part)


def _steps(expr: Expr) -> Iterator[Select | Index]:
    while isinstance(expr, Select | Index):
        yield expr
        expr = expr.operand


def _path(expr: Expr) -> FieldPath | None:
    """Return the steps of a path below a variable, None for another expression."""
    path = path_of(expr)
    return path if path is not None and len(path) > 1 else None
