"""Calls of context entries: paths of the Kubernetes API as resources, services by HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions.place import ANY_MAP, OBJECT, Place, list_type
from chartkit.addons.migrate.jmespath import Names
from chartkit.addons.migrate.jmespath.terms import mixed
from chartkit.addons.migrate.texts import term_of, text_expression
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax import build as cel
from chartkit.engine.kubernetes.field_faults import known_kinds, type_of_kind
from chartkit.engine.kubernetes.kinds import resource_name
from chartkit.model import Body


@dataclass(frozen=True, slots=True)
class _Address:
    """A resource that a path names; name, namespace: texts with variables, empty for none."""

    api_version: str
    resource: str
    namespace: str = ""
    name: str = ""


def resource_call(body: Body, names: Names, namespace: str) -> Place:
    """Return what a path of the API answers, as the place of an object or a list.

    namespace: that of a policy of a namespace, whose calls stay in it. Raises `NotConvertible`.
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
    kind = _type(address)
    if address.name:
        if query:
            raise NotConvertible(f"an object is asked for with the parameters {query}")
        name = text_expression(address.name, names)
        return Place(cel.method(resource, "Get", *arguments, name), (), kind)
    labels = _labels(query)
    more = [cel.map_of(labels)] if labels else []
    listed = cel.method(resource, "List", *arguments, *more)
    return Place(cel.call("dyn", listed), (), list_type(kind))


def _address(path: str) -> _Address:
    """Return the resource of a path; raises `NotConvertible` for another path of the API."""
    match path.strip("/").split("/"):
        case ["api", version, *rest]:
            api_version = version
        case ["apis", group, version, *rest]:
            api_version = f"{group}/{version}"
        case _:
            raise NotConvertible(f"{path} is no path of a resource")
    if "{{" in api_version:
        raise NotConvertible("an API version with variables")
    match rest:
        case ["namespaces", namespace, resource]:
            found = _Address(api_version, resource, namespace)
        case ["namespaces", namespace, resource, name]:
            found = _Address(api_version, resource, namespace, name)
        case [resource]:
            found = _Address(api_version, resource)
        case [resource, name]:
            found = _Address(api_version, resource, "", name)
        case _:
            raise NotConvertible(f"{path} is no path of a resource")
    if "{{" in found.resource:
        raise NotConvertible("a resource with variables")
    return found


def _type(address: _Address) -> str:
    group, _, version = address.api_version.rpartition("/")
    for kind in known_kinds():
        known = (kind.group, kind.version, resource_name(kind.kind))
        if known == (group, version, address.resource):
            return type_of_kind(kind) or OBJECT
    return OBJECT


def _labels(query: str) -> dict[str, str]:
    """Return the labels that a query selects by; raises `NotConvertible` for another query."""
    if not query:
        return {}
    parameters = parse_qs(query, keep_blank_values=True)
    selectors: Sequence[str] = parameters.pop("labelSelector", ())
    if parameters or len(selectors) != 1 or "{{" in query:
        raise NotConvertible(f"objects are asked for with the parameters {unquote(query)}")
    labels = {}
    for requirement in selectors[0].split(","):
        key, equals, text = requirement.replace("==", "=").partition("=")
        if not equals or key.endswith("!") or " " in requirement or not key:
            raise NotConvertible(f"objects are selected by {selectors[0]}")
        labels[key] = text
    return labels


def service_call(body: Body, names: Names) -> Place:
    """Return what a service answers; raises `NotConvertible`."""
    service = body.get("service") or {}
    client: Expr = cel.ident("http")
    if service.get("caBundle"):
        client = cel.method(client, "Client", text_expression(service["caBundle"], names))
    url = text_expression(str(service.get("url") or ""), names)
    is_sent = body.get("method") == "POST"
    headers = {
        str(each.get("key")): text_expression(str(each.get("value") or ""), names)
        for each in service.get("headers") or ()
    }
    arguments = [url, *([sent_data(body, names)] if is_sent else [])]
    if headers:
        arguments.append(cel.map_of(headers))
    answer = cel.method(client, "Post" if is_sent else "Get", *arguments)
    return Place(cel.call("dyn", answer))


def sent_data(body: Body, names: Names) -> Expr:
    """Return what a call sends, as a map."""
    pairs = {str(each.get("key")): each.get("value") for each in body.get("data") or ()}
    terms = [term_of(value, names) for value in pairs.values()]
    return cel.map_of(dict(zip(pairs, mixed(terms), strict=True)))
