"""The macro of a comprehension: recognised by its effect, not by its text."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from chartkit.engine.cel.ast import (
    ACCUMULATOR,
    Call,
    Comprehension,
    Expr,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
)


class ShapeKind(Enum):
    """The pattern of a comprehension."""

    ALL = auto()
    ANY = auto()
    ONE = auto()
    LIST = auto()
    MAP = auto()
    BIND = auto()
    """No loop: a name for a value."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A macro: predicate: which elements count (None for every one), and what is made of each."""

    kind: ShapeKind
    predicate: Expr | None = None
    value: Expr | None = None
    key: Expr | None = None


def shape_of(fold: Comprehension) -> Shape | None:
    """The macro; None for a fold of another kind."""
    if _is_bind(fold):
        return Shape(ShapeKind.BIND)
    if fold.accu_var != ACCUMULATOR:
        return None
    initial, step = fold.accu_init, fold.loop_step
    if not isinstance(step, Call):
        return None
    if isinstance(initial, Literal):
        value, condition = initial.value, fold.loop_condition
        collects = _accumulates(step) and _is_accumulator(fold.result)
        if step.function == "_&&_" and value is True and collects and _goes_on(condition):
            return Shape(ShapeKind.ALL, step.args[1])
        if step.function == "_||_" and value is False and collects and _stops_when_true(condition):
            return Shape(ShapeKind.ANY, step.args[1])
        if step.function == "_?_:_" and value == 0 and value.__class__ is int:
            counts = isinstance(step.args[1], Call) and step.args[1].function == "_+_"
            if counts and _is_literal(condition, True) and _compares_with_one(fold.result):
                return Shape(ShapeKind.ONE, step.args[0])
        return None
    if not _is_accumulator(fold.result) or not _is_literal(fold.loop_condition, True):
        return None
    predicate: Expr | None = None
    if step.function == "_?_:_":
        predicate, chosen, otherwise = step.args
        if not _is_accumulator(otherwise) or not isinstance(chosen, Call):
            return None
        step = chosen
    if isinstance(initial, ListLiteral) and not initial.elements:
        return _listed(step, predicate)
    if isinstance(initial, MapLiteral) and not initial.entries:
        return _mapped(step, predicate)
    return None


def _is_bind(fold: Comprehension) -> bool:
    empty = isinstance(fold.iter_range, ListLiteral) and not fold.iter_range.elements
    return empty and _is_literal(fold.loop_condition, False)


def _goes_on(condition: Expr) -> bool:
    return (
        isinstance(condition, Call)
        and condition.function == "@not_strictly_false"
        and _is_accumulator(condition.args[0])
    )


def _stops_when_true(condition: Expr) -> bool:
    if not isinstance(condition, Call) or condition.function != "@not_strictly_false":
        return False
    negated = condition.args[0]
    return (
        isinstance(negated, Call) and negated.function == "!_" and _is_accumulator(negated.args[0])
    )


def _compares_with_one(result: Expr) -> bool:
    return (
        isinstance(result, Call)
        and result.function == "_==_"
        and _is_accumulator(result.args[0])
        and _is_literal(result.args[1], 1)
    )


def _listed(step: Call, predicate: Expr | None) -> Shape | None:
    if step.function != "_+_" or not _accumulates(step):
        return None
    added = step.args[1]
    if isinstance(added, ListLiteral) and len(added.elements) == 1 and not added.optional_indices:
        return Shape(ShapeKind.LIST, predicate, added.elements[0])
    return None


def _mapped(step: Call, predicate: Expr | None) -> Shape | None:
    if step.function != "cel.@mapInsert" or not _accumulates(step):
        return None
    if len(step.args) == 3:
        return Shape(ShapeKind.MAP, predicate, step.args[2], step.args[1])
    entry = step.args[1]
    if isinstance(entry, MapLiteral) and len(entry.entries) == 1 and not entry.entries[0].optional:
        return Shape(ShapeKind.MAP, predicate, entry.entries[0].value, entry.entries[0].key)
    return None


def _accumulates(step: Call) -> bool:
    return step.target is None and len(step.args) > 1 and _is_accumulator(step.args[0])


def _is_accumulator(expr: Expr) -> bool:
    return isinstance(expr, Ident) and expr.name == ACCUMULATOR


def _is_literal(expr: Expr, value: bool | int) -> bool:
    return (
        isinstance(expr, Literal)
        and expr.value.__class__ is value.__class__
        and expr.value == value
    )
