"""The fast way to run an expression: one Python function made of the checked tree.

Its text consists of names that this module makes up and of what stands in its templates; every
constant and field name of the expression comes in through a table. It answers only what it is
certain of: whatever else may happen raises, and the exact closures run (`fast.UNDECIDED`).

What a call may cost is added up while the code is made, from above; a macro takes it from a meter
for all its rounds before the first. Where the meter runs out, too, the closures decide.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any, Final

from chartkit.engine.cel import ast
from chartkit.engine.cel.ast import FoldKind, shape_of
from chartkit.engine.cel.checker.checked import Checked, function_and_arguments, variable_name
from chartkit.engine.cel.declarations import Environment
from chartkit.engine.cel.interpreter import comprehension, operators
from chartkit.engine.cel.interpreter.constant_folding import Folded
from chartkit.engine.cel.interpreter.fragments import Code, Scope, Unsupported, Writer
from chartkit.engine.cel.interpreter.runtime import NAMES
from chartkit.engine.cel.values import Value

_MAX_DEPTH = 40
"""Deeper expressions are left to the closures; Python's own limit is a few times this."""
_MAX_LOOPS = 15
"""Macros nested deeper are left to the closures: Python 3.12 and later compile a list comprehension
into the function around it, and crash at the 21st inside of another."""

DOCUMENTS: Final = frozenset({"object", "oldObject", "params", "request", "namespaceObject"})
"""Variables that hold documents: nothing in them is anything but plain data."""

_ROUND = 50
"""The most work of a round besides the author's code: the accumulator and the added member."""
_LOOPS = {
    FoldKind.ALL: "_all({})",
    FoldKind.ANY: "_any({})",
    FoldKind.ONE: "_one({})",
    FoldKind.LIST: "[{}]",
}
"""The code of macros; the others, and those with two variables, are left to the closures, as are
maps and objects that an expression makes."""


@dataclass(frozen=True, slots=True)
class Generated:
    """A generated function: its text, and the table of what it refers to."""

    source: str
    constants: Mapping[str, Value]

    def load(self) -> Callable[[Mapping[str, Value]], Value]:
        """The function, which sees its own table, the names of `fast` and nothing else."""
        namespace: dict[str, Any] = {**NAMES, **self.constants, "__builtins__": {}}
        code: CodeType = compile(self.source, "<cel>", "exec")
        exec(code, namespace)  # noqa: S102 - the text is ours, made of no word of the expression
        function: Callable[[Mapping[str, Value]], Value] = namespace["_run"]
        return function


def generate(
    checked: Checked, environment: Environment, folded: Folded, limit: int
) -> Generated | None:
    """The code of an expression; None where it has none."""
    generator = Generator(checked, environment, folded)
    try:
        code = generator.visit(checked.root, {})
    except Unsupported:
        return None
    if generator.weight > limit:
        return None
    meter = f"    m = [{limit - generator.weight}]\n" if generator.metered else ""
    source = f"def _run(v):\n{meter}    return {code.text}\n"
    return Generated(source, generator.table)


class Generator(Writer):
    """Walks one expression."""

    def visit(self, expr: ast.Expr, scope: Scope) -> Code:
        if expr.id in self.folded.constants:
            return self.known(self.folded.constants[expr.id])
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise Unsupported
        name = variable_name(self.checked, expr)
        if name is None:
            visit = _VISITS.get(expr.__class__)
            if visit is None:
                raise Unsupported
            code = visit(self, expr, scope)
        else:
            code = self._variable(name, scope)
        self._depth -= 1
        return code

    def _variable(self, name: str, scope: Scope) -> Code:
        self.weight += 1
        local = scope.get(name)
        if local is not None:
            return local
        if name == "@result":
            raise Unsupported
        name = name.removeprefix(".")
        return Code(f"v[{self.constant(name)}]", document=name in DOCUMENTS)

    def select(self, expr: ast.Select, scope: Scope) -> Code:
        """`operand.field` and `has(operand.field)`."""
        if expr.test_only:
            return operators.presence(self, expr, scope)
        optional = operators.optional_path(self, expr, scope)
        if optional is not None:
            return optional.code(self)
        operand = self.visit(expr.operand, scope)
        self.weight += operators.SELECTION
        return Code(f"{operand.text}[{self.constant(expr.field)}]", document=operand.document)

    def call(self, expr: ast.Call, scope: Scope) -> Code:
        """A function or operator."""
        function, arguments = function_and_arguments(self.checked, expr)
        emit = operators.EMITTERS.get((function, len(arguments)))
        if emit is not None:
            code = emit(self, expr, arguments, scope)
            if code is not None:
                return code
        return operators.dispatched(self, expr, function, arguments, scope)

    def list_literal(self, expr: ast.ListLiteral, scope: Scope) -> Code:
        """`[…]`."""
        if expr.optional_indices:
            raise Unsupported
        self.weight += comprehension.LIST_COST
        elements = ", ".join(self.visit(element, scope).text for element in expr.elements)
        return Code(f"[{elements}]", list)


def _comprehension(writer: Generator, fold: ast.Comprehension, scope: Scope) -> Code:
    """The code of a macro; raises `Unsupported` for the closures' own."""
    shape = shape_of(fold)
    if shape is None or shape.kind not in _LOOPS or fold.iter_var2:
        raise Unsupported
    writer.weight += 3
    source = writer.visit(fold.iter_range, scope)
    first = writer.local()
    inner = {**scope, fold.iter_var: Code(first, document=source.document)}
    # What @result is called outside is not seen inside: it would be another macro's.
    inner.pop(fold.accu_var, None)
    before, writer.weight = writer.weight, _ROUND
    writer.loops += 1
    if writer.loops > _MAX_LOOPS:
        raise Unsupported
    predicate = None if shape.predicate is None else writer.visit(shape.predicate, inner).condition
    value = None if shape.value is None else writer.visit(shape.value, inner).text
    writer.loops -= 1
    weight, writer.weight = writer.weight, before
    chosen = "" if value is None or predicate is None else f" if {predicate}"
    rounds = f"for {first} in _items({source.text}, {writer.meter()}, {weight}){chosen}"
    kind = list if shape.kind is FoldKind.LIST else bool
    return Code(_LOOPS[shape.kind].format(f"{value or predicate} {rounds}"), kind)


_VISITS: Final[dict[type, Callable[[Generator, Any, Scope], Code]]] = {
    ast.Select: Generator.select,
    ast.Call: Generator.call,
    ast.ListLiteral: Generator.list_literal,
    ast.Comprehension: _comprehension,
}
