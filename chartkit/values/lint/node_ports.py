"""The node ports of rendered Services, and where the values set them."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.model import Body, Json, Location, Resource
from chartkit.values.lint.subject import Subject, leaves

_WITH_NODE_PORTS = frozenset({"NodePort", "LoadBalancer"})


def node_ports(subject: Subject) -> Iterator[tuple[Resource, Body]]:
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


def place_of(subject: Subject, number: Json, service: Resource, occurrence: int) -> Location:
    """Return where the values set a port for the nth time, or else the template's place."""
    paths = [
        path
        for path, value in leaves(subject.values)
        if value == number and path and str(path[-1]).lower().endswith("nodeport")
    ]
    if not paths:
        return service.location
    return subject.locate(paths[min(occurrence, len(paths) - 1)])
