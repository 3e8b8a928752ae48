"""An `Object{…}` as JSON: what its expression writes is told apart from what it reads.

In Go a list or map that an expression writes is a value of cel-go wherever it is not itself the
field of an `Object{…}`, and null is a number. No schema accepts either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from chartkit.engine.cel import ast
from chartkit.engine.cel.interpreter.program import Program
from chartkit.engine.cel.library.kyverno.json import LIST_MAKERS, makes_list
from chartkit.engine.cel.library.printing import text_of
from chartkit.engine.cel.values import OptionalValue, Struct, Value
from chartkit.engine.cel_policies.patches import apply_values
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
        self._bound: dict[int, ast.Comprehension] = {}
        for root in (self._root, *self._variables.values()):
            self._bind(root, {})

    def _bind(self, expr: ast.Expr, scope: Mapping[str, ast.Comprehension]) -> None:
        """Find the macro of each name; scope: the macros around an expression by their names."""
        if isinstance(expr, ast.Ident) and expr.name in scope:
            self._bound[id(expr)] = scope[expr.name]
        inner = scope
        if isinstance(expr, ast.Comprehension):
            names = (expr.iter_var, expr.iter_var2, expr.accu_var)
            inner = {**scope, **dict.fromkeys(names, expr)}
        for number, part in enumerate(ast.parts(expr)):
            self._bind(part, inner if number > 1 else scope)

    def object(self, value: Struct) -> Body:
        """The fields of the object; raises `CelError` for a map whose keys are not strings."""
        made = self._json(value, tuple(self._sources(self._root)), False)
        assert isinstance(made, dict)
        return made

    def _json(self, value: Value, sources: Sequence[ast.Expr], inside: bool) -> Json:
        """JSON of a value; sources: what may have made it; inside: in a list or map."""
        if isinstance(value, OptionalValue) and value.present:
            value = value.value
        if isinstance(value, Struct):
            return {
                name: apply_values.NULL if member is None else self._json(member, members, False)
                for name, member in value.fields.items()
                for members in [tuple(self._members(sources, name))]
            }
        is_map = isinstance(value, dict)
        is_made = any(map(_makes_map if is_map else makes_list, sources))
        null = apply_values.NULL if is_made else None
        calls = [source.function for source in sources if isinstance(source, ast.Call)]
        if isinstance(value, list) and not _TEXTS.isdisjoint(calls):
            return _native("[]string", value)
        if is_made and inside and isinstance(value, dict | list):
            return _native("map[ref.Val]ref.Val" if is_map else "[]ref.Val", value)
        if isinstance(value, dict):
            return {
                text: null if member is None else self._json(member, members, True)
                for text, member in ((text_of(key), value[key]) for key in value)
                for members in [tuple(self._members(sources, text))]
            }
        if isinstance(value, list):
            return [
                null if member is None else self._json(member, members, True)
                for member, members in zip(value, self._each(sources, len(value)), strict=True)
            ] or apply_values.NIL_LIST
        return apply_values.plain(value)

    def _sources(self, expr: ast.Expr) -> Iterator[ast.Expr]:
        """The expressions that may make the value of one."""
        match expr:
            case ast.Call() if expr.function in _EITHER:
                for part in ast.parts(expr)[_EITHER[expr.function] :]:
                    yield from self._sources(part)
            case ast.Call(function="_[_]", args=(operand, ast.Literal(value=str(name)))):
                yield from self._members(tuple(self._sources(operand)), name)
            case ast.Call(function="_[_]"):
                yield from self._elements(tuple(self._sources(expr.args[0])))
            case ast.Select(operand=ast.Ident(name="variables")) if expr.field in self._variables:
                yield from self._sources(self._variables[expr.field])
            case ast.Select(test_only=False):
                yield from self._members(tuple(self._sources(expr.operand)), expr.field)
            case ast.Ident() if fold := self._bound.get(id(expr)):
                if fold.kind is ast.FoldKind.BIND:
                    yield from self._sources(fold.accu_init)
                elif expr.name == (fold.iter_var2 or fold.iter_var):
                    yield from self._elements(tuple(self._sources(fold.iter_range)))
            case ast.Comprehension(kind=ast.FoldKind.BIND):
                yield from self._sources(expr.result)
            case _:
                yield expr

    def _members(self, sources: Sequence[ast.Expr], name: str) -> Iterator[ast.Expr]:
        """Yield the expressions that may make a field of objects, or a member of maps."""
        for source in sources:
            if isinstance(source, ast.StructLiteral):
                for field in source.fields:
                    if field.field == name:
                        yield from self._sources(field.value)
            elif isinstance(source, ast.MapLiteral):
                for entry in source.entries:
                    if not isinstance(entry.key, ast.Literal) or entry.key.value == name:
                        yield from self._sources(entry.value)

    def _each(self, sources: Sequence[ast.Expr], number: int) -> list[Sequence[ast.Expr]]:
        """Return, for each element of a list, the expressions that may make it."""
        match sources:
            case [
                ast.Call(function="_+_", args=(first, ast.ListLiteral(elements=last) as second))
            ] if not second.optional_indices:
                left = self._each(tuple(self._sources(first)), number - len(last))
                return [*left, *self._each((second,), len(last))]
        return [tuple(self._elements(sources))] * number

    def _elements(self, sources: Sequence[ast.Expr]) -> Iterator[ast.Expr]:
        """Yield the expressions that may make the elements of lists."""
        for source in sources:
            shape = ast.shape_of(source) if isinstance(source, ast.Comprehension) else None
            if isinstance(source, ast.ListLiteral):
                for element in source.elements:
                    yield from self._sources(element)
            elif shape is not None and shape.kind is ast.FoldKind.LIST and shape.value is not None:
                yield from self._sources(shape.value)
            elif isinstance(source, ast.Call) and source.function in (*LIST_MAKERS, "_+_"):
                lists = [inner for part in ast.parts(source) for inner in self._sources(part)]
                made = tuple(self._elements(lists))
                yield from self._elements(made) if source.function == "flatten" else made


def _makes_map(expr: ast.Expr) -> bool:
    is_fold = isinstance(expr, ast.Comprehension) and expr.kind is ast.FoldKind.MAP
    return is_fold or isinstance(expr, ast.MapLiteral)


def _native(name: str, value: Value) -> apply_values.Native:
    """A value of Go's type of this name."""
    written = apply_values.plain(value)
    return apply_values.Native(
        name,
        apply_values.go_text(written),
        name + apply_values.go_syntax(written).removeprefix(apply_values.go_type(written)),
    )
