"""The value of each part of an expression, to explain the whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, TypeVar, cast

from chartkit.documents.reader import parse_yaml
from chartkit.engine.cel import library
from chartkit.engine.cel.ast import (
    INDEXING,
    Call,
    Comprehension,
    Expr,
    FoldKind,
    Ident,
    Literal,
    Select,
    parts,
    qualified_name,
    shape_of,
)
from chartkit.engine.cel.checker.checked import format_type, function_and_arguments
from chartkit.engine.cel.declarations import Environment, Library, Macro, Overload
from chartkit.engine.cel.errors import CelCompileError, CelError
from chartkit.engine.cel.interpreter.frame import Trace
from chartkit.engine.cel.interpreter.program import Evaluation, Program, observed
from chartkit.engine.cel.library.kyverno.or_value import COMPATIBLE
from chartkit.engine.cel.syntax import unparse
from chartkit.engine.cel.values import OptionalValue, Value
from chartkit.model import Body, FieldPath


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an expression that was evaluated.

    offset: of its first character in the source; error: why it has no value, None if it has one;
    path: of the value in the object, None if it is made or stands elsewhere; variable: the
    policy's variable that it reads, empty for none; is_element: whether it is an element of a list
    or map that a macro goes through, whose first part is then the macro's condition; parts: what
    decided its value, in the order of the source.
    """

    text: str
    offset: int
    value: Value
    error: CelError | None = None
    path: FieldPath | None = None
    variable: str = ""
    is_element: bool = False
    parts: tuple[Part, ...] = ()


def explain(program: Program, variables: Mapping[str, Value]) -> Part:
    """Evaluate an expression, and return it with the values of its parts."""
    with observed() as evaluations, suppress(CelError):
        program.evaluate(variables)
    return parts_of(evaluations[-1], Places(variables.get("object"), {"object": ()}))


class Places:
    """The paths of values in an object.

    Lists and maps are found by their identity, however an expression got hold of them.
    """

    __slots__ = ("_known", "_root", "names")

    def __init__(self, root: Value, names: Mapping[str, FieldPath]) -> None:
        """names: the paths of variables and their members."""
        self.names = names
        self._root = root
        self._known: dict[int, FieldPath] | None = None

    def of(self, value: Value) -> FieldPath | None:
        """Return the path of a list or map of the object; None for any other value."""
        if not isinstance(value, dict | list):
            return None
        if self._known is None:
            self._known = {}
            waiting: list[tuple[FieldPath, Value]] = [((), self._root)]
            while waiting:
                path, held = waiting.pop()
                if isinstance(held, dict | list):
                    self._known[id(held)] = path
                    members = held.items() if isinstance(held, dict) else enumerate(held)
                    waiting += [((*path, key), member) for key, member in members]
        return self._known.get(id(value))


def parts_of(evaluation: Evaluation, places: Places) -> Part:
    """Return the expression of an evaluation with the values of its parts.

    Left out are constants, what was not evaluated and what is written a second time; of a chain of
    selections only its end has a part, of a macro the elements that decided.
    """
    root = evaluation.program.root
    tree = _Tree(evaluation.program, places)
    parts = tuple(tree.parts(root, evaluation.trace, {}, set()))
    if len(parts) == 1 and parts[0].offset == tree.written.start(root):
        return parts[0]
    return tree.part(root, evaluation.outcome, None, parts)


_Scope = Mapping[str, FieldPath | None]
"""The variables of macros, with the paths of their values."""

_MOST_ELEMENTS: Final = 3
_MOST_PARTS: Final = 200
_DEEPEST: Final = 40
"""Parts inside more parts than these are left out."""
_JUNCTIONS: Final = frozenset({"_&&_", "_||_"})
_SAME_PLACE: Final = frozenset({"orValue", "or", "value", "dyn", "optional.of", COMPATIBLE})


