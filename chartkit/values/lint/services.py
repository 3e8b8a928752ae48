"""Services of the controllers' metrics, and the node ports of rendered Services."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.kyverno.controllers import CONTROLLERS
from chartkit.model import Body, Json, Location, Resource, leaves, mapping_at
from chartkit.values.lint.rule import ChartValues


def metrics_services(subject: ChartValues, kind: str) -> Iterator[tuple[str, Body]]:
    """Yield the keys of the controllers whose metrics Service has a type, with its values."""
    for key in CONTROLLERS.values():
        service = mapping_at(subject.values, key, "metricsService")
        if service.get("type") == kind and service.get("create") is not False:
            yield key, service


_WITH_NODE_PORTS = frozenset({"NodePort", "LoadBalancer"})


def node_ports(subject: ChartValues) -> Iterator[tuple[Resource, Body]]:
    """Yield each Service with each of its ports that has a node port."""
    for resource in subject.resources:
        spec = resource.body.get("spec")
        if resource.kind != "Service" or not isinstance(spec, dict):
            continue
        if str(spec.get("type")) not in _WITH_NODE_PORTS:
            continue
        ports = spec.get("ports")
        for port in ports if isinstance(ports, list) else ():
            if isinstance(port, dict) and port.get("nodePort"):
                yield resource, port


def place_of(subject: ChartValues, number: Json, service: Resource, occurrence: int) -> Location:
    """Return where the values set a port for the nth time, or else the template's place."""
    paths = [
        path
        for path, value in leaves(subject.values)
        if value == number and path and str(path[-1]).lower().endswith("nodeport")
    ]
    if not paths:
        return service.location
    return subject.locate(paths[min(occurrence, len(paths) - 1)])
