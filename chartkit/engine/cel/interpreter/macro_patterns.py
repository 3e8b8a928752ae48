"""The parts of a macro that goes through a list or map."""

from __future__ import annotations

from dataclasses import dataclass

from chartkit.engine.cel.ast import Call, Comprehension, Expr, FoldKind, ListLiteral, MapLiteral


@dataclass(frozen=True, slots=True)
class Shape:
    """A macro: predicate: which elements count (None for every one), and what is made of each."""

    kind: FoldKind
    predicate: Expr | None = None
    value: Expr | None = None
    key: Expr | None = None


def shape_of(fold: Comprehension) -> Shape | None:
    """The macro; None for a fold of another kind."""
    kind, step = fold.kind, fold.loop_step
    if kind is FoldKind.BIND:
        return Shape(kind)
    if kind is None or not isinstance(step, Call):
        return None
    if kind in (FoldKind.ALL, FoldKind.ANY):
        return Shape(kind, step.args[1])
    if kind is FoldKind.ONE:
        return Shape(kind, step.args[0])
    predicate: Expr | None = None
    if step.function == "_?_:_":
        predicate, step, _ = step.args
        assert isinstance(step, Call)
    if len(step.args) == 3:
        return Shape(kind, predicate, step.args[2], step.args[1])
    made = step.args[1]
    if isinstance(made, ListLiteral):
        return Shape(kind, predicate, made.elements[0])
    if isinstance(made, MapLiteral) and len(made.entries) == 1 and not made.entries[0].optional:
        return Shape(kind, predicate, made.entries[0].value, made.entries[0].key)
    return None