class _Written:
    """The texts of the parts of an expression, made when they are first asked for."""

    __slots__ = ("_macros", "_source", "_starts", "_texts")

    def __init__(self, program: Program) -> None:
        self._source = program.source
        self._macros = program.checked.parsed.macro_calls
        self._starts: dict[int, int] = {}
        self._texts: dict[int, str] = {}

    def text(self, expr: Expr) -> str:
        if expr.id not in self._texts:
            try:
                self._texts[expr.id] = unparse(expr, self._macros)
            except CelCompileError:
                self._texts[expr.id] = self._source
        return self._texts[expr.id]

    def start(self, expr: Expr) -> int:
        """Return the offset of a node's first character."""
        if expr.id not in self._starts:
            waiting, start = [expr], expr.offset
            while waiting:
                node = waiting.pop()
                macro = self._macros.get(node.id)
                called = node.function if isinstance(node, Call) and node.target is None else ""
                if macro is not None:
                    called = "" if macro.target is not None else macro.function
                    waiting += [] if macro.target is None else [macro.target]
                # A call has the offset of its parenthesis.
                start = min(start, node.offset - (len(called) if called.isidentifier() else 0))
                waiting += parts(node)
            self._starts[expr.id] = start
        return self._starts[expr.id]


_written: Final = lru_cache(maxsize=512)(_Written)


class _Tree:
    """The parts of one evaluation."""

    __slots__ = ("_checked", "_constants", "_depth", "_left", "_macros", "_places", "written")

    def __init__(self, program: Program, places: Places) -> None:
        self._depth = 0
        self._left = _MOST_PARTS
        self._checked = program.checked
        self._constants = program.folded.constants
        self._macros = program.checked.parsed.macro_calls
        self._places = places
        self.written = _written(program)

    def part(
        self, expr: Expr, value: Value, path: FieldPath | None, parts: tuple[Part, ...] = ()
    ) -> Part:
        error = value if isinstance(value, CelError) else None
        text, start = self.written.text(expr), self.written.start(expr)
        held = None if error is not None else value
        return Part(text, start, held, error, path, self._variable(expr), parts=parts)

    def parts(self, expr: Expr, trace: Trace, scope: _Scope, seen: set[str]) -> Iterator[Part]:
        """Yield the part of a node, or the parts inside it if it has no value of its own."""
        if expr.id in self._constants:
            return
        if expr.id not in trace:
            for inner in self._written(expr):
                yield from self.parts(inner, trace, scope, seen)
            return
        if self._left <= 0 or self._depth >= _DEEPEST:
            return
        text = self.written.text(expr)
        if text in seen:
            return
        seen.add(text)
        self._left -= 1
        self._depth += 1
        value = trace[expr.id]
        inside = tuple(self._inside(expr, trace, scope, seen))
        self._depth -= 1
        if isinstance(expr, Ident) and expr.name in scope and not isinstance(value, dict | list):
            return
        yield self.part(expr, value, self._path(expr, trace, scope), inside)

    def _inside(self, expr: Expr, trace: Trace, scope: _Scope, seen: set[str]) -> Iterator[Part]:
        if isinstance(expr, Comprehension):
            yield from self._macro(expr, trace, scope, seen)
            return
        inner: Iterable[Expr]
        if isinstance(expr, Call) and expr.function in _JUNCTIONS:
            inner = self._operands(expr, expr.function)
        elif self._is_chain(expr):
            inner = self._below(expr, isinstance(trace.get(expr.id), CelError), trace)
        else:
            inner = self._written(expr)
        for part in inner:
            yield from self.parts(part, trace, scope, seen)

    def _operands(self, expr: Expr, function: str) -> Iterator[Expr]:
        """Yield the operands of a chain of one operator."""
        if isinstance(expr, Call) and expr.function == function:
            for operand in expr.args:
                yield from self._operands(operand, function)
        else:
            yield expr

    def _below(self, expr: Expr, failed: bool, trace: Trace) -> list[Expr]:
        """Return the parts of a chain of selections that are not selections themselves; of a chain
        without value its last part that has one, too."""
        parts: list[Expr] = []
        while self._is_chain(expr) and not isinstance(expr, Ident):
            if isinstance(expr, Select):
                expr = expr.operand
            else:
                assert isinstance(expr, Call)
                parts += [key for key in expr.args[1:] if not isinstance(key, Literal)]
                expr = expr.args[0]
            if failed and not isinstance(trace.get(expr.id), CelError):
                return [expr, *parts]
        return parts if isinstance(expr, Ident) else [expr, *parts]

    def _is_chain(self, expr: Expr) -> bool:
        return isinstance(expr, Ident | Select) or (
            isinstance(expr, Call) and expr.function in INDEXING
        )

    def _written(self, expr: Expr) -> tuple[Expr, ...]:
        """Return the parts of a node as an author writes them."""
        macro = self._macros.get(expr.id)
        if macro is None:
            if isinstance(expr, Call):
                return function_and_arguments(self._checked, expr)[1]
            return parts(expr)
        return macro.args if macro.target is None else (macro.target, *macro.args)

    def _macro(
        self, expr: Comprehension, trace: Trace, scope: _Scope, seen: set[str]
    ) -> Iterator[Part]:
        shape = shape_of(expr)
        if shape is not None and shape.kind is FoldKind.BIND:
            path = self._path(expr.accu_init, trace, scope)
            yield from self.parts(expr.accu_init, trace, scope, seen)
            yield from self.parts(expr.result, trace, {**scope, expr.accu_var: path}, seen)
            return
        yield from self.parts(expr.iter_range, trace, scope, seen)
        condition = None if shape is None else shape.predicate or shape.value
        if shape is None or condition is None:
            return
        items = self._path(expr.iter_range, trace, scope)
        rounds = trace.rounds.get(expr.id, [])
        values = [current.trace.get(condition.id) for current in rounds]
        for at in _deciding(shape.kind, trace[expr.id], values)[:_MOST_ELEMENTS]:
            current = rounds[at]
            name, value, step = expr.iter_var, current.first, cast(Value, at)
            if expr.iter_var2:
                name, value, step = expr.iter_var2, current.second, current.first
            path = self._places.of(value)
            if path is None and items is not None and isinstance(step, str | int):
                path = *items, step
            inner = tuple(self.parts(condition, current.trace, {**scope, name: path}, set()))
            yield Part(name, self.written.start(condition), value, None, path, "", True, inner)

    def _variable(self, expr: Expr) -> str:
        """Return the policy's variable that a chain of selections begins with."""
        end = expr
        while self._is_chain(end) and not isinstance(end, Ident):
            expr, end = end, parts(end)[0]
        is_variable = isinstance(end, Ident) and end.name == "variables"
        return expr.field if is_variable and isinstance(expr, Select) else ""

    def _path(self, expr: Expr, trace: Trace, scope: _Scope) -> FieldPath | None:
        """The path that a node's value has, or would have."""
        value = trace.get(expr.id)
        if isinstance(value, OptionalValue):
            value = value.value if value.present else None
        direct = self._places.of(value)
        if direct is not None:
            return direct
        name = qualified_name(expr)
        if name is not None and name in self._places.names:
            return self._places.names[name]
        if isinstance(expr, Ident):
            return scope.get(expr.name)
        key: Value
        if isinstance(expr, Select):
            base, key = expr.operand, expr.field
        elif isinstance(expr, Call):
            function, arguments = function_and_arguments(self._checked, expr)
            if function in _SAME_PLACE:
                return self._path(arguments[0], trace, scope)
            if function not in INDEXING:
                return None
            base, operand = arguments
            key = operand.value if isinstance(operand, Literal) else trace.get(operand.id)
        else:
            return None
        path = self._path(base, trace, scope)
        return (*path, key) if path is not None and isinstance(key, str | int) else None


