"""Rules about Pods, which Kyverno extends to their controllers: whether both forms are extended
alike.

Kyverno's own extension of a MutatingPolicy wraps an `Object{…}` in the fields around a template
and replaces `object.spec` as text. It leaves `Object.metadata`, JSON patches, `object.?metadata`
and variables as they are, and counts braces in texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax.tree import FieldEntry, Literal, Select, StructLiteral, children
from chartkit.migration.rule import ConvertedRule

_METADATA = "metadata"
_UNSAFE = ("object.", "Object.", "{", "}")


def is_extended_alike(rule: ConvertedRule) -> bool:
    """Return whether Kyverno's extension of the new form says what that of the rule does."""
    conditions = [each.expression for each in (*rule.scope.conditions, *rule.conditions)]
    if rule.variables or not all(map(_is_rewritten, conditions)):
        return False
    for mutation in rule.spec["mutations"]:
        applied = mutation.get("applyConfiguration")
        if applied is None or not _is_rewritten(applied["expression"]):
            return False
        if not isinstance(applied["expression"], StructLiteral):
            return False
    return True


def _is_rewritten(expression: Expr | str) -> bool:
    if isinstance(expression, str):
        return False
    return not any(_is_left(part) for part in _parts(expression))


def _is_left(part: Expr) -> bool:
    match part:
        case Literal(str() as text):
            return any(each in text for each in _UNSAFE)
        case Select(_, field):
            return field == _METADATA
        case StructLiteral(_, fields):
            return _METADATA in map(_name, fields)
        case _:
            return False


def _name(entry: FieldEntry) -> str:
    return entry.field


def _parts(expression: Expr) -> Iterator[Expr]:
    yield expression
    parts: Iterable[Expr] = children(expression)
    for each in parts:
        yield from _parts(each)
