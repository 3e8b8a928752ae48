"""Values for policy-reporter's own chart, an environment a file, by the keys its version has.

The chart is not chartkit's: the files are for `helm install -f`, or for a copy of the chart that
stands beside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from chartkit.charts.engine.monitoring import Mode, Monitoring
from chartkit.charts.plan import ChartPlan
from chartkit.kyverno.versions import Version, parse_version
from chartkit.documents.reader import Document
from chartkit.errors import InputError
from chartkit.model import Body
from chartkit.documents.yaml_dump import dump_yaml

CHART_NAME: Final = "policy-reporter"
KEY: Final = "policyReporter"


def _plugin_2(enabled: bool) -> Body:
    return {"kyvernoPlugin": {"enabled": enabled}, "global": {"plugins": {"kyverno": enabled}}}


def _plugin_3(enabled: bool) -> Body:
    return {"plugin": {"kyverno": {"enabled": enabled}}}


_PLUGIN: Final = MappingProxyType({2: _plugin_2, 3: _plugin_3})
"""How the Kyverno plugin is switched, by the chart's major version; in 2.x the plugin is a
subchart, and the UI shows its pages for a switch of its own."""


@dataclass(frozen=True, slots=True)
class Ingress:
    """The way to the UI from outside.

    class_name: the controller's, empty for the cluster's default; secret: a TLS Secret that is
    there already, empty for none.
    """

    host: str
    class_name: str
    annotations: Mapping[str, str]
    secret: str


@dataclass(frozen=True, slots=True)
class PolicyReporter:
    """What an environment wants of policy-reporter.

    version: its chart's; service: the type of the UI's Service, empty for the chart's default.
    """

    version: Version
    ui: bool
    plugin: bool
    ingress: Ingress | None
    service: str = ""


def read_policy_reporter(document: Document, place: tuple[str, str]) -> PolicyReporter | None:
    """What an environment of a project file says, None where it says nothing.

    place: the keys that lead to the environment. Raises InputError for a version whose keys are
    not known, and for an ingress to a UI that is off.
    """
    body = document.body[place[0]][place[1]].get(KEY)
    if body is None:
        return None
    at = (*place, KEY)
    version = parse_version(
        body["version"], "policy-reporter's chart", document.locate(*at, "version")
    )
    if version.major not in _PLUGIN:
        known = " and ".join(f"{major}.x" for major in _PLUGIN)
        message = f"the keys of policy-reporter's chart {version} are not known"
        raise InputError(message, document.locate(*at, "version"), f"{known} are")
    ui = body.get("ui", True)
    if "ingress" in body and not ui:
        hint = "leave the ingress out, or set ui: true"
        raise InputError("leads to a UI that is off", document.locate(*at, "ingress"), hint)
    if "service" in body and not ui:
        hint = "leave the service out, or set ui: true"
        raise InputError("is of a UI that is off", document.locate(*at, "service"), hint)
    plugin, ingress = body.get("plugin", True), _ingress(body.get("ingress"))
    return PolicyReporter(version, ui, plugin, ingress, body.get("service", ""))


def _ingress(body: Body | None) -> Ingress | None:
    if body is None:
        return None
    return Ingress(
        body["host"],
        body.get("className", ""),
        MappingProxyType(dict(body.get("annotations", {}))),
        body.get("tlsSecret", ""),
    )


def plan(environments: Mapping[str, tuple[PolicyReporter, Monitoring | None]]) -> ChartPlan:
    """The values files, of the environments that want policy-reporter."""
    values = {
        f"values_{name}.yaml": f"# policy-reporter in the environment {name}, for its chart "
        f"{reporter.version}.\n{dump_yaml(chart_values(reporter, monitoring))}"
        for name, (reporter, monitoring) in environments.items()
    }
    return ChartPlan(CHART_NAME, {}, values)


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
