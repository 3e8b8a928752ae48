"""Defaults of HorizontalPodAutoscalers: metrics and scaling rules."""

from __future__ import annotations

from typing import Any, Final

from chartkit.model import Body
from chartkit.scan.api_defaults.shape import Shape, at, copied

_CPU: Final[Body] = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
}
_METRICS_ANNOTATION: Final = "autoscaling.alpha.kubernetes.io/metrics"
_PERIOD: Final = 15
_PERCENT: Final = {"type": "Percent", "value": 100, "periodSeconds": _PERIOD}
_PODS: Final = {"type": "Pods", "value": 4, "periodSeconds": _PERIOD}
_RULES: Final[dict[str, dict[str, Any]]] = {
    "scaleUp": {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [_PODS, _PERCENT],
    },
    "scaleDown": {"selectPolicy": "Max", "policies": [_PERCENT]},
}
_AMOUNTS: Final = Shape(amounts=("value", "averageValue"))
METRICS: Final = {
    f"metrics[].{source}.target": _AMOUNTS
    for source in ("resource", "containerResource", "pods", "object", "external")
}


def fill_behavior(spec: Body) -> None:
    """Fill in metrics, and the rules of both directions if one is given."""
    if not spec.get("metrics"):
        spec["metrics"] = [copied(_CPU)]
    behavior = spec.get("behavior")
    if not isinstance(behavior, dict):
        return
    for direction, defaults in _RULES.items():
        rules = behavior.setdefault(direction, {})
        if isinstance(rules, dict):
            rules.update({key: copied(one) for key, one in defaults.items() if key not in rules})


def fill_target(scaler: Body) -> None:
    """Fill in an object of autoscaling/v1, which keeps other metrics in an annotation."""
    if any(_METRICS_ANNOTATION in one for one in at(scaler, "metadata.annotations")):
        return
    for spec in at(scaler, "spec"):
        spec.setdefault("targetCPUUtilizationPercentage", 80)
