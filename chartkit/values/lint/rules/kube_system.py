"""CK013: webhooks that see kube-system and fail closed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chartkit.model import Body, Diagnostic, Json, mapping_at, mappings_at
from chartkit.values.lint.rule import ChartValues, Rule

_SYSTEM: Final = "kube-system"
_NAME_LABEL: Final = "kubernetes.io/metadata.name"


class KubeSystem(Rule):
    id = "CK013"
    what = "Webhooks that see kube-system and fail closed."
    why = (
        "While Kyverno is down, the API server refuses what its webhooks see. The network and DNS "
        "Pods that Kyverno itself needs cannot be created then, and the cluster does not recover."
    )
    do = "Exclude kube-system in config.webhooks.namespaceSelector."
    problematic = "config:\n  webhooks:\n    namespaceSelector: {matchExpressions: []}\n"
    correct = """\
config:
  webhooks:
    namespaceSelector:
      matchExpressions:
        - {key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system]}
"""

    def check_values(self, subject: ChartValues) -> Iterator[Diagnostic]:
        if "webhooks" not in mapping_at(subject.defaults.body, "config"):
            return  # not the engine's chart
        webhooks = mapping_at(subject.values, "config").get("webhooks")
        features = mapping_at(subject.values, "features")
        if mapping_at(features, "forceFailurePolicyIgnore").get("enabled") is True:
            return
        if isinstance(webhooks, list) or _excludes(mapping_at(webhooks, "namespaceSelector")):
            return
        message = "the webhooks see kube-system: while Kyverno is away, its pods cannot be made "
        message += "anew"
        hint = f"add {_NAME_LABEL} NotIn [{_SYSTEM}] to config.webhooks.namespaceSelector"
        location = subject.locate(("config", "webhooks", "namespaceSelector", "matchExpressions"))
        yield self.warning(message, location, hint)


def _excludes(selector: Body) -> bool:
    """Report whether a selector of namespaces excludes kube-system."""
    labels = selector.get("matchLabels")
    if isinstance(labels, dict) and labels.get(_NAME_LABEL, _SYSTEM) != _SYSTEM:
        return True
    return any(map(_requires_other, mappings_at(selector, "matchExpressions")))


def _requires_other(expression: Body) -> bool:
    values: Json = expression.get("values")
    if expression.get("key") != _NAME_LABEL:
        # Another label may exclude it: which labels the cluster's namespaces have is not known.
        return expression.get("operator") in ("In", "Exists")
    there = isinstance(values, list) and _SYSTEM in values
    return there if expression.get("operator") == "NotIn" else not there
