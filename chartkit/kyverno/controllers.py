"""Kyverno's controllers, their Deployments among rendered objects, and flags of theirs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.model import Body, Json, Resource, mapping_at, text_of

ADMISSION = "admission-controller"


COMPONENT = "app.kubernetes.io/component"


CONTROLLERS = {
    ADMISSION: "admissionController",
    "background-controller": "backgroundController",
    "cleanup-controller": "cleanupController",
    "reports-controller": "reportsController",
}
"""The engine's controllers by component label, and the key of each in the chart's values."""


@dataclass(frozen=True, slots=True)
class Controller:
    """One of the engine's Deployments and how many replicas it has at least.

    scaler: the autoscaler that decides the number, None where `replicas` does.
    """

    component: str
    deployment: Resource
    scaler: Resource | None
    replicas: Json

    @property
    def values_key(self) -> str:
        """The key that decides the number of replicas in the chart's values."""
        controller = CONTROLLERS[self.component]
        return f"{controller}.{'autoscaling.minReplicas' if self.scaler else 'replicas'}"


def controllers(resources: Sequence[Resource]) -> list[Controller]:
    """The engine's controllers among rendered objects; an absent number of replicas is 1."""
    found = []
    for each in resources:
        component = labels_of(each.body).get(COMPONENT)
        if each.kind == "Deployment" and isinstance(component, str) and component in CONTROLLERS:
            scaler = _scaler(resources, each)
            spec = mapping_at(each.body, "spec")
            replicas = spec.get("replicas")
            if scaler is not None:
                replicas = mapping_at(scaler.body, "spec").get("minReplicas")
            found.append(Controller(component, each, scaler, 1 if replicas is None else replicas))
    return found


def _scaler(resources: Iterable[Resource], deployment: Resource) -> Resource | None:
    for each in resources:
        target = mapping_at(each.body, "spec", "scaleTargetRef")
        if (
            each.kind == "HorizontalPodAutoscaler"
            and target.get("kind") == "Deployment"
            and target.get("name") == deployment.name
            and each.namespace == deployment.namespace
        ):
            return each
    return None


def labels_of(body: Body) -> Body:
    """Return the labels of an object, or of a template."""
    return mapping_at(body, "metadata", "labels")


_FLAG: Final = "allowHTTPInNamespacedPolicies"
_VARIABLE: Final = "FLAG_ENABLE_HTTP_IN_NAMESPACED_POLICIES"
_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})


def allows_http(resources: Sequence[Resource]) -> bool:
    """Return whether namespaced policies may call services. Every controller that evaluates
    policies must have the flag, or the variable in its place: one without it refuses what the
    others accept."""
    found = controllers(resources)
    return bool(found) and all(_allows(one.deployment) for one in found)


def _allows(deployment: Resource) -> bool:
    spec = _member(_member(_member(deployment.body, "spec"), "template"), "spec")
    return any(_is_on(one) for one in _items(spec, "containers"))


def _is_on(container: Json) -> bool:
    flag = _last(_values(_items(container, "args")))
    if flag is not None:
        return flag
    listed = (one for one in _items(container, "env") if _member(one, "name") == _VARIABLE)
    return bool(_last(_member(one, "value") for one in listed))


def _last(values: Iterator[Json]) -> bool | None:
    """Return the last value that Go reads as a boolean; an invalid one after it unsets it."""
    found: bool | None = None
    for value in values:
        text = text_of(value)
        found = True if text in _TRUE else False if text in _FALSE else None
    return found


def _values(arguments: Sequence[Json]) -> Iterator[Json]:
    """Yield the values of the flag, as Go's package `flag` reads them."""
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = str(argument).removeprefix("-").removeprefix("-").partition("=")
        if name == _FLAG and str(argument).startswith("-"):
            yield value if equals else next(rest, "")


def _member(value: Json, key: str) -> Json:
    return value.get(key) if isinstance(value, dict) else None


def _items(value: Json, key: str) -> Sequence[Json]:
    found = _member(value, key)
    return found if isinstance(found, list) else ()
