"""From the text of an expression, or the parser's tree of it, to the tree that its author wrote."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from chartkit.engine.cel import ast
from chartkit.engine.cel.declarations import Environment
from chartkit.engine.cel.errors import CelCompileError, Issue
from chartkit.engine.cel.parser.entry import parse
from chartkit.engine.cel.parser.parser import TooDeepError
from chartkit.engine.cel.syntax import tree
from chartkit.engine.cel.syntax.comments import attach, comments_of
from chartkit.engine.cel.syntax.tree import Expr

_BINARY = {f"_{sign}_": sign for sign in ("==", "!=", "<", "<=", ">", ">=", *"+-*/%")}
_BINARY["@in"] = "in"
_CHAINS = {"_&&_": "&&", "_||_": "||"}
_UNARY = {"!_": "!", "-_": "-"}
_INDICES = {"_[_]": False, "_[?_]": True}
_NO_MACROS: Mapping[int, ast.MacroCall] = MappingProxyType({})


def read(source: str, environment: Environment) -> Expr:
    """Return the tree of a text, with its comments.

    environment: its macros are checked for their arguments. Raises `CelCompileError`.
    """
    parsed = parse(source, environment)
    with nesting_limit(source):
        expr = from_parser(parsed.root, parsed.macro_calls)
        comments = comments_of(source)
        return attach(expr, comments) if comments else expr


@contextmanager
def nesting_limit(source: str = "") -> Iterator[None]:
    """Raise `CelCompileError`, in the parser's words, where a tree nests too deep for Python."""
    try:
        yield
    except RecursionError:
        message = f"ERROR: <input>:-1:0: {TooDeepError()}"
        raise CelCompileError(source, [Issue(message)]) from None


def from_parser(root: ast.Expr, macro_calls: Mapping[int, ast.MacroCall] = _NO_MACROS) -> Expr:
    """Return the author's tree for one of the parser's; macro_calls: of `Parsed`.

    A comprehension that is not a macro becomes a call of `fold`, which is not CEL.
    """
    return _Reading(macro_calls).expr(root)


class _Reading:
    def __init__(self, macro_calls: Mapping[int, ast.MacroCall]) -> None:
        self._macro_calls = macro_calls

    def expr(self, node: ast.Expr) -> Expr:
        macro = self._macro_calls.get(node.id)
        if macro is not None:
            return self._call(macro.function, macro.target, macro.args)
        match node:
            case ast.Call():
                return self._operation(node)
            case ast.Literal():
                return tree.Literal(node.value)
            case ast.Ident():
                return tree.Ident(node.name)
            case ast.Select():
                selection = tree.Select(self.expr(node.operand), node.field)
                return tree.Call("has", None, (selection,)) if node.test_only else selection
            case ast.ListLiteral():
                return tree.ListLiteral(tuple(map(self.expr, node.elements)), node.optional_indices)
            case ast.MapLiteral():
                return tree.MapLiteral(tuple(map(self._entry, node.entries)))
            case ast.StructLiteral():
                return tree.StructLiteral(node.name, tuple(map(self._field, node.fields)))
            case ast.Comprehension():
                variables = (node.iter_var, *filter(None, (node.iter_var2,)), node.accu_var)
                parts = (node.accu_init, node.loop_condition, node.loop_step, node.result)
                names = map(tree.Ident, variables)
                return tree.Call(
                    "fold", None, (self.expr(node.iter_range), *names, *map(self.expr, parts))
                )

    def _call(self, function: str, target: ast.Expr | None, args: tuple[ast.Expr, ...]) -> Expr:
        receiver = None if target is None else self.expr(target)
        return tree.Call(function, receiver, tuple(map(self.expr, args)))

    def _operation(self, node: ast.Call) -> Expr:
        function = node.function
        if function == "_?._" and isinstance(node.args[1], ast.Literal):
            return tree.Select(self.expr(node.args[0]), str(node.args[1].value), optional=True)
        if function in _BINARY:
            return tree.Binary(_BINARY[function], *map(self.expr, node.args))
        if function in _CHAINS:
            return tree.chain(_CHAINS[function], tuple(map(self.expr, node.args)))
        if function in _UNARY:
            return tree.Unary(_UNARY[function], self.expr(node.args[0]))
        if function in _INDICES:
            return tree.Index(self.expr(node.args[0]), self.expr(node.args[1]), _INDICES[function])
        if function == "_?_:_":
            return tree.Conditional(*map(self.expr, node.args))
        return self._call(function, node.target, node.args)

    def _entry(self, entry: ast.MapEntry) -> tree.MapEntry:
        return tree.MapEntry(self.expr(entry.key), self.expr(entry.value), entry.optional)

    def _field(self, entry: ast.FieldEntry) -> tree.FieldEntry:
        return tree.FieldEntry(entry.field, self.expr(entry.value), entry.optional)
