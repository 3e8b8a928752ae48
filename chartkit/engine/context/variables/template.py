"""Policy text with variables, compiled once and resolved for every request.

A value that is one variable and nothing else becomes the variable's value, whatever its type; a
text with variables inside becomes a text again. A text that comes out of an embedded variable is
searched for variables anew, pass after pass, until there are none; the value of a whole variable is
not, but the texts inside its object or list are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from chartkit.engine.budget import Budget
from chartkit.engine.context.context import Context
from chartkit.engine.context.variables import OPEN, SubstitutionError, Template
from chartkit.engine.context.variables.syntax import (
    ESCAPED,
    Variable,
    find_variables,
    is_whole,
    join_path,
    own_query,
    split_text,
    unescape,
)
from chartkit.engine.jmespath import Expression, JMESPathError, compile_expression
from chartkit.errors import EvaluationError
from chartkit.go.fmt import embedded_json, go_sprint
from chartkit.model import Json

MAX_PASSES = 64
"""The most searches of a text for variables; Kyverno itself would never return."""
MAX_LENGTH = 1024 * 1024
"""The most characters of a text after its variables name each other."""
_SMALL = 1024
"""The most characters of a text that is made without being counted."""

_OWN = "@"
"""The query of the value that stands where the variable does."""
_VARIABLES = "the values of variables"
_ENDLESS = "they name each other without end"

Resolve = Callable[["Context"], Json]


def template_of(value: Json, path: str) -> Template:
    """Return the template of a value without references; path: as for `compile_template`."""
    if isinstance(value, str):
        return _text(value, path)
    if isinstance(value, dict):
        entries = [
            (key, _text(key, path), template_of(member, join_path(path, key)))
            for key, member in value.items()
        ]
        if all(name.is_constant and member.is_constant for _, name, member in entries):
            same = all(name.value == key and m.value is value[key] for key, name, m in entries)
            return Template(value if same else {n.value: m.value for _, n, m in entries}, None)

        def resolve_entries(context: Context) -> Json:
            context.budget.steps -= len(entries)
            return {
                _key(key, name.resolve(context)): member.resolve(context)
                for key, name, member in entries
            }

        return Template(value, resolve_entries)
    if isinstance(value, list):
        members = [template_of(member, f"{path}/{index}") for index, member in enumerate(value)]
        if all(member.is_constant for member in members):
            same = all(new.value is old for new, old in zip(members, value, strict=True))
            return Template(value if same else [member.value for member in members], None)

        def resolve(context: Context) -> Json:
            context.budget.steps -= len(members)
            return [member.resolve(context) for member in members]

        return Template(value, resolve)
    return Template(value, None)


def _key(key: str, name: Json) -> str:
    if name is None:
        return key
    if not isinstance(name, str):
        raise SubstitutionError(f'expected string after substituting variables in key "{key}"')
    return name


def _text(text: str, path: str) -> Template:
    if OPEN not in text:
        return Template(text, None)
    variables = find_variables(text)
    if not variables:
        return Template(unescape(text), None)
    if is_whole(variables, text):
        return Template(text, _whole(variables[0], path))
    return Template(text, _embedded(text, variables, path))


class _UnresolvedError(Exception):
    """A query that failed, whose location is added later."""

    def __init__(self, query: str, error: EvaluationError) -> None:
        super().__init__(query)
        self.query = query
        self.error = error

    def at(self, path: str) -> SubstitutionError:
        return SubstitutionError(
            f"failed to resolve {self.query} at path {path}: {self.error.message}"
        )


def _whole(variable: Variable, path: str) -> Resolve:
    query = _lookup(variable.query, path)

    def resolve(context: Context) -> Json:
        try:
            value = query(context)
        except _UnresolvedError as unresolved:
            raise unresolved.at(path) from unresolved.error
        if isinstance(value, dict | list) and _mentions(value, context.budget):
            with context.nested() as depth:
                if depth > MAX_PASSES:
                    raise SubstitutionError(
                        f"failed to resolve variables at path {path}: {_ENDLESS}"
                    )
                return template_of(value, path).resolve(context)
        return value

    return resolve


def _mentions(value: Json, budget: Budget) -> bool:
    """Report whether a list or an object holds a variable."""
    kind = value.__class__
    if kind is dict:
        if any(OPEN in key for key in value):
            return True
        value = value.values()
    elif kind is not list:
        return False
    budget.spend(len(value), _VARIABLES)
    for member in value:
        kind = member.__class__
        if kind is str:
            if OPEN in member:
                return True
        elif (kind is dict or kind is list) and _mentions(member, budget):
            return True
    return False


def _embedded(text: str, variables: Sequence[Variable], path: str) -> Resolve:
    fill = _compile_pass(text, variables, path)
    stops = variables[-1].shallow

    def resolve(context: Context) -> Json:
        result = fill(context)
        if OPEN not in result:
            return result
        return unescape(result) if stops else _again(result, path, context)

    return resolve


def _again(text: str, path: str, context: Context) -> Json:
    for _ in range(MAX_PASSES):
        variables = find_variables(text)
        if not variables:
            return unescape(text)
        if is_whole(variables, text):
            return _whole(variables[0], path)(context)
        text = _compile_pass(text, variables, path)(context)
        if variables[-1].shallow:
            return unescape(text)
        if len(text) > MAX_LENGTH:
            break
    raise SubstitutionError(f"failed to resolve variables at path {path}: {_ENDLESS}")


def _compile_pass(text: str, variables: Sequence[Variable], path: str) -> Callable[[Context], str]:
    """Compile one pass over a text; equal texts that do not ask where they stand share it."""
    asks_place = any(variable.query == _OWN for variable in variables)
    first, steps = _parts(text, path) if asks_place else _shared_parts(text)

    def fill(context: Context) -> str:
        parts = [first]
        for query, variable, literal in steps:
            try:
                value = query(context)
            except _UnresolvedError as unresolved:
                raise unresolved.at(path) from unresolved.error
            if not isinstance(value, str) or variable.shallow:
                value = _as_text(value, variable, path, context.budget)
            parts.append(value)
            parts.append(literal)
        size = sum(map(len, parts))
        if size > _SMALL:
            context.budget.take(size, _VARIABLES)
        return "".join(parts)

    return fill


_Parts = tuple[str, Sequence[tuple[Resolve, Variable, str]]]


def _parts(text: str, path: str) -> _Parts:
    """Return the text before the first variable, and each variable with the text after it."""
    variables = find_variables(text)
    first, *literals = split_text(text, variables)
    lookups = [_lookup(variable.query, path) for variable in variables]
    return first, list(zip(lookups, variables, literals, strict=True))


@lru_cache(maxsize=16)
def _shared_parts(text: str) -> _Parts:
    return _parts(text, "")


def _as_text(value: Json, variable: Variable, path: str, budget: Budget) -> str:
    prefix = f"failed to resolve {variable.query} at path {path}: "
    if variable.shallow and value is not None:
        if not isinstance(value, str):
            raise SubstitutionError(
                f"{prefix}a variable written {{{{- }}}} inside a text must give a string"
            )
        return value.replace(OPEN, ESCAPED)
    if isinstance(value, dict | list):
        budget.weigh(value, _VARIABLES)
    try:
        return embedded_json(value)
    except ValueError as error:
        raise SubstitutionError(f"{prefix}failed to marshal float64: {go_sprint(value)}") from error


def _lookup(query: str, path: str) -> Resolve:
    if query == _OWN:
        target = _lookup(own_query(path, "target"), path)
        resource = _lookup(own_query(path, "request.object"), path)

        def own(context: Context) -> Json:
            return target(context) if "target" in context.data else resource(context)

        return own
    search = _query(query)
    if "request.object" not in query:
        return search
    deleted: list[Resolve] = []

    def resolve(context: Context) -> Json:
        if not context.is_delete:
            return search(context)
        if not deleted:
            deleted.append(_query(query.replace("request.object", "request.oldObject")))
        return deleted[0](context)

    return resolve


def _query(query: str) -> Resolve:
    expression: Expression | None
    try:
        expression = compile_expression(query) if query else None
    except JMESPathError:
        expression = None
    if expression is None:
        # What an entry of the context fails with comes before the syntax error.
        def resolve_text(context: Context) -> Json:
            try:
                return context.query_text(query)
            except EvaluationError as error:
                raise _UnresolvedError(query, error) from error

        return resolve_text
    compiled = expression

    def resolve(context: Context) -> Json:
        try:
            return context.query(compiled)
        except EvaluationError as error:
            raise _UnresolvedError(query, error) from error

    return resolve