def _deciding(kind: FoldKind, value: Value, conditions: Sequence[Value]) -> list[int]:
    """Return the numbers of the rounds of a macro that decided its value: those without value if it
    has none; else the ones whose condition makes it what it is, all if none does."""
    failed = [at for at, held in enumerate(conditions) if isinstance(held, CelError)]
    if isinstance(value, CelError):
        return failed
    if kind is FoldKind.MAP or (kind is FoldKind.LIST and not value):
        return list(range(len(conditions)))
    wanted = kind is not FoldKind.ALL
    deciding = [at for at, held in enumerate(conditions) if held is wanted]
    if kind is FoldKind.LIST:
        return deciding
    return deciding or ([] if kind is FoldKind.ALL else list(range(len(conditions))))


_OPERATORS: Final = {
    **{f"_{sign}_": f"{{}} {sign} {{}}" for sign in ("!=", "&&", "<=", "==", ">=", "||")},
    **{f"_{sign}_": f"{{}} {sign} {{}}" for sign in "%*+-/<>"},
    "!_": "!{}",
    "-_": "-{}",
    "@in": "{} in {}",
    "_?_:_": "{} ? {} : {}",
    "_?._": "{}.?{}",
    "_[?_]": "{}[?{}]",
    "_[_]": "{}[{}]",
}

