"""Rules about Pods, which Kyverno extends to their controllers: whether both forms are extended
alike.

Kyverno wraps an `Object{…}` in the fields around a template, but leaves `Object.metadata` in it as
it is, and JSON patches too.
"""

from __future__ import annotations

from collections.abc import Iterable

from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax.tree import StructLiteral
from chartkit.migration.conversion import NotConvertible
from chartkit.migration.mutate.mutation import Mutation


def is_extended_alike(mutations: Iterable[Mutation]) -> None:
    """Raise `NotConvertible` where the extended form would not patch the template."""
    for mutation in mutations:
        applied = mutation.body.get("applyConfiguration")
        if applied is None:
            raise NotConvertible("JSON patches are not extended to controllers")
        if "metadata" in _fields(applied["expression"]):
            raise NotConvertible("metadata of Pods is not extended to controllers")


def _fields(expression: Expr) -> set[str]:
    if not isinstance(expression, StructLiteral):
        return {"metadata"}
    return {each.field for each in expression.fields}
