"""Texts with `{{ }}`: constants, a single value of any type, or texts joined.

Kyverno resolves the innermost variables first and searches what comes out anew. Here each pass
puts a placeholder in the place of a variable, which the queries around it hold as any other text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions.place import ANY_MAP, TEXT
from chartkit.addons.migrate.jmespath import Constant, Names, Term, Translator
from chartkit.addons.migrate.jmespath.embedded import (
    joined,
    placeholder,
    text_of_term,
    with_json_literals,
)
from chartkit.addons.migrate.jmespath.lists import list_of_terms
from chartkit.addons.migrate.jmespath.terms import computed, mixed
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax import build as cel
from chartkit.engine.cel.syntax.tree import Binary, Call, Literal
from chartkit.engine.context.variables.syntax import (
    ESCAPED,
    OPEN,
    Variable,
    find_variables,
    has_reference,
    has_variable,
    is_whole,
    split_text,
    unescape,
)
from chartkit.model import Json

_MAX_VARIABLES: Final = 120
"""The most variables of a text: with the texts around them they are nested 240 deep, of the 250
that CEL takes."""


def term_of(value: Json, names: Names) -> Term:
    """Return a value of a policy that may hold variables; raises `NotConvertible`."""
    if isinstance(value, str):
        return _text(value, names) if has_variable(value) else Constant(unescape(value))
    if isinstance(value, list):
        terms = [term_of(each, names) for each in value]
        if all(isinstance(term, Constant) for term in terms):
            return Constant([term.value for term in terms if isinstance(term, Constant)])
        return list_of_terms(terms)
    if isinstance(value, dict):
        members = {key: term_of(each, names) for key, each in value.items()}
        if any(has_variable(key) for key in value):
            raise NotConvertible("a variable in a key of an object")
        if all(isinstance(term, Constant) for term in members.values()):
            return Constant(value)
        return computed(
            cel.map_of(dict(zip(members, mixed(members.values()), strict=True))), ANY_MAP
        )
    return Constant(value)


def text_of(value: str, names: Names) -> str | Expr:
    """Return a message: as it is, or with variables as an expression."""
    if not has_variable(value):
        return unescape(value)
    text = text_expression(value, names)
    match text:
        case Literal(str()) | Call("string" | "json.marshal") | Binary("+", _, Literal(str())):
            return text
        case Binary("+", Literal(str())):
            return text
        case _:
            # Of a value whose type CEL does not know a text is made.
            return cel.call("string", text)


def text_expression(value: str, names: Names) -> Expr:
    """Return a text that may hold variables as an expression."""
    if not has_variable(value):
        return cel.literal(unescape(value))
    return text_of_term(_text(value, names))


def _text(text: str, names: Names) -> Term:
    if has_reference(text):
        raise NotConvertible("a reference in a text with variables")
    while variables := _variables(text):
        if any(variable.shallow for variable in variables):
            raise NotConvertible("a variable that is not searched for others")
        terms = [query_term(variable.query, names) for variable in variables]
        if is_whole(variables, text):
            return terms[0]
        text, names = _with_placeholders(text, variables, terms, names)
    if OPEN in text.replace(ESCAPED, ""):
        raise NotConvertible("braces that open a variable, and none that close it")
    return computed(joined(unescape(text), names), TEXT)


def query_term(query: str, names: Names, current: Term | None = None) -> Term:
    """Return what a query gives, variables within it as texts; current: the value of `@`."""
    return Translator(names).text(with_json_literals(query), current)


def resolved_query(query: str, names: Names, current: Term) -> Term:
    """Return what the path of a context entry, which may hold variables, finds in a value."""
    while variables := _variables(query):
        terms = [query_term(variable.query, names) for variable in variables]
        query, names = _with_placeholders(query, variables, terms, names)
    return query_term(query, names, current)


def _variables(text: str) -> Sequence[Variable]:
    variables = find_variables(text)
    if len(variables) > _MAX_VARIABLES:
        raise NotConvertible(f"a text of more than {_MAX_VARIABLES} variables")
    return variables


def _with_placeholders(
    text: str, variables: Sequence[Variable], terms: list[Term], names: Names
) -> tuple[str, Names]:
    """Return a text with placeholders for its variables, and the names that have them."""
    parts = split_text(text, variables)
    marks = [placeholder(len(names.embedded) + at) for at in range(len(terms))]
    text = "".join(each for pair in zip(parts, [*marks, ""], strict=True) for each in pair)
    return text, names.with_embedded(dict(zip(marks, terms, strict=True)))
