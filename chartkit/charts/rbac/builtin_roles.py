"""The permissions that Kyverno's controllers have anyway.

The engine's chart gives its controllers what `sources/kyverno/controllers.yaml` says, which is what
Kyverno's own chart 3.9.0 gives; all but the cleanup controller are bound to Kubernetes' role `view`
as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

from chartkit.charts.engine.controllers import describe
from chartkit.charts.rbac.requirements import Controller
from chartkit.model import Body

READ: Final = frozenset({"get", "list", "watch"})

_VIEW: Final[Mapping[str, str]] = MappingProxyType(
    {
        "": "bindings configmaps endpoints events limitranges namespaces namespaces/status "
        "persistentvolumeclaims persistentvolumeclaims/status pods pods/log pods/status "
        "replicationcontrollers replicationcontrollers/scale replicationcontrollers/status "
        "resourcequotas resourcequotas/status serviceaccounts services services/status",
        "apps": "controllerrevisions daemonsets daemonsets/status deployments deployments/scale "
        "deployments/status replicasets replicasets/scale replicasets/status statefulsets "
        "statefulsets/scale statefulsets/status",
        "autoscaling": "horizontalpodautoscalers horizontalpodautoscalers/status",
        "batch": "cronjobs cronjobs/status jobs jobs/status",
        "discovery.k8s.io": "endpointslices",
        "networking.k8s.io": "ingresses ingresses/status networkpolicies",
        "policy": "poddisruptionbudgets poddisruptionbudgets/status",
    }
)
"""The resources that Kubernetes' role `view` lets one read, by groups. Source: Kubernetes'
bootstrap policy, system:aggregate-to-view. Additional components may extend the role."""


@cache
def granted(controller: Controller) -> Mapping[tuple[str, str], frozenset[str]]:
    """The verbs that a controller has by (group, resource); rules for single objects, or under
    a condition of the chart's values, do not count."""
    (description,) = (
        each for each in describe()["controllers"] if each["component"] == controller.value
    )
    found: dict[tuple[str, str], frozenset[str]] = {}
    if description["view"]:
        for group, resources in _VIEW.items():
            found |= {(group, resource): READ for resource in resources.split()}
    for rule in description["clusterRole"]:
        if not rule["when"] and not rule["names"]:
            _add(found, rule["groups"], rule)
    for rule in description["extraResources"]:
        _add(found, rule["apiGroups"], rule)
    return MappingProxyType(found)


def _add(found: dict[tuple[str, str], frozenset[str]], groups: list[str], rule: Body) -> None:
    for group in groups:
        for resource in rule["resources"]:
            has = found.get((group, resource), frozenset())
            found[group, resource] = has | frozenset(rule["verbs"])
