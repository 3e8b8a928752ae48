"""Why match constraints speak of a request or not: the field that decides, on both sides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from chartkit.engine.cel_policies.constraints import (
    RULE_PARTS,
    Constraints,
    is_named,
    labels_of_namespace,
)
from chartkit.engine.cel_policies.policy import ResourceRule
from chartkit.engine.cel_policies.scope import Attributes
from chartkit.engine.kubernetes.selectors import label_miss, selector_problem
from chartkit.engine.why import MISSING, Asked, Decision
from chartkit.model import Json, Location, pointer_of
from chartkit.safe_text import shown
from chartkit.wording import abridged

Locate = Callable[..., Location]
"""Gives the location of a field of match constraints: of `"resourceRules", 0`."""

_NAMED: Final = 3
_ASKED: Final = {
    "resources": (Asked.KIND, "/kind"),
    "apiGroups": (Asked.KIND, "/apiVersion"),
    "apiVersions": (Asked.KIND, "/apiVersion"),
    "operations": (Asked.OPERATION, None),
    "scope": (Asked.NAMESPACE, "/metadata/namespace"),
    "resourceNames": (Asked.NAME, "/metadata/name"),
}


def match_decision(
    constraints: Constraints, request: Attributes, document: Location, name: str
) -> Decision:
    """Report whether constraints match a request, with the field that decided; of several resource
    rules that do not match, the nearest. name: of the constraints' field in `spec`."""

    def locate(*steps: str | int) -> Location:
        return document.within(pointer_of("spec", name, *steps))

    source = constraints.source
    field = constraints.excluding(request)
    if field == "resourceRules":
        parts = tuple(_of_rule(at, rule, request, locate) for at, rule in enumerate(source.rules))
        nearest = min(
            range(len(source.rules)), key=lambda at: len(_failing(source.rules[at], request))
        )
        text = parts[nearest].text
        if len(parts) > 1:
            text = f"none of {len(parts)} resourceRules matches; nearest: {text}"
        return replace(parts[nearest], asked=Asked.MATCH, text=text, parts=parts)
    if field == "excludeResourceRules":
        at = _taking(source.excluded, request)
        text = f"excludeResourceRules[{at}] takes {_named(request)}"
        return Decision(Asked.EXCLUDE, True, text, locate(field, at))
    if field == "namespaceSelector":
        assert source.namespace_selector is not None
        labels = labels_of_namespace(request)
        miss = label_miss(source.namespace_selector, labels)
        assert miss is not None
        namespace_name = request.name if request.is_namespace else request.namespace
        location = locate("namespaceSelector", *miss.path)
        text = f"namespace {shown(namespace_name)}: {miss.text}"
        return Decision(Asked.NAMESPACE_LABELS, False, text, location, None, miss.value)
    if field == "objectSelector":
        assert source.object_selector is not None
        miss = label_miss(source.object_selector, request.labels[request.object is None])
        if miss is None:
            text = "there is no object that the objectSelector could select"
            return Decision(Asked.LABELS, False, text, locate("objectSelector"))
        location = locate("objectSelector", *miss.path)
        pointer = pointer_of("metadata", "labels", miss.key)
        return Decision(Asked.LABELS, False, miss.text, location, pointer, miss.value)
    selectors = (source.namespace_selector, source.object_selector)
    for key, selector in zip(("namespaceSelector", "objectSelector"), selectors, strict=True):
        if selector is not None and (problem := selector_problem(selector)):
            text = f"Kubernetes refuses the {key}: {shown(problem)}"
            return Decision(Asked.MATCH, None, text, locate(key))
    if not source.rules:
        return Decision(Asked.MATCH, True, "no resourceRules: everything matches", locate())
    at = _taking(source.rules, request)
    text = f"resourceRules[{at}] takes {_named(request)}"
    return Decision(Asked.MATCH, True, text, locate("resourceRules", at))


def _named(request: Attributes) -> str:
    name = f"{request.resource}.{request.group}" if request.group else request.resource
    resource = f"{name}/{request.subresource}" if request.subresource else name
    return f"{request.operation} of {shown(resource)}"


def _failing(rule: ResourceRule, request: Attributes) -> list[str]:
    """Return the fields of a rule that do not take a request."""
    fields = [part.field for part in RULE_PARTS if not part.holds(rule, request)]
    is_other = rule.names and not is_named(rule.names, request)
    return fields or (["resourceNames"] if is_other else [])


def _taking(rules: tuple[ResourceRule, ...], request: Attributes) -> int:
    return next((at for at, rule in enumerate(rules) if not _failing(rule, request)), 0)


def _of_rule(at: int, rule: ResourceRule, request: Attributes, locate: Locate) -> Decision:
    """Return the decision of a rule that does not take a request; its parts are the checks up to
    the first that does not hold."""
    failing = _failing(rule, request)[0]
    checks: list[Decision] = []
    for field, (asked, pointer) in _ASKED.items():
        text, value = _sentence(field, rule, request, holds=field != failing)
        where = locate("resourceRules", at, field)
        checks.append(Decision(asked, field != failing, text, where, pointer, value))
        if field == failing:
            break
    return replace(checks[-1], asked=Asked.FILTER, parts=tuple(checks))


def _sentence(
    field: str, rule: ResourceRule, request: Attributes, *, holds: bool
) -> tuple[str, Json]:
    """A field of a rule and of a request: `resource pods is not deployments`."""
    body = request.request.resource.body
    match field:
        case "resources":
            given = request.resource + (f"/{request.subresource}" if request.subresource else "")
            noun, wanted, value = "resource ", rule.resources, body.get("kind", MISSING)
        case "apiGroups":
            wanted = tuple(group or "the core group" for group in rule.groups)
            given, value = request.group or "the core group", body.get("apiVersion", MISSING)
            noun = "group " if request.group else ""
        case "apiVersions":
            given, wanted, value = request.version, rule.versions, body.get("apiVersion", MISSING)
            noun = "version "
        case "operations":
            noun, given, wanted, value = "operation ", request.operation, rule.operations, MISSING
        case "scope":
            given = "namespaced" if request.namespace else "cluster-scoped"
            text = f"the object is {given}, {'' if holds else 'not '}of scope {rule.scope}"
            return text, request.namespace or MISSING
        case _:
            noun, given, wanted = "name ", request.name or "none", rule.names
            value = request.name or MISSING
    named = shown(abridged(wanted, _NAMED)) or "any: none is named"
    return f"{noun}{shown(given)} {'matches' if holds else 'is not'} {named}", value
