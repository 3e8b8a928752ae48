"""CK012: metrics behind a public load balancer."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

from chartkit.model import Body, Diagnostic, mapping_at
from chartkit.values.lint.rule import ChartValues, Rule, metrics_services

_INTERNAL: Final = MappingProxyType(
    {
        "service.beta.kubernetes.io/aws-load-balancer-scheme": "internal",
        "service.beta.kubernetes.io/aws-load-balancer-internal": "true",
        "service.beta.kubernetes.io/azure-load-balancer-internal": "true",
        "networking.gke.io/load-balancer-type": "internal",
        "cloud.google.com/load-balancer-type": "internal",
    }
)
"""The annotations that make a cloud's load balancer internal."""


class MetricsLoadBalancer(Rule):
    id = "CK012"
    what = "Metrics behind a load balancer that is not marked as internal."
    why = "In most clouds, load balancers face the internet by default."
    do = (
        "Add the annotation for an internal load balancer that your cloud's controller reads, or "
        "keep the Service's type ClusterIP."
    )
    problematic = "reportsController:\n  metricsService: {type: LoadBalancer}\n"
    correct = """\
reportsController:
  metricsService:
    type: LoadBalancer
    annotations:
      service.beta.kubernetes.io/aws-load-balancer-scheme: internal
"""

    def check_values(self, subject: ChartValues) -> Iterator[Diagnostic]:
        for key, service in metrics_services(subject, "LoadBalancer"):
            if not _is_internal(mapping_at(service, "annotations")):
                message = "the metrics are behind a load balancer that the whole internet may reach"
                hint = "annotate it as internal, as the cloud's controller asks, "
                hint += "or use type: ClusterIP"
                yield self.warning(message, subject.locate((key, "metricsService", "type")), hint)


def _is_internal(annotations: Body) -> bool:
    return any(str(annotations.get(key, "")).lower() == value for key, value in _INTERNAL.items())
