"""Kyverno's configuration among objects, and the objects that it keeps from Kyverno."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from chartkit.engine import Configuration, Reason, read_configuration
from chartkit.engine.kubernetes.kinds import in_namespace
from chartkit.kyverno import controllers as kyverno_controllers
from chartkit.model import Body, Resource, mapping_at, mappings_at

_VARIABLE: Final = "INIT_CONFIG"
Labels = Mapping[str, Mapping[str, str]]
"""The labels of namespaces by name, as far as they are known."""


def unsent_reasons(
    configuration: Configuration, resource: Resource, labels: Labels, subresource: str = ""
) -> Sequence[Reason]:
    """Return the reasons why Kyverno is not sent an object, as `Unsent.reasons` does."""
    given = in_namespace(resource)
    known = labels.get(given.namespace)
    found = tuple(configuration.unsent(given, known, subresource))
    pod = _pod_of(given)
    if found and pod is not None and not any(configuration.unsent(pod, known)):
        return ()
    return found


def configuration(rendered: Sequence[Resource]) -> tuple[Configuration, str]:
    """Return the configuration in the ConfigMap of the admission controller, and its namespace;
    rendered: the objects of Kyverno's chart, none where the project does not install it."""
    found = kyverno_controllers.controllers(rendered)
    name = next((text for each in found for text in config_names(each)), None)
    for each in rendered:
        if each.kind == "ConfigMap" and each.name == name:
            return read_configuration(mapping_at(each.body, "data")), in_namespace(each).namespace
    return Configuration(), ""


def config_names(controller: kyverno_controllers.Controller) -> Iterator[str]:
    """Yield the name of the ConfigMap that an admission controller reads."""
    if controller.component != kyverno_controllers.ADMISSION:
        return
    template = ("spec", "template", "spec")
    for container in mappings_at(controller.deployment.body, *template, "containers"):
        for given in mappings_at(container, "env"):
            if given.get("name") == _VARIABLE and isinstance(given.get("value"), str):
                yield given["value"]


def _pod_of(resource: Resource) -> Resource | None:
    """Return a Pod of a controller object; None for any other object."""
    spec = mapping_at(resource.body, "spec")
    spec = mapping_at(spec, "jobTemplate", "spec") or spec
    template = mapping_at(spec, "template")
    if not isinstance(mapping_at(template, "spec").get("containers"), list):
        return None
    metadata: Body = {
        "namespace": resource.namespace,
        "labels": mapping_at(template, "metadata", "labels"),
    }
    return Resource({"apiVersion": "v1", "kind": "Pod", "metadata": metadata}, resource.location)
