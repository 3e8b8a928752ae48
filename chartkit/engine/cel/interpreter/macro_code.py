"""The code of macros: Python's own loops, with what they may cost taken beforehand."""

from __future__ import annotations

from chartkit.engine.cel.ast import Comprehension, Expr
from chartkit.engine.cel.interpreter.fragments import Code, Scope, Unsupported, Writer
from chartkit.engine.cel.interpreter.macro_patterns import Shape, ShapeKind, shape_of

_ROUND = 50
"""The most work of a round besides the author's code: the accumulator and the added member."""


def comprehension(writer: Writer, fold: Comprehension, scope: Scope) -> Code:
    """The code of a comprehension; raises `Unsupported` for one that is no known macro."""
    shape = shape_of(fold)
    if shape is None:
        raise Unsupported
    writer.weight += 3
    if shape.kind is ShapeKind.BIND:
        return _bind(writer, fold, scope)
    return _loop(writer, fold, shape, scope)


def _bind(writer: Writer, fold: Comprehension, scope: Scope) -> Code:
    value = writer.visit(fold.accu_init, scope)
    name = writer.local()
    inner = {**scope, fold.accu_var: Code(name, value.kind, document=value.document)}
    result = writer.visit(fold.result, inner)
    return Code(f"(lambda {name}: {result.text})({value.text})", result.kind)


def _loop(writer: Writer, fold: Comprehension, shape: Shape, scope: Scope) -> Code:
    source = writer.visit(fold.iter_range, scope)
    first = writer.local()
    variables = first
    inner = {**scope, fold.iter_var: Code(first, document=source.document)}
    # What @result is called outside is not seen inside: it would be another macro's.
    inner.pop(fold.accu_var, None)
    if fold.iter_var2:
        second = writer.local()
        variables = f"{first}, {second}"
        inner[fold.iter_var2] = Code(second, document=source.document)
    before, writer.weight = writer.weight, _ROUND
    writer.loops += 1
    predicate = _optional(writer, shape.predicate, inner)
    value = _optional(writer, shape.value, inner)
    key = _optional(writer, shape.key, inner)
    writer.loops -= 1
    weight, writer.weight = writer.weight, before
    through = "_pairs" if fold.iter_var2 else "_items"
    rounds = f"for {variables} in {through}({source.text}, {writer.meter()}, {weight})"
    return _shaped(shape, rounds, predicate, value, key)


def _optional(writer: Writer, expr: Expr | None, scope: Scope) -> Code | None:
    return None if expr is None else writer.visit(expr, scope)


def _shaped(
    shape: Shape, rounds: str, predicate: Code | None, value: Code | None, key: Code | None
) -> Code:
    if value is None:
        assert predicate is not None
        name = _QUESTIONS[shape.kind]
        return Code(f"{name}({predicate.condition} {rounds})", bool)
    chosen = "" if predicate is None else f" if {predicate.condition}"
    if key is None:
        return Code(f"[{value.text} {rounds}{chosen}]", list)
    return Code(f"_mapping(({key.text}, {value.text}) {rounds}{chosen})", dict)


_QUESTIONS = {ShapeKind.ALL: "_all", ShapeKind.ANY: "_any", ShapeKind.ONE: "_one"}
