"""Walks over an expression's tree."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.engine.cel import ast


def nodes(root: ast.Expr) -> Iterator[ast.Expr]:
    """Every node of an expression, whatever its depth."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(parts(node))


def parts(node: ast.Expr) -> tuple[ast.Expr, ...]:
    """The nodes that a node is made of, in the order in which they are written."""
    match node:
        case ast.Select():
            return (node.operand,)
        case ast.Call():
            return node.args if node.target is None else (node.target, *node.args)
        case ast.ListLiteral():
            return node.elements
        case ast.MapLiteral():
            return tuple(part for entry in node.entries for part in (entry.key, entry.value))
        case ast.StructLiteral():
            return tuple(entry.value for entry in node.fields)
        case ast.Comprehension():
            loop = (node.loop_condition, node.loop_step, node.result)
            return (node.iter_range, node.accu_init, *loop)
        case ast.Literal() | ast.Ident():
            return ()


def qualified_name(expr: ast.Expr) -> str | None:
    """`a.b.c` as a text; None where it is not made of names alone."""
    parts: list[str] = []
    while isinstance(expr, ast.Select):
        if expr.test_only:
            return None
        parts.append(expr.field)
        expr = expr.operand
    if not isinstance(expr, ast.Ident):
        return None
    parts.append(expr.name)
    return ".".join(reversed(parts))
