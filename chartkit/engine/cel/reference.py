"""The contents of an environment: each function and macro with its meaning and examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from chartkit.engine.cel.checker.formatting import format_type
from chartkit.engine.cel.declarations import Environment, Example, Library, Macro, Overload

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
    made = (Section(each.name, each.doc, tuple(_entries(each))) for each in libraries)
    return tuple(section for section in made if section.entries)


def listing(environment: Environment) -> str:
    """Every function and macro of an environment with its meaning and an example, as a text."""
    lines: list[str] = []
    for section in sections(environment.libraries):
        lines += [f"# {section.name}: {section.doc}"]
        for entry in section.entries:
            lines += [*entry.signatures, f"    {entry.doc}"]
            lines += [f"    {each.expression}" for each in entry.examples[:1]]
    return "\n".join(lines) + "\n"


def _entries(library: Library) -> Iterator[Entry]:
    for name, macros in _grouped((macro.function, macro) for macro in library.macros):
        yield _entry(name, [(macro.usage, macro) for macro in macros])
    for name, overloads in _grouped((each.function, each) for each in library.overloads):
        if _is_written(name):
            yield _entry(name, [(signature(each), each) for each in overloads])


def _grouped(pairs: Iterable[tuple[str, _Declared]]) -> list[tuple[str, list[_Declared]]]:
    found: dict[str, list[_Declared]] = {}
    for name, each in pairs:
        found.setdefault(name, []).append(each)
    return list(found.items())


def _is_written(name: str) -> bool:
    """Return whether authors write the name; some functions are only what macros expand to."""
    return name in _OPERATORS or not ("@" in name or name.startswith("__"))


def _entry(name: str, declared: Sequence[tuple[str, Macro | Overload]]) -> Entry:
    docs = dict.fromkeys(each.doc for _, each in declared if each.doc)
    examples = {each.expression: each for _, one in declared for each in one.examples}
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
