"""Checks of how metrics can be reached, and of what stays behind when a release is deleted."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

from chartkit.kyverno.controllers import CONTROLLERS
from chartkit.model import Body, Diagnostic, Severity
from chartkit.values.lint.subject import Subject, mapping

NODE_PORT: Final = "CK011"
LOAD_BALANCER: Final = "CK012"
CLEANUP_OFF: Final = "CK014"
_INTERNAL: Final = MappingProxyType(
    {
        "service.beta.kubernetes.io/aws-load-balancer-scheme": "internal",
        "service.beta.kubernetes.io/aws-load-balancer-internal": "true",
        "service.beta.kubernetes.io/azure-load-balancer-internal": "true",
        "networking.gke.io/load-balancer-type": "internal",
        "cloud.google.com/load-balancer-type": "internal",
    }
)
"""The annotations by which clouds make a load balancer an internal one."""


def metrics_by_node_port(subject: Subject) -> Iterator[Diagnostic]:
    """CK011: metrics on a port of every node, and nothing that says who may reach them."""
    for key, service in _metrics(subject, "NodePort"):
        policy = mapping(mapping(subject.values, key), "networkPolicy")
        if policy.get("enabled") is not True:
            message = "metrics stand on a port of every node, open to whoever reaches a node"
            hint = f"set {key}.networkPolicy.enabled: true with metricsFrom, or type: ClusterIP"
            place = subject.locate((key, service, "type"))
            yield Diagnostic(NODE_PORT, Severity.WARNING, message, place, hint)


def metrics_by_load_balancer(subject: Subject) -> Iterator[Diagnostic]:
    """CK012: metrics behind a load balancer that is not said to be internal."""
    for key, service in _metrics(subject, "LoadBalancer"):
        values = mapping(mapping(subject.values, key), service)
        if not _is_internal(mapping(values, "annotations")):
            message = "metrics stand behind a load balancer that the whole internet may reach"
            hint = "annotate it as internal, as the cloud's controller asks, or use type: ClusterIP"
            place = subject.locate((key, service, "type"))
            yield Diagnostic(LOAD_BALANCER, Severity.WARNING, message, place, hint)


def cleanup_off(subject: Subject) -> Iterator[Diagnostic]:
    """CK014: webhooks that stay when the release is deleted, and block what they see."""
    cleanup = mapping(subject.values, "webhooksCleanup")
    if cleanup.get("enabled") is False:
        message = "deleting the release leaves Kyverno's webhooks, which then refuse every request"
        hint = "set webhooksCleanup.enabled: true, or use `chartkit uninstall`"
        place = subject.locate(("webhooksCleanup", "enabled"))
        yield Diagnostic(CLEANUP_OFF, Severity.WARNING, message, place, hint)


def _metrics(subject: Subject, kind: str) -> Iterator[tuple[str, str]]:
    """The controllers whose metrics have a Service of a type."""
    for key in CONTROLLERS.values():
        service = mapping(mapping(subject.values, key), "metricsService")
        if service.get("type") == kind and service.get("create") is not False:
            yield key, "metricsService"


def _is_internal(annotations: Body) -> bool:
    return any(str(annotations.get(key, "")).lower() == value for key, value in _INTERNAL.items())
