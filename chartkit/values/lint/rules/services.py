"""Services: their node ports, and metrics that outsiders can read: CK003, CK004, CK011, CK012."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chartkit.kyverno.controllers import CONTROLLERS
from chartkit.model import Body, Json, Location, Resource, leaves, mapping_at
from chartkit.values.lint.rule import ChartValues, Fault, Stage, values_rule

_FIRST: Final = 30000
_LAST: Final = 32767
"""The API server's default range (--service-node-port-range)."""
_WITH_NODE_PORTS: Final = frozenset({"NodePort", "LoadBalancer"})
_INTERNAL: Final = (
    ("service.beta.kubernetes.io/aws-load-balancer-scheme", "internal"),
    ("service.beta.kubernetes.io/aws-load-balancer-internal", "true"),
    ("service.beta.kubernetes.io/azure-load-balancer-internal", "true"),
    ("networking.gke.io/load-balancer-type", "internal"),
    ("cloud.google.com/load-balancer-type", "internal"),
)
"""The annotations that make a cloud's load balancer internal."""


@values_rule("CK003", Stage.RENDERED)
def node_port_range(subject: ChartValues) -> Iterator[Fault]:
    """Node ports that the API server refuses."""
    for service, port in _node_ports(subject):
        number = port["nodePort"]
        if not isinstance(number, int) or not _FIRST <= number <= _LAST:
            message = f"node port {number} of Service {service.name} is outside {_FIRST}–{_LAST}"
            hint = "choose one inside, or leave it out and Kubernetes chooses"
            yield Fault(message, _place_of(subject, number, service, 0), hint)


@values_rule("CK004", Stage.RENDERED)
def shared_node_port(subject: ChartValues) -> Iterator[Fault]:
    """Services that share a node port."""
    taken: dict[tuple[int, str], list[Resource]] = {}
    for service, port in _node_ports(subject):
        number = port["nodePort"]
        if not isinstance(number, int):
            continue
        owners = taken.setdefault((number, str(port.get("protocol") or "TCP")), [])
        if owners:
            message = f"node port {number} of Service {service.name} is taken by {owners[0].name}"
            hint = "give each its own, or leave it out and Kubernetes chooses"
            yield Fault(message, _place_of(subject, number, service, len(owners)), hint)
        owners.append(service)


def _node_ports(subject: ChartValues) -> Iterator[tuple[Resource, Body]]:
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


def _place_of(subject: ChartValues, number: Json, service: Resource, occurrence: int) -> Location:
    """Return the location where the values set a port for the nth time, or else the template's."""
    paths = [
        path
        for path, value in leaves(subject.values)
        if value == number and path and str(path[-1]).lower().endswith("nodeport")
    ]
    if not paths:
        return service.location
    return subject.locate(paths[min(occurrence, len(paths) - 1)])


@values_rule("CK011")
def metrics_node_port(subject: ChartValues) -> Iterator[Fault]:
    """Metrics that every node serves."""
    for key, _ in _metrics_services(subject, "NodePort"):
        policy = mapping_at(subject.values, key, "networkPolicy")
        if policy.get("enabled") is not True:
            message = "the metrics are on a port of every node, open to anyone who can reach a node"
            hint = f"set {key}.networkPolicy.enabled: true with metricsFrom, or type: ClusterIP"
            yield Fault(message, subject.locate((key, "metricsService", "type")), hint)


@values_rule("CK012")
def metrics_load_balancer(subject: ChartValues) -> Iterator[Fault]:
    """Metrics behind a public load balancer."""
    for key, service in _metrics_services(subject, "LoadBalancer"):
        annotations = mapping_at(service, "annotations")
        if not any(str(annotations.get(name, "")).lower() == value for name, value in _INTERNAL):
            message = "the metrics are behind a load balancer that the whole internet may reach"
            hint = "annotate it as internal, as the cloud's controller asks, or use type: ClusterIP"
            yield Fault(message, subject.locate((key, "metricsService", "type")), hint)


def _metrics_services(subject: ChartValues, kind: str) -> Iterator[tuple[str, Body]]:
    """Yield the keys of the controllers whose metrics Service has a type, with its values."""
    for key in CONTROLLERS.values():
        service = mapping_at(subject.values, key, "metricsService")
        if service.get("type") == kind and service.get("create") is not False:
            yield key, service
