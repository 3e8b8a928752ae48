"""CK011: metrics that every node serves."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.model import Diagnostic, mapping_at
from chartkit.values.lint.rule import ChartValues, Rule, metrics_services


class MetricsNodePort(Rule):
    id = "CK011"
    what = "Metrics on a node port without a network policy."
    why = "Everyone who can reach a node can read them, and they name namespaces and policies."
    do = (
        "Enable networkPolicy with metricsFrom, or keep the Service's type ClusterIP. Upstream's "
        "chart has only ingressFrom, which also applies to the webhooks: allow the API server "
        "there."
    )
    problematic = "cleanupController:\n  metricsService: {type: NodePort}\n"
    correct = """\
cleanupController:
  metricsService: {type: NodePort}
  networkPolicy:
    enabled: true
    metricsFrom:
      - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}
"""

    def check_values(self, subject: ChartValues) -> Iterator[Diagnostic]:
        for key, _ in metrics_services(subject, "NodePort"):
            policy = mapping_at(subject.values, key, "networkPolicy")
            if policy.get("enabled") is not True:
                message = (
                    "the metrics are on a port of every node, open to anyone who can reach a node"
                )
                hint = f"set {key}.networkPolicy.enabled: true with metricsFrom, or type: ClusterIP"
                yield self.warning(message, subject.locate((key, "metricsService", "type")), hint)
