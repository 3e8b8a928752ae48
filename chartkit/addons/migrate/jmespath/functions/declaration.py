"""The table of functions, and what they ask of their arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import TEXT, TIME, Place
from chartkit.addons.migrate.jmespath.terms import Constant, Names, Stream, Term, Value, computed
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax.tree import Binary, Index
from chartkit.engine.jmespath.declaration import FunctionSpec, Type

Function = Callable[[Names, Sequence[Term]], Term]
"""The result for the names that an expression sees, and the arguments."""
Reader = Callable[[Names, Term], Expr]
"""The expression of an argument; raises `NotConvertible`."""
FUNCTIONS: Final[dict[str, Function]] = {}
"""The functions that have a form in CEL, by name."""


def declare(function: Function) -> Function:
    """Enter a function under its own name."""
    FUNCTIONS[function.__name__.strip("_")] = function
    return function


def declare_as(
    name: str, template: str, type_: str, *, change: str = "", **arguments: Reader
) -> None:
    """Enter a function as CEL says it; arguments: how each is read, in their order; change: what
    differs."""

    def function(names: Names, args: Sequence[Term]) -> Term:
        if change:
            names.note(change)
        readers = zip(arguments.items(), args, strict=True)
        given = {argument: read(names, term) for (argument, read), term in readers}
        return computed(cel.filled(template, **given), type_)

    FUNCTIONS[name] = function


@cache
def by_declaration(spec: FunctionSpec) -> Function | None:
    """Return a function of texts as its declaration has it in CEL; None where it has nothing."""
    if not spec.cel:
        return None

    def function(_names: Names, args: Sequence[Term]) -> Term:
        given = dict(zip(spec.names, map(text, args), strict=True))
        return computed(cel.filled(spec.cel, **given), _RESULTS[spec.result])

    return function


_RESULTS: Final = {"string": TEXT, "bool": "bool", "array[string]": "[]string"}


def there(term: Value) -> Place:
    """Return the place of a value that must be there for a function to have a result."""
    if term.place.is_optional and not term.strict:
        raise NotConvertible("a function of a value that may be absent")
    return term.place


def text(term: Term) -> Expr:
    """Return a term that is a text; raises `NotConvertible` for one that may be another value."""
    match term:
        case Constant(str() as value):
            return cel.literal(value)
        case Value(place) if place.type == TEXT:
            return there(term).value
        case Value(place) if place.type == TIME:
            return cel.call("string", there(term).value)
        case Value(place) if not place.is_known and place.path and place.assumed is not None:
            return there(replace(term, place=place.taken_for(TEXT))).value
    raise NotConvertible("a text is needed where the type is not known")


def text_or_field(term: Term) -> Expr:
    """Return a term that is a text, a field of unknown type among them."""
    if isinstance(term, Value):
        term = replace(term, place=term.place.taken_for(TEXT))
    return text(term)


def of_text(_names: Names, term: Term) -> Expr:
    """Return an argument that is a text."""
    return text(term)


def of_field(_names: Names, term: Term) -> Expr:
    """Return an argument that is a text, or a field of unknown type."""
    return text_or_field(term)


def constant_text(term: Term, role: str) -> str:
    """Return a text that is written in the expression; role: of it, for the reason."""
    if isinstance(term, Constant) and isinstance(term.value, str):
        return term.value
    raise NotConvertible(f"{role} that is computed")


def constant_number(term: Term, role: str) -> int:
    """Return a number that is written in the expression, without its fraction."""
    if isinstance(term, Constant) and type(term.value) in (int, float):
        return int(term.value)
    raise NotConvertible(f"{role} that is computed")


def required(term: Term, type_: Type) -> Term:
    """Return an argument that is an error where it is null, unless a function takes null."""
    if type_.classes is None:
        return term
    match term:
        case Stream():
            return term.required()
        case Value(place) if place.given == cel.TRUE:
            return replace(term, strict=True)
        case Value(Place(Index(_, Binary("-", size, back)), ()) as place) if (
            place.given == cel.compare(">=", size, back)
        ):
            # An index before the start of a list is an error in CEL, too.
            return Value(place.settled())
    return term
