"""High availability of the engine, judged on the objects that Helm rendered.

Kyverno elects a leader in each controller, and its webhooks are answered by every admission
replica: three keep a majority while one is drained. Two are no better than one for that and are
refused everywhere. Budgets follow the disruption controller of Kubernetes: percentages are
rounded up, and a pod with two budgets cannot be evicted at all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from chartkit.kyverno.controllers import (
    ADMISSION,
    COMPONENT,
    CONTROLLERS,
    controllers,
    labels_of,
)
from chartkit.model import Diagnostic, Json, Resource, Severity, mapping_at

RULE_REPLICAS = "CK111"
RULE_TWO_ADMISSION = "CK112"
RULE_BUDGET = "CK113"
RULE_NO_ADMISSION = "CK114"


_NOT_TWO = "which is refused everywhere: no majority is left while one is drained"
TWO_REPLICAS = f"{ADMISSION} has 2 replicas, {_NOT_TWO}"
ONE_OR_THREE = "3, or 1 where it need not be highly available"

VALUES_KEYS = {
    RULE_REPLICAS: (("autoscaling", "minReplicas"), ("replicas",)),
    RULE_TWO_ADMISSION: (("autoscaling", "minReplicas"), ("replicas",)),
    RULE_BUDGET: (("podDisruptionBudget",),),
}
"""Below a controller's key, what decides each finding in the chart's values."""

_MINIMUM = {ADMISSION: 3}
_OTHER_MINIMUM = 2


def values_path(diagnostic: Diagnostic) -> tuple[str, ...] | None:
    """The key of the chart's values that decides a finding: the one that its hint names, or that
    of the number of replicas. None for a finding that no one key decides."""
    keys = VALUES_KEYS.get(diagnostic.rule_id, ())
    paths = [(controller, *key) for key in keys for controller in CONTROLLERS.values()]
    for path in paths:
        if diagnostic.hint and ".".join(path) in diagnostic.hint:
            return path
    named = [CONTROLLERS[component] for component in CONTROLLERS if component in diagnostic.message]
    return (named[0], *keys[-1]) if named and keys else None


def minimum(component: str) -> int:
    """The fewest replicas with which a controller is highly available."""
    return _MINIMUM.get(component, _OTHER_MINIMUM)


def judge(resources: Sequence[Resource], required: bool) -> list[Diagnostic]:
    """Return the faults of the engine's availability; required: whether it must be highly
    available. Errors are refused; a note says that there are more admission replicas than are
    needed."""
    present = controllers(resources)
    diagnostics: list[Diagnostic] = []
    if not any(controller.component == ADMISSION for controller in present):
        message = "no admission controller is rendered"
        hint = f"it is a Deployment with the label {COMPONENT}: {ADMISSION}"
        diagnostics.append(Diagnostic(RULE_NO_ADMISSION, Severity.ERROR, message, None, hint))
    for controller in present:
        count, component = controller.replicas, controller.component
        location = (controller.scaler or controller.deployment).location
        what = f"{component} has {'at least ' if controller.scaler else ''}{count} replica"
        what += "" if count == 1 else "s"
        least = minimum(component)
        hint = f"set {controller.values_key}: {least}"
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            message = f"{component} has {count!r} for its number of replicas"
            diagnostics.append(Diagnostic(RULE_REPLICAS, Severity.ERROR, message, location, hint))
        elif component == ADMISSION and count == 2:
            message = f"{what}, {_NOT_TWO}"
            advice = hint if required else f"set {controller.values_key}: {ONE_OR_THREE}"
            diagnostics.append(
                Diagnostic(RULE_TWO_ADMISSION, Severity.ERROR, message, location, advice)
            )
        elif required and count < least:
            message = f"{what}, and this environment must be highly available"
            diagnostics.append(Diagnostic(RULE_REPLICAS, Severity.ERROR, message, location, hint))
        elif required and component == ADMISSION and count > least:
            message = f"{what}; {least} are enough to be highly available"
            diagnostics.append(Diagnostic(RULE_REPLICAS, Severity.NOTE, message, location, None))
        budgets = [resource for resource in resources if _covers(resource, controller.deployment)]
        key = f"{CONTROLLERS[component]}.podDisruptionBudget"
        if len(budgets) > 1:
            names = ", ".join(resource.name for resource in budgets)
            message = f"{component} has two disruption budgets ({names})"
            message += ": a pod with more than one is never evicted"
            location, hint = budgets[1].location, f"keep one, see {key}"
            diagnostics.append(Diagnostic(RULE_BUDGET, Severity.ERROR, message, location, hint))
        for budget in budgets:
            reason = _blocking(mapping_at(budget.body, "spec"), count)
            if reason:
                message = f"the disruption budget of {component} blocks every drain: {reason}"
                hint, location = f"set {key}.maxUnavailable: 1 or more replicas", budget.location
                diagnostics.append(Diagnostic(RULE_BUDGET, Severity.ERROR, message, location, hint))
    return diagnostics


def _blocking(spec: Mapping[str, Any], replicas: Json) -> str | None:
    """Return why no Pod may ever be evicted, or None."""
    if not isinstance(replicas, int) or replicas < 1:
        return None
    if spec.get("maxUnavailable") is not None:
        amount = spec["maxUnavailable"]
        unavailable = _amount(amount, replicas)
        if unavailable is None:
            return f"maxUnavailable {amount!r} is neither a number nor a percentage"
        return None if unavailable > 0 else f"maxUnavailable is {amount}"
    if spec.get("minAvailable") is not None:
        amount = spec["minAvailable"]
        available = _amount(amount, replicas)
        if available is None:
            return f"minAvailable {amount!r} is neither a number nor a percentage"
        if available < replicas:
            return None
        return f"minAvailable is {amount} of {replicas} replica{'s' if replicas > 1 else ''}"
    return "it has neither minAvailable nor maxUnavailable"


def _amount(value: Json, replicas: int) -> int | None:
    """A number of pods, or a percentage of them rounded up."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value.endswith("%") and value[:-1].isdigit():
        return math.ceil(int(value[:-1]) * replicas / 100)
    return None


def _covers(budget: Resource, deployment: Resource) -> bool:
    if budget.kind != "PodDisruptionBudget" or budget.namespace != deployment.namespace:
        return False
    selector = mapping_at(budget.body, "spec").get("selector")
    labels = labels_of(mapping_at(mapping_at(deployment.body, "spec"), "template"))
    if not isinstance(selector, dict):
        return False
    wanted = mapping_at(selector, "matchLabels")
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_expression(row, labels) for row in selector.get("matchExpressions") or ())


def _expression(expression: Mapping[str, Any], labels: Mapping[str, Any]) -> bool:
    value, values = labels.get(str(expression.get("key"))), expression.get("values") or ()
    match expression.get("operator"):
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    return False
