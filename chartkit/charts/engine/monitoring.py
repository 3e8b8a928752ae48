"""Values for monitoring: from chartkit.yaml to the engine chart's metrics services, monitors and
rules of all four controllers.

The alert rules are a file of the engine's chart, for any Prometheus; the Prometheus operator gets
the same groups through `prometheusRule.spec`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from chartkit.charts.engine.controllers import SOURCE
from chartkit.documents.reader import read_file
from chartkit.model import Body, Json
from chartkit.project.monitoring import Mode, Monitoring

ALERTS_FILE: Final = "alerts/kyverno-alerts.yaml"
"""The alert rules, in the engine's chart."""

API: Final = "monitoring.coreos.com/v1"
"""The API version of the Prometheus operator's resources."""


def monitoring_values(
    monitoring: Monitoring, controllers: Iterable[Body], metrics_apart: bool = True
) -> Body:
    """The values of the engine's chart.

    controllers: as `engine_source.describe` has them; metrics_apart: whether the chart's network
    policies can tell the metrics from the webhooks, as ours can and upstream's cannot.
    """
    match monitoring.mode:
        case Mode.OPERATOR:
            return _operator_values(monitoring.labels, controllers)
        case Mode.NODE_PORT:
            return {
                controller["key"]: {
                    "metricsService": {"type": "NodePort", "nodePort": port},
                    **_network_policy(monitoring.sources, controller, metrics_apart),
                }
                for port, controller in enumerate(controllers, start=monitoring.node_port)
            }
        case Mode.LOAD_BALANCER:
            return {
                controller["key"]: {
                    "metricsService": {
                        "type": "LoadBalancer",
                        "annotations": dict(monitoring.annotations),
                    },
                    **_network_policy(monitoring.sources, controller, metrics_apart),
                }
                for controller in controllers
            }


def _operator_values(labels: Mapping[str, str], controllers: Iterable[Body]) -> Body:
    selected = {"enabled": True, "additionalLabels": dict(labels)}
    return {
        **{controller["key"]: {"serviceMonitor": dict(selected)} for controller in controllers},
        "grafana": {"enabled": True},
        "prometheusRule": {**selected, "spec": alert_groups()},
    }


def _network_policy(sources: Iterable[str], controller: Body, metrics_apart: bool) -> Body:
    """A controller with webhooks stays open to the API server, whose address nobody can know; it
    has no policy where that would shut it out."""
    key = "metricsFrom" if controller["service"] else "ingressFrom"
    if controller["service"] and not metrics_apart:
        return {}
    peers = [{"ipBlock": {"cidr": source}} for source in sources]
    return {"networkPolicy": {"enabled": True, key: peers}}


def alert_groups() -> list[Json]:
    """The groups of alert rules."""
    groups: list[Json] = read_file(SOURCE / "chart" / ALERTS_FILE)[0].body["groups"]
    return groups
