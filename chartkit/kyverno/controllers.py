"""Kyverno's controllers, and their Deployments among rendered objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from chartkit.model import Body, Json, Resource, mapping_at

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
