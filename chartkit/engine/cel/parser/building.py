"""The making of nodes: the parser's ids, and the builder that macros expand through."""

from __future__ import annotations

from dataclasses import dataclass

from chartkit.engine.cel.ast import (
    ACCUMULATOR,
    Call,
    Comprehension,
    Expr,
    FieldEntry,
    Ident,
    ListLiteral,
    Literal,
    MapEntry,
    MapLiteral,
    Select,
    StructLiteral,
)
from chartkit.engine.cel.errors import Issue


class MacroError(Exception):
    """A macro's arguments are not what it takes."""

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
class MacroBuilder:
    """Makes the nodes of one macro's expansion, all at the place of its call."""

    ids: Ids
    offset: int

    def literal(self, value: bool | int | str | None) -> Expr:
        return Literal(self.ids.take(), self.offset, value)

    def ident(self, name: str) -> Expr:
        return Ident(self.ids.take(), self.offset, name)

    def select(self, operand: Expr, field: str, test_only: bool = False) -> Expr:
        return Select(self.ids.take(), self.offset, operand, field, test_only)

    def call(self, function: str, *args: Expr) -> Expr:
        return Call(self.ids.take(), self.offset, function, None, args)

    def member_call(self, target: Expr, function: str, *args: Expr) -> Expr:
        return Call(self.ids.take(), self.offset, function, target, args)

    def list_literal(self, *elements: Expr) -> Expr:
        return ListLiteral(self.ids.take(), self.offset, elements)

    def map_literal(self, *entries: tuple[Expr, Expr]) -> Expr:
        made = (MapEntry(self.ids.take(), self.offset, key, value) for key, value in entries)
        return MapLiteral(self.ids.take(), self.offset, tuple(made))

    def comprehension(
        self,
        iter_range: Expr,
        iter_var: str,
        accu_init: Expr,
        loop_condition: Expr,
        loop_step: Expr,
        result: Expr,
        *,
        iter_var2: str = "",
        accu_var: str = ACCUMULATOR,
    ) -> Expr:
        return Comprehension(
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
        )

    def copy(self, expr: Expr) -> Expr:
        """The expression again, at its own place, with new ids."""
        fresh, at, copy = self.ids.take(), expr.offset, self.copy
        match expr:
            case Literal():
                return Literal(fresh, at, expr.value)
            case Ident():
                return Ident(fresh, at, expr.name)
            case Select():
                return Select(fresh, at, copy(expr.operand), expr.field, expr.test_only)
            case Call():
                target = None if expr.target is None else copy(expr.target)
                return Call(fresh, at, expr.function, target, tuple(map(copy, expr.args)))
            case ListLiteral():
                elements = tuple(map(copy, expr.elements))
                return ListLiteral(fresh, at, elements, expr.optional_indices)
            case MapLiteral():
                return MapLiteral(fresh, at, tuple(map(self._entry, expr.entries)))
            case StructLiteral():
                return StructLiteral(fresh, at, expr.name, tuple(map(self._field, expr.fields)))
            case Comprehension():
                return Comprehension(
                    fresh,
                    at,
                    copy(expr.iter_range),
                    expr.iter_var,
                    expr.iter_var2,
                    expr.accu_var,
                    copy(expr.accu_init),
                    copy(expr.loop_condition),
                    copy(expr.loop_step),
                    copy(expr.result),
                )

    def _entry(self, entry: MapEntry) -> MapEntry:
        fresh, key, value = self.ids.take(), self.copy(entry.key), self.copy(entry.value)
        return MapEntry(fresh, self.offset, key, value, entry.optional)

    def _field(self, entry: FieldEntry) -> FieldEntry:
        fresh, value = self.ids.take(), self.copy(entry.value)
        return FieldEntry(fresh, self.offset, entry.field, value, entry.optional)

    def fail(self, expr: Expr | None, message: str) -> MacroError:
        """The error to raise, at the place of `expr` or else of the call."""
        return MacroError(Issue(message, self.offset if expr is None else expr.offset))
