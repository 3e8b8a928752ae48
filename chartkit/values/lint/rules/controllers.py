"""Controllers: how many there are, and the definitions that their objects need: CK005, CK009,
CK112."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chartkit.charts.engine.high_availability import (
    ONE_OR_THREE,
    RULE_TWO_ADMISSION,
    TWO_REPLICAS,
    minimum,
)
from chartkit.kyverno.controllers import ADMISSION, CONTROLLERS
from chartkit.model import Severity, leaves, mapping_at
from chartkit.values.lint.rule import ChartValues, Fault, Stage, values_rule

_MONITORING: Final = "monitoring.coreos.com/v1"
_SWITCHES: Final = frozenset({("serviceMonitor", "enabled"), ("prometheusRule", "enabled")})


@values_rule("CK009")
def low_autoscaling(subject: ChartValues) -> Iterator[Fault]:
    """Autoscalers that may leave too few replicas."""
    for component, key in CONTROLLERS.items():
        scaler = mapping_at(subject.values, key, "autoscaling")
        fewest = scaler.get("minReplicas", 1)
        least = minimum(component)
        if scaler.get("enabled") is True and isinstance(fewest, int) and fewest < least:
            message = f"may scale down to {fewest}, and {least} are highly available"
            hint = f"set {key}.autoscaling.minReplicas: {least}; 'replicas' does not count "
            hint += "beside it"
            yield Fault(message, subject.locate((key, "autoscaling", "enabled")), hint)


@values_rule(RULE_TWO_ADMISSION, Stage.REFUSED)
def two_admission_controllers(subject: ChartValues) -> Iterator[Fault]:
    """Two admission controllers."""
    key = CONTROLLERS[ADMISSION]
    values = mapping_at(subject.values, key)
    scaler = mapping_at(values, "autoscaling")
    path = ("autoscaling", "minReplicas") if scaler.get("enabled") is True else ("replicas",)
    count = (scaler if len(path) > 1 else values).get(path[-1])
    if count == 2 and not isinstance(count, bool):
        hint = f"set {'.'.join((key, *path))}: {ONE_OR_THREE}"
        yield Fault(TWO_REPLICAS, subject.locate((key, *path)), hint)


@values_rule("CK005")
def missing_definition(subject: ChartValues) -> Iterator[Fault]:
    """Custom resources whose definition the environment does not have."""
    if subject.apis.get(_MONITORING) is not False:
        return
    for path, value in leaves(subject.values):
        if path[-2:] == ("serviceMonitor", "enabled") and value is True:
            name = ".".join(map(str, path))
            message = f"'{name}' is true, and the environment has no {_MONITORING}"
            hint = "install the Prometheus operator first and say so under apis in "
            hint += f"chartkit.yaml, or set {name}: false"
            yield Fault(message, subject.locate(path), hint)


@missing_definition.rendered
def _without_definition(subject: ChartValues) -> Iterator[Fault]:
    for resource in subject.resources:
        version = resource.api_version
        if subject.apis.get(version) is False and resource.kind != "ServiceMonitor":
            message = f"{resource.kind} {resource.name} needs {version}, which is not there"
            hint = "install its definition first, and say so under apis in chartkit.yaml"
            yield Fault(message, resource.location, hint)
    if _MONITORING in subject.apis:
        return
    # A warning where the environment does not say whether monitors have a definition.
    enabled = [
        path for path, value in leaves(subject.values) if path[-2:] in _SWITCHES and value is True
    ]
    rendered = [resource for resource in subject.resources if resource.api_version == _MONITORING]
    if not enabled and not rendered:
        return
    if rendered:
        kinds = ", ".join(f"{resource.kind} {resource.name}" for resource in rendered)
        message = f"{kinds}: nothing says whether the cluster has {_MONITORING}, which they need"
    else:
        name = ".".join(map(str, enabled[0]))
        message = f"'{name}' is true and renders nothing: nothing says that there is {_MONITORING}"
    hint = f"say under apis in chartkit.yaml whether it is there: {_MONITORING}: true"
    location = subject.locate(enabled[0]) if enabled else rendered[0].location
    yield Fault(message, location, hint, Severity.WARNING)
