"""The value of each part of an expression, to explain the whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from chartkit.engine.cel.ast import Call, Comprehension, Expr, Ident, MacroCall, parts
from chartkit.engine.cel.checker.checked import format_type
from chartkit.engine.cel.declarations import Environment, Example, Library, Macro, Overload
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import OFFLINE, Host
from chartkit.engine.cel.interpreter.program import Program
from chartkit.engine.cel.syntax import unparse
from chartkit.engine.cel.values import Value


@dataclass(frozen=True, slots=True)
class Part:
    """One part of an expression.

    offset: where it stands in the source, in characters; depth: how many parts it is inside of;
    error: why it has no value, None where it has one.
    """

    text: str
    offset: int
    depth: int
    value: Value
    error: CelError | None = None


def explain(
    program: Program, variables: Mapping[str, Value], host: Host = OFFLINE
) -> tuple[Part, ...]:
    """The parts that were evaluated, the whole before what it is made of; constants are left out.

    What is written twice is told once. A macro that goes through a list is one part beside what
    it goes through: what stands inside of it came to something else in each round.
    """
    return tuple(_Explanation(program, program.trace(variables, host)).parts(program.root, 0))


class _Explanation:
    """The parts of one evaluation."""

    __slots__ = ("_macros", "_told", "_trace")

    def __init__(self, program: Program, trace: Mapping[int, Value]) -> None:
        self._macros = program.checked.parsed.macro_calls
        self._trace = trace
        self._told: set[str] = set()

    def parts(self, expr: Expr, depth: int) -> Iterator[Part]:
        """The part that a node is, if it was evaluated, and those inside of it."""
        if expr.id in self._trace:
            value = self._trace[expr.id]
            text = unparse(expr, self._macros)
            if text in self._told:
                return
            self._told.add(text)
            if isinstance(value, CelError):
                yield Part(text, expr.offset, depth, None, value)
            else:
                yield Part(text, expr.offset, depth, value)
            depth += 1
        macro = self._macros.get(expr.id)
        inner = _inner(expr) if macro is None else self._written(macro)
        for each in inner:
            yield from self.parts(each, depth)

    def _written(self, macro: MacroCall) -> Iterator[Expr]:
        if macro.target is not None:
            yield macro.target
        loops = macro.args and isinstance(macro.args[0], Ident) and macro.function != "bind"
        if not loops or macro.args[0].id in self._trace:
            yield from macro.args


def _inner(expr: Expr) -> tuple[Expr, ...]:
    """The parts that have one value: not those of a macro's rounds, and no name of a field."""
    if isinstance(expr, Comprehension):
        return (expr.iter_range,)
    if isinstance(expr, Call) and expr.function == "_?._":
        return expr.args[:1]
    return parts(expr)


_OPERATORS: Final = {
    "!_": "!{}",
    "-_": "-{}",
    "@in": "{} in {}",
    "_!=_": "{} != {}",
    "_%_": "{} % {}",
    "_&&_": "{} && {}",
    "_*_": "{} * {}",
    "_+_": "{} + {}",
    "_-_": "{} - {}",
    "_/_": "{} / {}",
    "_<=_": "{} <= {}",
    "_<_": "{} < {}",
    "_==_": "{} == {}",
    "_>=_": "{} >= {}",
    "_>_": "{} > {}",
    "_?._": "{}.?{}",
    "_?_:_": "{} ? {} : {}",
    "_[?_]": "{}[?{}]",
    "_[_]": "{}[{}]",
    "_||_": "{} || {}",
}

_Declared = TypeVar("_Declared", Macro, Overload)


@dataclass(frozen=True, slots=True)
class Entry:
    """A function, operator or macro: how it is written, what it does, examples of it."""

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
    """Libraries as they are documented; those with nothing that an author writes are left out."""
    made = (Section(library.name, library.doc, tuple(_entries(library))) for library in libraries)
    return tuple(section for section in made if section.entries)


def listing(environment: Environment) -> str:
    """Every function and macro of an environment with its meaning and an example, as a text."""
    lines: list[str] = []
    for section in sections(environment.libraries):
        lines += [f"# {section.name}: {section.doc}"]
        for entry in section.entries:
            lines += [*entry.signatures, f"    {entry.doc}"]
            lines += [f"    {example.expression}" for example in entry.examples[:1]]
    return "\n".join(lines) + "\n"


def _entries(library: Library) -> Iterator[Entry]:
    for name, macros in _grouped((macro.function, macro) for macro in library.macros):
        yield _entry(name, [(macro.usage, macro) for macro in macros])
    for name, overloads in _grouped((each.function, each) for each in library.overloads):
        if _is_written(name):
            yield _entry(name, [(signature(overload), overload) for overload in overloads])


def _grouped(pairs: Iterable[tuple[str, _Declared]]) -> list[tuple[str, list[_Declared]]]:
    found: dict[str, list[_Declared]] = {}
    for name, macro in pairs:
        found.setdefault(name, []).append(macro)
    return list(found.items())


def _is_written(name: str) -> bool:
    """Return whether authors write the name; some functions are only what macros expand to."""
    return name in _OPERATORS or not ("@" in name or name.startswith("__"))


def _entry(name: str, declared: Sequence[tuple[str, Macro | Overload]]) -> Entry:
    docs = dict.fromkeys(each.doc for _, each in declared if each.doc)
    examples = {example.expression: example for _, one in declared for example in one.examples}
    signatures = tuple(text for text, _ in declared)
    return Entry(name, signatures, " ".join(docs), tuple(examples.values()))


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
