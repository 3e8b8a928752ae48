"""The making of nodes: the parser's ids, and the builder that macros expand through."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from chartkit.engine.cel import ast
from chartkit.engine.cel.errors import Issue


class MacroError(Exception):
    """A macro does not accept its arguments."""

    def __init__(self, issue: Issue) -> None:
        super().__init__(issue.message)
        self.issue = issue


@dataclass(slots=True)
class Ids:
    """The numbers of an expression's nodes, in the order in which they are given out."""

    following: int = 1

    def take(self) -> int:
        """A number that no other node has."""
        taken = self.following
        self.following += 1
        return taken


@dataclass(frozen=True, slots=True)
class Builder:
    """Makes the nodes of one macro's expansion, all at the place of its call; expanders need not
    take care of ids and positions."""

    ids: Ids
    offset: int

    def literal(self, value: bool | int | str | None) -> ast.Expr:
        return ast.Literal(self.ids.take(), self.offset, value)

    def ident(self, name: str) -> ast.Expr:
        return ast.Ident(self.ids.take(), self.offset, name)

    def select(self, operand: ast.Expr, field: str, test_only: bool = False) -> ast.Expr:
        return ast.Select(self.ids.take(), self.offset, operand, field, test_only)

    def call(self, function: str, *args: ast.Expr) -> ast.Expr:
        return ast.Call(self.ids.take(), self.offset, function, None, args)

    def member_call(self, target: ast.Expr, function: str, *args: ast.Expr) -> ast.Expr:
        return ast.Call(self.ids.take(), self.offset, function, target, args)

    def list_literal(self, *elements: ast.Expr) -> ast.Expr:
        return ast.ListLiteral(self.ids.take(), self.offset, elements)

    def map_literal(self, *entries: tuple[ast.Expr, ast.Expr]) -> ast.Expr:
        made = (ast.MapEntry(self.ids.take(), self.offset, key, value) for key, value in entries)
        return ast.MapLiteral(self.ids.take(), self.offset, tuple(made))

    def comprehension(
        self,
        iter_range: ast.Expr,
        iter_var: str,
        accu_init: ast.Expr,
        loop_condition: ast.Expr,
        loop_step: ast.Expr,
        result: ast.Expr,
        *,
        iter_var2: str = "",
        accu_var: str = ast.ACCUMULATOR,
        kind: ast.FoldKind | None = None,
    ) -> ast.Expr:
        return ast.Comprehension(
            self.ids.take(),
            self.offset,
            iter_range,
            iter_var,
            iter_var2,
            accu_var,
            accu_init,
            loop_condition,
            loop_step,
            result,
            kind,
        )

    def copy(self, expr: ast.Expr) -> ast.Expr:
        """The expression again, at its own place, with new ids: an expansion may need it twice."""
        copied: ast.Expr = self._copied(expr)
        return copied

    def _copied(self, part: Any) -> Any:
        """The value of a field of a node, with the nodes in it copied."""
        if isinstance(part, tuple):
            return tuple(map(self._copied, part))
        if not isinstance(part, ast.Node):
            return part
        is_entry = isinstance(part, ast.MapEntry | ast.FieldEntry)
        fresh, offset = self.ids.take(), self.offset if is_entry else part.offset
        parts = (getattr(part, field.name) for field in fields(part)[2:])
        return type(part)(fresh, offset, *map(self._copied, parts))

    def fail(self, expr: ast.Expr | None, message: str) -> MacroError:
        """The error to raise, at the place of `expr` or else of the call."""
        return MacroError(Issue(message, self.offset if expr is None else expr.offset))
