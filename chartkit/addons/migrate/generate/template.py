"""Objects with variables as templates: YAML with `(( … ))` where the rule had `{{ … }}`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.jmespath import Constant, Names, Term, Value
from chartkit.addons.migrate.jmespath.terms import expression_of
from chartkit.addons.migrate.texts import term_of
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.engine.cel.syntax import Expr, format_expression
from chartkit.engine.cel.syntax.tree import Binary, Literal
from chartkit.engine.cel_policies.generation import (
    TemplateError,
    read_documents,
    scan,
    value_of,
)
from chartkit.engine.context.variables.syntax import has_variable, unescape
from chartkit.model import Body, Json

_OPEN: Final = "(("
_ONE_LINE: Final = 100_000


@dataclass(frozen=True, slots=True)
class Template:
    """A `template` of a GeneratingPolicy, and the expressions in it."""

    body: Body
    expressions: tuple[Expr, ...]


def template_of(body: Body, names: Names) -> Template:
    """Return an object as a template; raises `NotConvertible`."""
    filler = _Filler(names)
    filled = filler.fill(body)
    text = dump_yaml(filled)
    try:
        (document,) = read_documents(text)
        same = value_of(document) == filled
    except (TemplateError, ValueError):
        same = False
    if not same:
        raise NotConvertible("a text that a template reads as another value", "generate/data")
    made: Body = {"value": text}
    if filler.marks:
        made = {"interpolate": "cel", **made}
    return Template(made, tuple(filler.expressions))


def constant_text(value: Json, names: Names, what: str) -> str:
    """Return a text that depends on nothing; raises `NotConvertible`."""
    term = term_of(value, names)
    if isinstance(term, Constant) and isinstance(term.value, str):
        return term.value
    raise NotConvertible(f"the {what} of what is generated depends on the trigger", "generate")


def certain(term: Term) -> Expr:
    """Return a term that cannot be null; raises `NotConvertible`."""
    if isinstance(term, Value) and term.place.is_optional and not term.strict:
        raise NotConvertible("a value of what is generated that may be null", "generate")
    if isinstance(term, Constant) and term.value is None:
        raise NotConvertible("a value of what is generated that is null", "generate")
    return expression_of(term)


@dataclass(slots=True)
class _Filler:
    names: Names
    expressions: list[Expr] = field(default_factory=list)
    marks: bool = False

    def fill(self, value: Json) -> Json:
        """Return a value with placeholders in place of variables."""
        if isinstance(value, dict):
            if any(has_variable(key) or _OPEN in key for key in value):
                raise NotConvertible("a variable in a key of what is generated", "generate")
            return {unescape(key): self.fill(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self.fill(each) for each in value]
        return self._text(value) if isinstance(value, str) else value

    def _text(self, text: str) -> Json:
        term = term_of(text, self.names)
        if isinstance(term, Constant) and not isinstance(term.value, str):
            return term.value
        parts = list(_parts(certain(term)))
        expected = [
            each if isinstance(each, str) else ("cel", format_expression(each, _ONE_LINE))
            for each in parts
        ]
        made = "".join(
            each.replace(_OPEN, f"\\{_OPEN}") if isinstance(each, str) else f"(( {each[1]} ))"
            for each in expected
        )
        if made == text and not has_variable(text):
            return made
        self.marks = True
        self.expressions += [each for each in parts if not isinstance(each, str)]
        try:
            same = scan(made, 1) == expected
        except TemplateError:
            same = False
        if not same:
            raise NotConvertible("parentheses that a template reads otherwise", "generate/data")
        return made


def _parts(expr: Expr) -> Iterator[str | Expr]:
    """Yield the texts and expressions that are joined; a sum without a text is one expression."""
    parts = list(_summands(expr))
    if any(isinstance(each, str) for each in parts):
        yield from parts
    else:
        yield expr


def _summands(expr: Expr) -> Iterator[str | Expr]:
    match expr:
        case Literal(str() as text):
            yield text
        case Binary("+", left, right):
            yield from _summands(left)
            yield from _summands(right)
        case _:
            yield expr