_Declared = TypeVar("_Declared", Macro, Overload)


@dataclass(frozen=True, slots=True)
class Example:
    """An expression and the CEL literal (or, with `error`, the message) that it comes to.

    An example whose expected value is not an expression compares `string` texts in the expression.
    """

    expression: str
    expected: str
    error: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """A function, operator or macro: its notation, its meaning and examples."""

    name: str
    signatures: tuple[str, ...]
    doc: str
    examples: tuple[Example, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """The contents of one library."""

    name: str
    doc: str
    entries: tuple[Entry, ...]


def sections(libraries: Iterable[Library]) -> tuple[Section, ...]:
    """Libraries as they are documented; those without anything for authors are left out."""
    made = map(_section, libraries)
    return tuple(section for section in made if section.entries)


@cache
def _documentation() -> Mapping[str, Body]:
    """The sections of every `functions.yaml` by their names."""
    files = sorted(Path(library.__file__).parent.glob("*/functions.yaml"))
    texts = (file.read_text("utf-8") for file in files)
    return {name: body for text in texts for name, body in parse_yaml(text).items()}


def _section(library: Library) -> Section:
    documented = _documentation().get(library.documented or library.name, {})
    entry_documented = documented.get("functions", {})
    map_entries: list[Entry] = []
    for name, macros in _grouped((macro.function, macro) for macro in library.macros):
        texts = [entry_documented.get(macro.usage, {}) for macro in macros]
        map_entries.append(_entry(name, [macro.usage for macro in macros], texts))
    for name, overloads in _grouped((item.function, item) for item in library.overloads):
        # Some functions are only what macros expand to.
        if name in _OPERATORS or not ("@" in name or name.startswith("__")):
            texts = [_text_of(overload, entry_documented) for overload in overloads]
            map_entries.append(_entry(name, [signature(overload) for overload in overloads], texts))
    entries = tuple(map_entries)
    return Section(library.name, documented.get("doc", ""), entries)


def listing(environment: Environment) -> str:
    """Every function and macro of an environment with its meaning and an example, as a text."""
    lines: list[str] = []
    for section in sections(environment.libraries):
        lines += [f"# {section.name}: {section.doc}"]
        for entry in section.entries:
            lines += [*entry.signatures, f"    {entry.doc}"]
            lines += [f"    {example.expression}" for example in entry.examples[:1]]
    return "\n".join(lines) + "\n"


def _grouped(pairs: Iterable[tuple[str, _Declared]]) -> list[tuple[str, list[_Declared]]]:
    groups: dict[str, list[_Declared]] = {}
    for name, declared in pairs:
        groups.setdefault(name, []).append(declared)
    return list(groups.items())


def _text_of(overload: Overload, documented: Body) -> Body:
    newer = overload.newer or overload
    text: Body = documented.get(newer.id, {})
    if newer is overload:
        return text
    dot = "." if newer.member else ""
    name, older = f"{dot}{newer.function}(", f"{dot}{overload.function}("
    doc = f"The older name of `{newer.function}`."
    return {"doc": doc, "examples": text.get("examples", "").replace(name, older)}


def _entry(name: str, signatures: Sequence[str], texts: Sequence[Body]) -> Entry:
    docs = dict.fromkeys(text["doc"] for text in texts if "doc" in text)
    written = dict.fromkeys("".join(text.get("examples", "") for text in texts).splitlines())
    return Entry(name, tuple(signatures), " ".join(docs), tuple(map(example_of, written)))


def example_of(text: str) -> Example:
    """The example of `expression  // value` or `expression  // error: message`."""
    expression, _, expected = text.rpartition("  // ")
    message = expected.removeprefix("error: ")
    return Example(expression, message, error=message != expected)


def signature(overload: Overload) -> str:
    """Return a call with the types of its parts: `string.charAt(int) -> string`."""
    texts = [format_type(parameter) for parameter in overload.parameters]
    if overload.function in _OPERATORS:
        call = _OPERATORS[overload.function].format(*texts)
    elif overload.member:
        call = f"{texts[0]}.{overload.function}({', '.join(texts[1:])})"
    else:
        call = f"{overload.function}({', '.join(texts)})"
    return f"{call} -> {format_type(overload.returns)}"
