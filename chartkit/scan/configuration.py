"""Kyverno's configuration among objects, and the objects that it keeps from Kyverno."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from chartkit.engine import Configuration, read_configuration
from chartkit.engine.kubernetes.kinds import in_namespace
from chartkit.kyverno import controllers as kyverno_controllers
from chartkit.model import Resource, mapping_at, mappings_at

_VARIABLE: Final = "INIT_CONFIG"


def configuration(rendered: Sequence[Resource]) -> tuple[Configuration, str]:
    """Return the configuration in the ConfigMap of the admission controller, and its namespace;
    rendered: the objects of Kyverno's chart, none where the project does not install it."""
    controllers = kyverno_controllers.controllers(rendered)
    name = next((text for controller in controllers for text in config_names(controller)), None)
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
