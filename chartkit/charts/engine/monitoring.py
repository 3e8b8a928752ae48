"""Values for monitoring: from chartkit.yaml to the engine chart's metrics services, monitors and
rules of all four controllers; and the dashboard for Grafana, from a description of its panels.

The alert rules are a file of the engine's chart, for any Prometheus; the Prometheus operator gets
the same groups through `prometheusRule.spec`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from chartkit.charts.engine.controllers import SOURCE
from chartkit.charts.plan import REPORTER, ChartPlan, layered, member, values_file
from chartkit.documents.reader import read_file
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.library.templating import render_yaml
from chartkit.model import Body, Json
from chartkit.project.monitoring import Mode, Monitoring, PolicyReporter

ALERTS_FILE: Final = "alerts/kyverno-alerts.yaml"
"""The alert rules, in the engine's chart."""

API: Final = "monitoring.coreos.com/v1"
"""The API version of the Prometheus operator's resources."""
DASHBOARD_FILE = "dashboards/kyverno-dashboard.json"
_RATE = "$__rate_interval"
_WIDTH = 24
_HEIGHTS = {"stat": 4, "timeseries": 8, "table": 9}
_DATA_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
"""A variable: imports by hand and sidecars resolve it, and `__inputs` the former alone."""
_OPEN_ROW = {"collapsed": False, "panels": []}


def monitoring_values(
    monitoring: Monitoring, controllers: Iterable[Body], metrics_apart: bool = True
) -> Body:
    """The values of the engine's chart. controllers: as `engine_source.describe` has them;
    metrics_apart: whether the chart's network policies can tell the metrics from the webhooks, as
    ours can and upstream's cannot."""
    match monitoring.mode:
        case Mode.OPERATOR:
            selected = {"enabled": True, "additionalLabels": dict(monitoring.labels)}
            return {
                **{row["key"]: {"serviceMonitor": dict(selected)} for row in controllers},
                "grafana": {"enabled": True},
                "prometheusRule": {**selected, "spec": alert_groups()},
            }
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


def _network_policy(sources: Iterable[str], controller: Body, metrics_apart: bool) -> Body:
    """A controller with webhooks stays open to the API server, whose address is unknown; it has no
    policy where that would shut the API server out."""
    key = "metricsFrom" if controller["service"] else "ingressFrom"
    if controller["service"] and not metrics_apart:
        return {}
    peers = [{"ipBlock": {"cidr": source}} for source in sources]
    return {"networkPolicy": {"enabled": True, key: peers}}


def alert_groups() -> list[Json]:
    """The groups of alert rules."""
    groups: list[Json] = read_file(SOURCE / "chart" / ALERTS_FILE)[0].body["groups"]
    return groups


def dashboard() -> str:
    """The dashboard as Grafana imports it."""
    source: Body = read_file(SOURCE / "dashboard.yaml")[0].body
    panels = enumerate(_panels(source["rows"], source["filter"]), start=1)
    body = {**source["dashboard"], "panels": [{"id": number, **panel} for number, panel in panels]}
    return json.dumps(body, indent=1) + "\n"


def _panels(rows: list[Mapping[str, Any]], shown: str) -> Iterator[Body]:
    top = 0
    for row in rows:
        position = _place(0, top, _WIDTH, 1)
        yield {"type": "row", "title": row["title"], "gridPos": position, **_OPEN_ROW}
        top += 1
        left = 0
        height = max(_HEIGHTS[kind] for _, _, kind, _ in row["panels"])
        width = _WIDTH // min(len(row["panels"]), 4 if row is rows[0] else 2)
        for title, unit, kind, queries in row["panels"]:
            panel = {
                "type": kind,
                "title": title,
                "datasource": _DATA_SOURCE,
                "fieldConfig": {"defaults": {"unit": unit}, "overrides": []},
                "targets": [
                    {
                        "refId": chr(ord("A") + number),
                        "datasource": _DATA_SOURCE,
                        "expr": query.replace("{f}", shown).replace("{r}", _RATE),
                        "legendFormat": legend,
                        **({"format": "table", "instant": True} if kind == "table" else {}),
                    }
                    for number, (legend, query) in enumerate(queries.items())
                ],
            }
            yield panel | {"gridPos": _place(left, top, width, height)}
            left += width
            if left >= _WIDTH:
                left, top = 0, top + height
        top += height if left else 0


def _place(left: int, top: int, width: int, height: int) -> Body:
    return {"x": left, "y": top, "w": width, "h": height}


def plan(environments: Mapping[str, tuple[PolicyReporter, Monitoring | None]]) -> ChartPlan:
    """The values files, of the environments that want policy-reporter."""
    own = {name: chart_values(*settings) for name, settings in environments.items()}
    values = {
        values_file(name): f"# policy-reporter in the environment {name}, for its chart "
        f"{environments[member(name, environments)][0].version}.\n{dump_yaml(body) if body else ''}"
        for name, body in layered(own).items()
    }
    return ChartPlan(REPORTER, {}, values)


def chart_values(reporter: PolicyReporter, monitoring: Monitoring | None) -> Body:
    """The values of an environment; monitoring: how it is monitored, None where it is not."""
    context = {"reporter": reporter, "monitoring": monitoring}
    body: Body = render_yaml(SOURCE / "policy-reporter.yaml.j2", context)[0].body
    return body
