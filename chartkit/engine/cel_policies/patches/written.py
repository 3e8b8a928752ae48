"""An `Object{…}` as JSON: what its expression writes is told apart from what it reads.

In Go a list or map that an expression writes is a value of cel-go wherever it is not itself the
field of an `Object{…}`, and null is a number. No schema accepts either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from chartkit.engine.cel.ast import (
    Call,
    Comprehension,
    Expr,
    FoldKind,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Select,
    StructLiteral,
    nodes,
    parts,
    shape_of,
)
from chartkit.engine.cel.interpreter.program import Program
from chartkit.engine.cel.library.kyverno.json import LIST_MAKERS, makes_list
from chartkit.engine.cel.library.printing import text_of
from chartkit.engine.cel.values import OptionalValue, Struct, Value
from chartkit.engine.cel_policies.patches.apply_values import (
    NIL_LIST,
    NULL,
    Native,
    go_syntax,
    go_text,
    go_type,
    plain,
)
from chartkit.model import Body, Json

_EITHER: Final = {"_?_:_": 1, "dyn": 0, "orValue": 0, "optional.of": 0}
"""The functions that give one of their arguments, and the first of these."""
_TEXTS: Final = frozenset({"split", "findAll"})
"""The functions whose lists are Go's own lists of strings."""


class Written:
    """An expression of an `Object{…}`, with the variables that it may name."""

    def __init__(self, program: Program, variables: Mapping[str, Program]) -> None:
        self._root = program.root
        self._variables = {name: variable.root for name, variable in variables.items()}
        roots = (self._root, *self._variables.values())
        folds = [node for one in roots for node in nodes(one) if isinstance(node, Comprehension)]
        binds = [fold for fold in folds if fold.kind is FoldKind.BIND]
        self._bound = {fold.accu_var: fold.accu_init for fold in binds}
        self._ranges = {fold.iter_var: fold.iter_range for fold in folds}

    def object(self, value: Struct) -> Body:
        """The fields of the object; raises `CelError` for a map whose keys are not strings."""
        made = self._json(value, tuple(self._sources(self._root)), False)
        assert isinstance(made, dict)
        return made

    def _json(self, value: Value, sources: Sequence[Expr], inside: bool) -> Json:
        """JSON of a value; sources: what may have made it; inside: in a list or map."""
        if isinstance(value, OptionalValue) and value.present:
            value = value.value
        if isinstance(value, Struct):
            return {
                name: NULL if member is None else self._json(member, members, False)
                for name, member in value.fields.items()
                for members in [tuple(self._members(sources, name))]
            }
        is_map = isinstance(value, dict)
        is_made = any(map(_makes_map if is_map else makes_list, sources))
        if isinstance(value, list) and any(map(_makes_texts, sources)):
            return _native("[]string", value)
        if is_made and inside and isinstance(value, dict | list):
            return _native("map[ref.Val]ref.Val" if is_map else "[]ref.Val", value)
        if isinstance(value, dict):
            return {
                text: NULL if is_made and member is None else self._json(member, members, True)
                for text, member in ((text_of(key), value[key]) for key in value)
                for members in [tuple(self._members(sources, text))]
            }
        if isinstance(value, list):
            return [
                NULL if is_made and member is None else self._json(member, members, True)
                for member, members in zip(value, self._each(sources, len(value)), strict=True)
            ] or NIL_LIST
        return plain(value)

    def _sources(self, expr: Expr) -> Iterator[Expr]:
        """The expressions that may make the value of one."""
        match expr:
            case Call() if expr.function in _EITHER:
                for part in parts(expr)[_EITHER[expr.function] :]:
                    yield from self._sources(part)
            case Call(function="_[_]", args=(operand, Literal(value=str(name)))):
                yield from self._members(tuple(self._sources(operand)), name)
            case Call(function="_[_]"):
                yield from self._elements(tuple(self._sources(expr.args[0])))
            case Select(operand=Ident(name="variables")) if expr.field in self._variables:
                yield from self._sources(self._variables[expr.field])
            case Select(test_only=False):
                yield from self._members(tuple(self._sources(expr.operand)), expr.field)
            case Ident() if expr.name in self._bound:
                yield from self._sources(self._bound[expr.name])
            case Ident() if expr.name in self._ranges:
                yield from self._elements(tuple(self._sources(self._ranges[expr.name])))
            case Comprehension(kind=FoldKind.BIND):
                yield from self._sources(expr.result)
            case _:
                yield expr

    def _members(self, sources: Sequence[Expr], name: str) -> Iterator[Expr]:
        """What may make a field of objects, or the member of maps."""
        for source in sources:
            if isinstance(source, StructLiteral):
                for field in source.fields:
                    if field.field == name:
                        yield from self._sources(field.value)
            elif isinstance(source, MapLiteral):
                for entry in source.entries:
                    if not isinstance(entry.key, Literal) or entry.key.value == name:
                        yield from self._sources(entry.value)

    def _each(self, sources: Sequence[Expr], number: int) -> list[Sequence[Expr]]:
        """What may make each element of a list."""
        match sources:
            case [Call(function="_+_", args=(first, ListLiteral(elements=last) as second))] if (
                not second.optional_indices
            ):
                left = self._each(tuple(self._sources(first)), number - len(last))
                return [*left, *self._each((second,), len(last))]
        return [tuple(self._elements(sources))] * number

    def _elements(self, sources: Sequence[Expr]) -> Iterator[Expr]:
        """What may make the elements of lists."""
        for source in sources:
            shape = shape_of(source) if isinstance(source, Comprehension) else None
            if isinstance(source, ListLiteral):
                for element in source.elements:
                    yield from self._sources(element)
            elif shape is not None and shape.kind is FoldKind.LIST and shape.value is not None:
                yield from self._sources(shape.value)
            elif isinstance(source, Call) and source.function in (*LIST_MAKERS, "_+_"):
                lists = [one for part in parts(source) for one in self._sources(part)]
                made = tuple(self._elements(lists))
                yield from self._elements(made) if source.function == "flatten" else made


def _makes_map(expr: Expr) -> bool:
    is_fold = isinstance(expr, Comprehension) and expr.kind is FoldKind.MAP
    return is_fold or isinstance(expr, MapLiteral)


def _makes_texts(expr: Expr) -> bool:
    return isinstance(expr, Call) and expr.function in _TEXTS


def _native(name: str, value: Value) -> Native:
    """A value of Go's type of this name."""
    written = plain(value)
    return Native(name, go_text(written), name + go_syntax(written).removeprefix(go_type(written)))
