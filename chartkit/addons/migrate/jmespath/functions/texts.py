"""Functions of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as replaced
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.differences import ASCII_CASE, PARENT_FOLDERS
from chartkit.addons.migrate.expressions.place import QUANTITY, SIZE, TEXT, Place
from chartkit.addons.migrate.jmespath.environment import Names
from chartkit.addons.migrate.jmespath.functions.declaration import (
    FUNCTIONS,
    constant_number,
    constant_text,
    declare,
    if_there,
    text,
    text_or_field,
    there,
)
from chartkit.addons.migrate.jmespath.terms import Constant, Stream, Term, Value, computed
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax import build as cel
from chartkit.engine.cel.syntax.tree import Call, ListLiteral
from chartkit.go.regexp import quote_meta

_PRINTED: Final = ("int", "bool", QUANTITY, "int-or-string")
_BOOLEANS: Final = cel.map_of({"true": True, "false": False})


def _cases(name: str, method: str) -> None:
    def function(names: Names, args: Sequence[Term]) -> Term:
        names.note(ASCII_CASE)
        return computed(cel.method(text(args[0]), method), TEXT)

    FUNCTIONS[name] = function


def _tests(name: str, method: str) -> None:
    def function(_names: Names, args: Sequence[Term]) -> Term:
        first, second = args
        if not isinstance(first, Value):
            return computed(cel.method(text(first), method, text(second)), "bool")
        searched = text_or_field(replaced(first, strict=True))
        return if_there(first, cel.method(searched, method, text(second)))

    FUNCTIONS[name] = function


_cases("to_upper", "upperAscii")
_cases("to_lower", "lowerAscii")
_tests("starts_with", "startsWith")
_tests("ends_with", "endsWith")


@declare
def split(_names: Names, args: Sequence[Term]) -> Term:
    """The parts of a text between separators."""
    whole, separator = args
    parts = cel.method(text(whole), "split", text(separator))
    return Value(Place(parts, (), "[]string"))


@declare
def join(_names: Names, args: Sequence[Term]) -> Term:
    """Texts with a separator between them."""
    separator, parts = args
    match parts:
        case Value(Place(ListLiteral(elements))) if elements:
            glued = [part for each in elements for part in (text(separator), _undyned(each))]
            return computed(cel.concat(*glued[1:]), TEXT)
        case Stream() if parts.item.type == TEXT:
            return computed(cel.method(parts.required().list(), "join", text(separator)), TEXT)
        case Value(place) if place.type == "[]string":
            return computed(cel.method(there(parts).value, "join", text(separator)), TEXT)
    raise NotConvertible("join of values that may be no texts")


def _undyned(expr: Expr) -> Expr:
    """Return an expression without the `dyn` that lists of several types need."""
    match expr:
        case Call("dyn", None, (inner,)):
            return inner
    return expr


@declare
def replace(_names: Names, args: Sequence[Term]) -> Term:
    """A text with so many occurrences of another replaced, all of them for less than none."""
    whole, old, new, most = args
    count = max(-1, constant_number(most, "a number of replacements"))
    arguments = (text(old), text(new), *((count,) if count >= 0 else ()))
    return computed(cel.method(text(whole), "replace", *arguments), TEXT)


@declare
def replace_all(_names: Names, args: Sequence[Term]) -> Term:
    """A text with another replaced wherever it is."""
    whole, old, new = map(text, args)
    return computed(cel.method(whole, "replace", old, new), TEXT)


@declare
def trim(_names: Names, args: Sequence[Term]) -> Term:
    """A text without characters at both ends."""
    whole, characters = args
    written = constant_text(characters, "the characters that are trimmed")
    if not written:
        return computed(text(whole), TEXT)
    ends = "|".join(map(quote_meta, dict.fromkeys(written)))
    return computed(cel.call("regex.replace", text(whole), f"^({ends})+|({ends})+$", ""), TEXT)


@declare
def trim_prefix(_names: Names, args: Sequence[Term]) -> Term:
    """A text without another at its start, where it has it."""
    whole, prefix = args
    written = constant_text(prefix, "a prefix")
    start = f"^{quote_meta(written)}"
    return computed(cel.call("regex.replace", text(whole), start, ""), TEXT)


@declare
def path_canonicalize(names: Names, args: Sequence[Term]) -> Term:
    """A path without `.` and doubled slashes."""
    names.note(PARENT_FOLDERS)
    path = text_or_field(args[0])
    is_absolute = cel.method(path, "startsWith", "/")
    root = cel.conditional(is_absolute, "/", "")
    parts = cel.method(path, "findAll", "[^/]+")
    kept = cel.macro(parts, "filter", "part", cel.not_equal(cel.ident("part"), "."))
    return computed(cel.concat(root, cel.method(kept, "join", "/")), TEXT)


@declare
def truncate(_names: Names, args: Sequence[Term]) -> Term:
    """The first characters of a text."""
    whole, length = args
    most, value = max(0, constant_number(length, "a length")), text(whole)
    is_longer = cel.compare(">", cel.method(value, "size"), most)
    return computed(
        cel.conditional(is_longer, cel.method(value, "substring", 0, most), value), TEXT
    )


@declare
def to_boolean(_names: Names, args: Sequence[Term]) -> Term:
    """The boolean that a text stands for in any case of letters; of another, an error."""
    return computed(cel.index(_BOOLEANS, cel.method(text(args[0]), "lowerAscii")), "bool")


@declare
def equal_fold(_names: Names, args: Sequence[Term]) -> Term:
    """Return whether two texts are equal but for the case of letters; one must be written out."""
    first, second = args
    known, other = (first, second) if isinstance(first, Constant) else (second, first)
    written = quote_meta(constant_text(known, "the other text of equal_fold"))
    return computed(cel.method(text(other), "matches", f"(?is)^{written}$"), "bool")


@declare
def to_string(_names: Names, args: Sequence[Term]) -> Term:
    """A text as it is, a number as its text."""
    (term,) = args
    if isinstance(term, Value) and term.place.type == "double":
        # Read as a size, every way of writing a number is the same.
        return replaced(term, place=replaced(term.place, type="quantity"))
    if isinstance(term, Value) and term.place.type in (TEXT, SIZE):
        return term
    if isinstance(term, Value) and term.place.type in _PRINTED:
        return computed(cel.call("string", there(term).value), TEXT)
    raise NotConvertible("to_string of a value whose type is not known")
