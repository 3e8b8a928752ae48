"""Calls of functions with the arguments that they want, and variables within queries and texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import TEXT, TIME
from chartkit.addons.migrate.expressions.verdict import conjunction
from chartkit.addons.migrate.jmespath.comparisons import for_each, spread
from chartkit.addons.migrate.jmespath.functions import FUNCTIONS
from chartkit.addons.migrate.jmespath.functions.declaration import (
    Function,
    by_declaration,
    required,
)
from chartkit.addons.migrate.jmespath.projections import BY_EXPRESSION
from chartkit.addons.migrate.jmespath.terms import (
    Choice,
    Constant,
    Names,
    Stream,
    Term,
    Value,
    computed,
    constant_result,
    double_of,
    is_json,
)
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.jmespath.declaration import Type
from chartkit.engine.jmespath.functions import FUNCTIONS as DECLARED
from chartkit.engine.jmespath.nodes import Kind, Node
from chartkit.go.fmt import embedded_json

if TYPE_CHECKING:
    from chartkit.addons.migrate.jmespath.translate import Translator


_OF_MEMBERS: Final = ("items", "keys", "values")
_OF_NUMBERS: Final = ("max", "min", "sum")


def called(translator: Translator, node: Node, current: Term | None) -> Term:
    """Return what a function gives; raises `NotConvertible`."""
    function = FUNCTIONS.get(node.value)
    if function is None and node.value in DECLARED:
        function = by_declaration(DECLARED[node.value])
    is_translated = function is not None or node.value in BY_EXPRESSION
    # Of arguments that are written out, or may be, the engine gives the result.
    may_be_constant = all(child.kind is not Kind.EXPREF for child in node.children)
    if node.value not in DECLARED or not (is_translated or may_be_constant):
        raise NotConvertible(f"the function {node.value} has no form in CEL yet")
    declared, given = DECLARED[node.value], len(node.children)
    least = len(declared.parameters)
    if given < least or (given > least and not declared.variadic):
        raise NotConvertible(f"the function {node.value} with a wrong number of arguments")
    if node.value in BY_EXPRESSION:
        return BY_EXPRESSION[node.value](translator, node, current)
    args = [_argument(translator, node.value, child, current) for child in node.children]
    needed = list(zip(args, declared.parameters, strict=False))
    if translator.decides:
        args[:least] = [required(term, type_) for term, type_ in needed]
        return spread(args, lambda given: _result(translator.names, node.value, function, given))
    # An error counts as null here: the result where all is there that the function needs. The
    # members of nothing are none.
    needed = [] if node.value in _OF_MEMBERS else needed
    present = conjunction(*(_is_there(term, type_) for term, type_ in needed))
    if present != cel.TRUE:
        args[:least] = [_settled(term, type_) for term, type_ in needed]
    result = spread(args, lambda given: _result(translator.names, node.value, function, given))
    if present == cel.TRUE:
        return result
    if not isinstance(result, Value):
        raise NotConvertible(f"{node.value} of a value that may be absent")
    present = conjunction(present, result.place.given)
    return Value(replace(result.place, given=present), strict=False)


def _is_there(term: Term, type_: Type) -> Expr:
    """Report whether there is a value of an argument for which a function does not take null."""
    if type_.classes is None or not isinstance(term, Value | Stream) or term.strict:
        return cel.TRUE
    return term.presence if isinstance(term, Stream) else term.place.is_present()


def _settled(term: Term, type_: Type) -> Term:
    """Return an argument as it is where it is there."""
    if _is_there(term, type_) == cel.TRUE:
        return term
    if isinstance(term, Stream):
        return term.required()
    return replace(term, place=term.place.settled()) if isinstance(term, Value) else term


def _result(names: Names, name: str, function: Function | None, args: Sequence[Term]) -> Term:
    constant = constant_result(name, args)
    if constant is not None:
        return constant
    if function is None:
        raise NotConvertible(f"the function {name} has no form in CEL yet")
    return function(names, args)


def _argument(translator: Translator, function: str, node: Node, current: Term | None) -> Term:
    if function in _OF_NUMBERS and node.kind is Kind.MULTI_SELECT_LIST:
        # Null among numbers is an error.
        numbers = [double_of(translator.node(child, current)) for child in node.children]
        return computed(cel.list_of(numbers), "[]double")
    term = translator.node(node, current)
    if isinstance(term, Value) and (term.fails or (function == "to_number" and term.strict)):
        # What is missing is null for a function.
        return translator.left(node, current, decides=True)
    return term


PLACEHOLDER: Final = r"__variable_\d+__"
_PLACEHOLDER: Final = re.compile(PLACEHOLDER)
_JSON: Final = "json:"
_JSON_LITERAL: Final = re.compile(rf"`({PLACEHOLDER})`")
_PRINTED: Final = ("int", "bool", "quantity", "int-or-string", TIME)


def placeholder(number: int) -> str:
    """Return the placeholder of a variable in a query."""
    return f"__variable_{number}__"


def with_json_literals(query: str) -> str:
    """Return a query in which variables that are literals of JSON can be read as such."""
    return _JSON_LITERAL.sub(rf'`"{_JSON}\1"`', query)


def json_literal(text: str) -> str | None:
    """Return the placeholder of a variable that is a literal of JSON."""
    return text.removeprefix(_JSON) if text.startswith(_JSON) else None


def as_json(term: Term) -> Term:
    """Return a variable that is a literal of JSON: of a text the text would be read as JSON."""
    if isinstance(term, Choice):
        return for_each(term, as_json)
    if isinstance(term, Value):
        place = term.place
        if not (place.is_list or place.is_map or place.type in ("int", "bool")):
            raise NotConvertible("a text is read as JSON")
    elif isinstance(term, Constant) and isinstance(term.value, str):
        raise NotConvertible("a text is read as JSON")
    return term


def is_embedded(text: object) -> bool:
    """Report whether a text of a query holds a variable."""
    return isinstance(text, str) and _PLACEHOLDER.search(text) is not None


def joined(text: str, names: Names) -> Expr:
    """Return a text with placeholders as the text that Kyverno makes of it."""
    parts: list[Expr] = []
    end = 0
    for match in _PLACEHOLDER.finditer(text):
        parts.append(cel.literal(text[end : match.start()]))
        parts.append(_part(names.embedded[match[0]]))
        end = match.end()
    parts = [*parts, cel.literal(text[end:])]
    return cel.concat(*(part for part in parts if part != cel.literal("")))


def _part(term: Term) -> Expr:
    """Return a term as a part of a text: of null, the word."""
    if not isinstance(term, Value) or term.strict or not term.place.is_optional:
        return text_of_term(term)
    place = term.place.taken_for(TEXT)
    if place.type == TEXT:
        return place.or_value("null")
    written = text_of_term(Value(place.settled()))
    return cel.conditional(place.is_present(), written, "null")


def text_of_term(term: Term) -> Expr:
    """Return a term as the text that it becomes among others; raises `NotConvertible`."""
    match term:
        case Constant(value) if isinstance(value, str) or is_json(value):
            return cel.literal(value if isinstance(value, str) else embedded_json(value))
        case Stream():
            return cel.call("json.marshal", term.list())
        case Choice(holds, first, second):
            return cel.conditional(holds, text_of_term(first), text_of_term(second))
        case Value(place):
            place = place.taken_for(TEXT)
            if place.type == TEXT or not place.is_known:
                return place.value
            if place.type in _PRINTED:
                return cel.call("string", place.value)
            if place.is_list or place.is_map:
                return cel.call("json.marshal", place.value)
    raise NotConvertible("a variable in a text whose type is not known")
