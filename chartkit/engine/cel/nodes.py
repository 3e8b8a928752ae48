"""Walks over an expression's tree."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.engine.cel.ast import (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Select,
    StructLiteral,
)


def nodes(root: Expr) -> Iterator[Expr]:
    """Every node of an expression, whatever its depth."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(parts(node))


def parts(node: Expr) -> tuple[Expr, ...]:
    """The nodes that a node is made of, in the order in which they are written."""
    match node:
        case Select():
            return (node.operand,)
        case Call():
            return node.args if node.target is None else (node.target, *node.args)
        case ListLiteral():
            return node.elements
        case MapLiteral():
            return tuple(part for entry in node.entries for part in (entry.key, entry.value))
        case StructLiteral():
            return tuple(entry.value for entry in node.fields)
        case Comprehension():
            loop = (node.loop_condition, node.loop_step, node.result)
            return (node.iter_range, node.accu_init, *loop)
        case Literal() | Ident():
            return ()


def qualified_name(expr: Expr) -> str | None:
    """`a.b.c` as a text; None where it is not made of names alone."""
    parts: list[str] = []
    while isinstance(expr, Select):
        if expr.test_only:
            return None
        parts.append(expr.field)
        expr = expr.operand
    if not isinstance(expr, Ident):
        return None
    parts.append(expr.name)
    return ".".join(reversed(parts))
