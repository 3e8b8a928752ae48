"""The objects that a generate rule makes: an object that it holds, a clone, or clones of a list."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.generate.template import certain, constant_text, template_of
from chartkit.addons.migrate.jmespath import Names
from chartkit.addons.migrate.rule import Variable
from chartkit.addons.migrate.texts import term_of
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax import build as cel
from chartkit.engine.cluster_policy.generate import split_kind
from chartkit.engine.kubernetes.kinds import (
    GroupVersionKind,
    is_cluster_scoped,
    parse_api_version,
    resource_name,
)
from chartkit.model import Body, Json

_SOURCE: Final = "source"


@dataclass(frozen=True, slots=True)
class Step:
    """An entry of `spec.generate`; expressions: those in it; variables: those that it needs."""

    body: Body
    expressions: tuple[Expr, ...]
    variables: tuple[Variable, ...] = ()


def steps_of(body: Body, names: Names, namespace: str) -> Iterator[Step]:
    """Yield what a generate block makes; namespace: that of a policy of a namespace, else empty.

    Raises `NotConvertible`.
    """
    clone: Body = body.get("clone") or {}
    clones: Body = body.get("cloneList") or {}
    if clone.get("name"):
        yield _clone(body, clone, names, namespace)
    elif clones.get("kinds"):
        yield from _clone_list(body, clones, names, namespace)
    else:
        template = template_of(object_of(body, names, namespace), names)
        yield Step({"template": template.body}, template.expressions)


def object_of(body: Body, names: Names, namespace: str) -> Body:
    """Return the object of a generate block, its variables as they are written."""
    data: Json = body.get("data") or {}
    if not isinstance(data, dict):
        raise NotConvertible("data that is a variable as a whole", "generate/data")
    given: Json = data.get("metadata") or {}
    if not isinstance(given, dict):
        raise NotConvertible("metadata that is a variable as a whole", "generate/data/metadata")
    api_version, kind = _kind_of(body, names)
    kind = constant_text(data.get("kind") or kind, names, "kind")
    if not body.get("name"):
        raise NotConvertible("what is generated has no name", "generate")
    metadata = {"name": body["name"]}
    target = target_namespace(body, (api_version, kind), names, namespace)
    if target is not None:
        metadata["namespace"] = body["namespace"]
    metadata |= {
        key: each
        for key, each in given.items()
        if key not in ("name", "namespace", "resourceVersion")
    }
    made = {"apiVersion": api_version, "kind": kind, "metadata": metadata}
    return made | {key: each for key, each in data.items() if key not in made}


def target_namespace(
    body: Body, kind: tuple[str, str], names: Names, namespace: str
) -> Expr | None:
    """Return the namespace of what is generated, None for a kind that is in none."""
    cluster_scoped = is_cluster_scoped(GroupVersionKind(*parse_api_version(kind[0]), kind[1]))
    written = body.get("namespace") or ""
    if cluster_scoped or not written:
        if cluster_scoped and (written or namespace):
            raise NotConvertible("an object outside of namespaces, for a namespace", "generate")
        if not cluster_scoped and (namespace or not written):
            raise NotConvertible("what is generated has no namespace", "generate")
        return None
    found = certain(term_of(written, names))
    if namespace and found != cel.literal(namespace):
        raise NotConvertible("a policy of a namespace that generates in another", "generate")
    return found


def applied(namespace: str, target: Expr, objects: list[Expr]) -> Expr:
    """Return the call that generates objects in a namespace."""
    place = [] if namespace else [target]
    return cel.method(cel.ident("generator"), "Apply", *place, cel.list_of(objects))


def _kind_of(body: Body, names: Names) -> tuple[str, str]:
    api_version, kind = body.get("apiVersion"), body.get("kind")
    if not (api_version and (kind or (body.get("data") or {}).get("kind"))):
        raise NotConvertible("what is generated has no kind or no API version", "generate")
    return constant_text(api_version, names, "API version"), kind or ""


def _clone(body: Body, clone: Body, names: Names, namespace: str) -> Step:
    api_version, kind = _kind_of(body, names)
    kind = constant_text(kind, names, "kind")
    target = target_namespace(body, (api_version, kind), names, namespace)
    name = certain(term_of(clone["name"], names))
    if target is None or not clone.get("namespace"):
        raise NotConvertible("a clone of an object outside of namespaces", "generate/clone")
    if certain(term_of(body.get("name") or "", names)) != name:
        raise NotConvertible("a clone under another name", "generate/name")
    origin = certain(term_of(clone["namespace"], names))
    if namespace:
        raise NotConvertible("a clone for a policy of a namespace is of itself", "generate/clone")
    call = cel.method(cel.ident("resource"), "Get", api_version, resource_name(kind), origin, name)
    source = Variable(_SOURCE, call)
    return _elsewhere(target, origin, source)


def _elsewhere(target: Expr, origin: Expr, source: Variable) -> Step:
    """Return the step that copies a source into a namespace, unless that is where it is."""
    call = applied("", target, [cel.variable(source.name)])
    expression = cel.any_of((cel.equal(target, origin), call))
    return Step({"expression": expression}, (expression,), (source,))


def _clone_list(body: Body, clones: Body, names: Names, namespace: str) -> Iterator[Step]:
    if namespace:
        raise NotConvertible("clones for a policy of a namespace", "generate/cloneList")
    if not clones.get("namespace") or not body.get("namespace"):
        raise NotConvertible("clones of objects of all namespaces", "generate/cloneList")
    target = certain(term_of(body["namespace"], names))
    origin = certain(term_of(clones["namespace"], names))
    labels = _labels(clones.get("selector"), names)
    for text in clones["kinds"]:
        api_version, kind = split_kind(constant_text(text, names, "kind"))
        if not api_version:
            raise NotConvertible(f"the kind {kind} without a version", "generate/cloneList/kinds")
        plural = resource_name(kind)
        listed = cel.method(cel.ident("resource"), "List", api_version, plural, origin, *labels)
        yield _elsewhere(target, origin, Variable(plural, listed))


def _labels(selector: Json, names: Names) -> list[Expr]:
    if selector is None:
        return []
    found = selector.get("matchLabels") if isinstance(selector, dict) else None
    if not found or selector.get("matchExpressions"):
        raise NotConvertible("expressions in the selector of clones", "generate/cloneList/selector")
    if any("*" in each or "?" in each for each in (*found, *map(str, found.values()))):
        raise NotConvertible("wildcards in the selector of clones", "generate/cloneList/selector")
    return [certain(term_of(found, names))]
