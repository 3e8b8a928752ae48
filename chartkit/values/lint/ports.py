"""Checks of node ports, on the Services that Helm rendered."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.model import (
    Body,
    Diagnostic,
    Json,
    Location,
    Resource,
    Severity,
    mapping_at,
    mappings_at,
)
from chartkit.values.lint.subject import Subject, leaves

OUTSIDE_RANGE = "CK003"
TAKEN_TWICE = "CK004"
FIRST, LAST = 30000, 32767
"""The API server's default range (--service-node-port-range)."""

_WITH_NODE_PORTS = frozenset({"NodePort", "LoadBalancer"})


def node_port_range(subject: Subject) -> Iterator[Diagnostic]:
    """CK003: a node port that the API server refuses."""
    for service, port in _node_ports(subject):
        number = port["nodePort"]
        if not isinstance(number, int) or not FIRST <= number <= LAST:
            message = f"node port {number} of Service {service.name} is outside {FIRST}–{LAST}"
            place = _place(subject, number, service, 0)
            hint = "choose one inside, or leave it out and Kubernetes chooses"
            yield Diagnostic(OUTSIDE_RANGE, Severity.ERROR, message, place, hint)


def shared_node_ports(subject: Subject) -> Iterator[Diagnostic]:
    """CK004: two Services on one node port; the API server refuses the second."""
    taken: dict[tuple[Json, str], list[Resource]] = {}
    for service, port in _node_ports(subject):
        if not isinstance(port["nodePort"], int):
            continue
        key = (port["nodePort"], str(port.get("protocol") or "TCP"))
        owners = taken.setdefault(key, [])
        if owners:
            message = f"node port {key[0]} of Service {service.name} is taken by {owners[0].name}"
            place = _place(subject, key[0], service, len(owners))
            hint = "give each its own, or leave it out and Kubernetes chooses"
            yield Diagnostic(TAKEN_TWICE, Severity.ERROR, message, place, hint)
        owners.append(service)


def _node_ports(subject: Subject) -> Iterator[tuple[Resource, Body]]:
    for resource in subject.resources:
        kind = mapping_at(resource.body, "spec").get("type")
        if resource.kind != "Service" or not isinstance(kind, str) or kind not in _WITH_NODE_PORTS:
            continue
        for port in mappings_at(resource.body, "spec", "ports"):
            if port.get("nodePort"):
                yield resource, port


def _place(subject: Subject, number: Json, service: Resource, occurrence: int) -> Location:
    """Where the values name the port for the nth time; the template where they do not."""
    paths = [
        path
        for path, value in leaves(subject.values)
        if value == number and path and str(path[-1]).lower().endswith("nodeport")
    ]
    if not paths:
        return service.location
    return subject.locate(paths[min(occurrence, len(paths) - 1)])
