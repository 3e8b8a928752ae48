"""Values for policy-reporter's own chart, an environment a file, by the keys its version has.

The chart is not chartkit's: the files are for `helm install -f`, or for a copy of the chart that
stands beside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from chartkit.charts.layers import layered, member, values_file
from chartkit.charts.plan import REPORTER, ChartPlan
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.model import Body
from chartkit.project.monitoring import Mode, Monitoring
from chartkit.project.policy_reporter import Ingress, PolicyReporter


def _plugin_2(enabled: bool) -> Body:
    return {"kyvernoPlugin": {"enabled": enabled}, "global": {"plugins": {"kyverno": enabled}}}


def _plugin_3(enabled: bool) -> Body:
    return {"plugin": {"kyverno": {"enabled": enabled}}}


_PLUGIN: Final = MappingProxyType({2: _plugin_2, 3: _plugin_3})
"""The switch of the Kyverno plugin, by the chart's major version; in 2.x the plugin is a
subchart, and the UI shows its pages by a switch of its own."""


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
    ui: Body = {"enabled": reporter.ui}
    if reporter.ingress:
        ui["ingress"] = _ingress_values(reporter.ingress)
    if reporter.service:
        ui["service"] = {"type": reporter.service}
    values = {"ui": ui, **_PLUGIN[reporter.version.major](reporter.plugin)}
    if monitoring:
        values["metrics"] = {"enabled": True}
    if monitoring and monitoring.mode is Mode.OPERATOR:
        values["monitoring"] = {
            "enabled": True,
            "serviceMonitor": {"labels": dict(monitoring.labels)},
        }
    return values


def _ingress_values(ingress: Ingress) -> Body:
    paths = [{"path": "/", "pathType": "Prefix"}]
    values: Body = {"enabled": True}
    if ingress.class_name:
        values["className"] = ingress.class_name
    if ingress.annotations:
        values["annotations"] = dict(ingress.annotations)
    values["hosts"] = [{"host": ingress.host, "paths": paths}]
    if ingress.secret:
        values["tls"] = [{"secretName": ingress.secret, "hosts": [ingress.host]}]
    return values
