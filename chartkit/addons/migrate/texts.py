"""Texts with `{{ }}`: constants, a single value of any type, or texts joined; and calls of APIs.

Kyverno resolves the innermost variables first and searches the result again. Here each pass
puts a placeholder in the place of a variable, which the queries around it hold as any other text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs, unquote

from chartkit.addons.migrate.conversion import NotConvertible, about
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import ANY_MAP, OBJECT, TEXT, Place, list_type
from chartkit.addons.migrate.expressions.verdict import loop_variable
from chartkit.addons.migrate.jmespath import Constant, Names, Term, Translator, Value
from chartkit.addons.migrate.jmespath.call import (
    is_embedded,
    joined,
    placeholder,
    text_of_term,
    with_json_literals,
)
from chartkit.addons.migrate.jmespath.lists import list_of_terms
from chartkit.addons.migrate.jmespath.terms import computed, mixed
from chartkit.engine.cel.shapes import own_kind
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax.tree import Binary, Call, Literal
from chartkit.engine.context.variables import OPEN, has_reference, has_variable
from chartkit.engine.context.variables.syntax import (
    ESCAPED,
    Variable,
    find_variables,
    is_whole,
    split_text,
    unescape,
)
from chartkit.engine.kubernetes.field_faults import type_of_kind
from chartkit.model import Body, Json

_MAX_VARIABLES: Final = 120
"""The most variables of a text: with the texts around them they are nested 240 deep, of the 250
that CEL takes."""


def term_of(value: Json, names: Names) -> Term:
    """Return a value of a policy that may hold variables; raises `NotConvertible`."""
    if isinstance(value, str):
        return _text(value, names) if has_variable(value) else Constant(unescape(value))
    if isinstance(value, list):
        terms = [term_of(item, names) for item in value]
        if all(isinstance(term, Constant) for term in terms):
            return Constant([term.value for term in terms if isinstance(term, Constant)])
        return list_of_terms(terms)
    if isinstance(value, dict):
        members = {key: term_of(item, names) for key, item in value.items()}
        if any(has_variable(key) for key in value):
            raise NotConvertible("a variable in a key of an object")
        if all(isinstance(term, Constant) for term in members.values()):
            return Constant(value)
        return computed(
            cel.map_of(dict(zip(members, mixed(members.values()), strict=True))), ANY_MAP
        )
    return Constant(value)


def text_of(value: str, names: Names) -> str | Expr:
    """Return a message: as it is, or with variables as an expression.

    A variable that is not found is blank, where a ClusterPolicy then has no message at all.
    """
    if not has_variable(value):
        return unescape(value)
    text = text_of_term(_text(value, names, _or_blank))
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


def _or_blank(term: Term) -> Term:
    """Return a variable of a message as a text that is there."""
    if not isinstance(term, Value) or not term.strict or not term.place.is_optional:
        return term
    place = term.place.taken_for(TEXT)
    if place.type == TEXT:
        return computed(place.or_value(""), TEXT)
    there = text_of_term(Value(place.settled()))
    return computed(cel.conditional(place.is_present(), there, ""), TEXT)


def _text(text: str, names: Names, adapt: Callable[[Term], Term] = lambda term: term) -> Term:
    if has_reference(text):
        raise NotConvertible("a reference in a text with variables")
    with about(text):
        while variables := _variables(text):
            if any(variable.shallow for variable in variables):
                raise NotConvertible("a variable that is not searched for others")
            terms = [adapt(query_term(variable.query, names)) for variable in variables]
            if is_whole(variables, text):
                return terms[0]
            text, names = _with_placeholders(text, variables, terms, names)
        if OPEN in text.replace(ESCAPED, ""):
            raise NotConvertible("braces that open a variable, and none that close it")
        return computed(joined(unescape(text), names), TEXT)


def query_term(
    query: str, names: Names, current: Term | None = None, *, strict: bool = True
) -> Term:
    """Return what a query gives, variables within it as texts; current: the value of `@`; strict:
    whether an error is one, and not null."""
    with about("" if is_embedded(query) else query):
        return Translator(names, strict=strict).text(with_json_literals(query), current)


def resolved_query(query: str, names: Names, current: Term | None, *, strict: bool = True) -> Term:
    """Return what the path of a context entry, which may hold variables, finds in a value."""
    while variables := _variables(query):
        terms = [query_term(variable.query, names) for variable in variables]
        query, names = _with_placeholders(query, variables, terms, names)
    return query_term(query, names, current, strict=strict)


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
    text = "".join(piece for pair in zip(parts, [*marks, ""], strict=True) for piece in pair)
    return text, names.with_embedded(dict(zip(marks, terms, strict=True)))


@dataclass(frozen=True, slots=True)
class _Address:
    """A resource that a path names; name, namespace: texts with variables, empty for none."""

    api_version: str
    resource: str
    namespace: str = ""
    name: str = ""


def resource_call(body: Body, names: Names, namespace: str) -> Place:
    """Return what a path of the API answers, as the place of an object or a list.

    namespace: of a namespaced policy, whose calls stay in it. Raises `NotConvertible`.
    """
    path, _, query = str(body["urlPath"]).partition("?")
    address = _address(path)
    where = [text_expression(address.namespace, names)]
    if namespace:
        if address.namespace not in (namespace, "{{request.namespace}}"):
            raise NotConvertible("a policy of a namespace asks for objects outside of it")
        where = []
    arguments = (cel.literal(address.api_version), cel.literal(address.resource), *where)
    resource = cel.ident("resource")
    if (body.get("method") or "GET") == "POST":
        if address.name or query:
            raise NotConvertible(f"data is sent to {path}")
        if not address.namespace:
            arguments = arguments[:2]
        answer = cel.method(resource, "Post", *arguments, sent_data(body, names))
        return Place(answer, (), ANY_MAP)
    own = own_kind(address.api_version, address.resource)
    kind = (own and type_of_kind(own)) or OBJECT
    if address.name:
        if query:
            raise NotConvertible(f"an object is asked for with the parameters {query}")
        name = text_expression(address.name, names)
        return Place(cel.method(resource, "Get", *arguments, name), (), kind, may_be_none=True)
    labels, fields = _selectors(query)
    wanted = mixed(computed(text_expression(text, names)) for text in labels.values())
    more = [cel.map_of(dict(zip(labels, wanted, strict=True)))] if wanted else []
    listed = cel.call("dyn", cel.method(resource, "List", *arguments, *more))
    if fields:
        listed = cel.map_of({"items": _with_fields(cel.path(listed, "items"), fields, names)})
    return Place(listed, (), list_type(kind))


def _address(path: str) -> _Address:
    """Return the resource of a path; raises `NotConvertible` for another path of the API."""
    match path.strip("/").split("/"):
        case ["api", version, *rest]:
            api_version = version
        case ["apis", group, version, *rest]:
            api_version = f"{group}/{version}"
        case _:
            raise NotConvertible(f"{path} is not a path of a resource")
    if "{{" in api_version:
        raise NotConvertible("an API version with variables")
    match rest:
        case ["namespaces", namespace, resource]:
            address = _Address(api_version, resource, namespace)
        case ["namespaces", namespace, resource, name]:
            address = _Address(api_version, resource, namespace, name)
        case [resource]:
            address = _Address(api_version, resource)
        case [resource, name]:
            address = _Address(api_version, resource, "", name)
        case _:
            raise NotConvertible(f"{path} is not a path of a resource")
    if "{{" in address.resource:
        raise NotConvertible("a resource with variables")
    return address


def _selectors(query: str) -> tuple[dict[str, str], list[tuple[str, str, str]]]:
    """Return the labels that a query selects by, and the fields, each with a sign and a text that
    may hold variables; raises `NotConvertible` for another query."""
    parameters = parse_qs(query, keep_blank_values=True)
    labels: Sequence[str] = parameters.pop("labelSelector", ())
    fields: Sequence[str] = parameters.pop("fieldSelector", ())
    if parameters or len(labels) > 1 or len(fields) > 1:
        raise NotConvertible(f"objects are asked for with the parameters {unquote(query)}")
    required: dict[str, str] = {}
    for requirement in labels[0].split(",") if labels else ():
        match = _LABEL.fullmatch(requirement.strip())
        if match is None:
            raise NotConvertible(f"objects are selected by {labels[0]}")
        required[match[1]] = match[2]
    return required, list(map(_field, fields[0].split(",") if fields else ()))


_SELECTED: Final = frozenset(
    (
        *("metadata.name", "metadata.namespace", "spec.nodeName", "spec.restartPolicy"),
        *("spec.serviceAccountName", "status.phase"),
    )
)
"""Fields that an API server selects by."""
_SIGNS: Final = {"=": "==", "==": "==", "!=": "!="}
_LABEL: Final = re.compile(r"([^\s!={}]+)==?(.*)")
_FIELD: Final = re.compile(r"([\w.]+)(==|!=|=)(.*)")


def _field(requirement: str) -> tuple[str, str, str]:
    match = _FIELD.fullmatch(requirement.strip())
    if match is None or match[1] not in _SELECTED:
        raise NotConvertible(f"objects are selected by the field {requirement}")
    return match[1], _SIGNS[match[2]], match[3]


def _with_fields(items: Expr, fields: Sequence[tuple[str, str, str]], names: Names) -> Expr:
    """Return the objects of a list whose fields are as they are selected; none is empty."""
    variable = loop_variable(Place(items), names.taken)
    item = cel.ident(variable)
    tests = []
    for path, sign, text in fields:
        steps = path.split(".")
        value = cel.path(item, *steps)
        if path != "metadata.name":
            value = cel.or_value(cel.optional_field(item, *steps), "")
        tests.append(cel.compare(sign, value, text_expression(text, names)))
    return cel.macro(items, "filter", variable, cel.all_of(tests))


def service_call(body: Body, names: Names) -> Place:
    """Return what a service answers; raises `NotConvertible`."""
    service = body.get("service") or {}
    client: Expr = cel.ident("http")
    if service.get("caBundle"):
        client = cel.method(client, "Client", text_expression(service["caBundle"], names))
    url = text_expression(str(service.get("url") or ""), names)
    is_sent = body.get("method") == "POST"
    headers = {
        str(header.get("key")): text_expression(str(header.get("value") or ""), names)
        for header in service.get("headers") or ()
    }
    arguments = [url, *([sent_data(body, names)] if is_sent else [])]
    if headers:
        arguments.append(cel.map_of(headers))
    answer = cel.method(client, "Post" if is_sent else "Get", *arguments)
    return Place(cel.call("dyn", answer))


def sent_data(body: Body, names: Names) -> Expr:
    """Return what a call sends, as a map."""
    pairs = {str(entry.get("key")): entry.get("value") for entry in body.get("data") or ()}
    terms = [term_of(value, names) for value in pairs.values()]
    return cel.map_of(dict(zip(pairs, mixed(terms), strict=True)))
