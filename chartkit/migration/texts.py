"""Texts with `{{ }}`: constants, a single value of any type, or texts joined."""

from __future__ import annotations

from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax import build as cel
from chartkit.engine.context.variables.syntax import (
    ESCAPED,
    OPEN,
    find_variables,
    has_variable,
    is_whole,
    split_text,
    unescape,
)
from chartkit.migration.conversion import NotConvertible
from chartkit.migration.jmespath import Constant, Names, Term, Translator, Value
from chartkit.migration.jmespath.terms import computed
from chartkit.migration.place import TEXT
from chartkit.model import Json


def term_of(value: Json, names: Names) -> Term:
    """Return a value of a policy that may hold variables; raises `NotConvertible`."""
    if isinstance(value, str) and has_variable(value):
        variables = find_variables(value)
        if any("{{" in variable.query for variable in variables) or "$(" in value:
            raise NotConvertible("a variable inside of a variable")
        if is_whole(variables, value):
            return Translator(names).text(variables[0].query)
        return computed(_joined(value, names), TEXT)
    if isinstance(value, str):
        return Constant(unescape(value))
    if isinstance(value, list):
        terms = [term_of(each, names) for each in value]
        if all(isinstance(term, Constant) for term in terms):
            return Constant([term.value for term in terms if isinstance(term, Constant)])
        raise NotConvertible("a list with variables")
    if isinstance(value, dict):
        if "{{" in str(value):
            raise NotConvertible("an object with variables")
        return Constant(value)
    return Constant(value)


def text_of(value: str, names: Names) -> str | Expr:
    """Return a message: as it is, or with variables as an expression."""
    if not has_variable(value):
        return unescape(value)
    return _joined(value, names)


def _joined(value: str, names: Names) -> Expr:
    variables = find_variables(value)
    literals = split_text(value, variables)
    parts: list[Expr] = []
    for literal, variable in zip(literals, [*variables, None], strict=True):
        if OPEN in literal.replace(ESCAPED, ""):
            raise NotConvertible("a variable inside of a variable")
        if literal:
            parts.append(cel.literal(unescape(literal)))
        if variable is not None:
            parts.append(_as_text(Translator(names).text(variable.query)))
    # Alone, a value whose type CEL does not know must be made a text.
    return cel.concat(*parts) if len(parts) > 1 else cel.call("string", parts[0])


def _as_text(term: Term) -> Expr:
    match term:
        case Constant(str() as text):
            return cel.literal(text)
        case Value(place) if place.type == TEXT:
            return place.value
        case Value(place) if place.type in ("int", "bool"):
            return cel.call("string", place.value)
    raise NotConvertible("a variable in a text whose type is not known")
