"""The engine chart: Kyverno itself, with the values people of the upstream chart already have."""

from __future__ import annotations

from collections.abc import Mapping

from chartkit.chart.plan import ChartPlan

CHART_NAME = "kyverno"
CHART_VERSION = "3.9.0"
APP_VERSION = "v1.19.0"
SUPPORTED_KYVERNO = "1.19"


def plan(high_availability: Mapping[str, bool], kube_version: str) -> ChartPlan:
    """The chart for these environments.

    high_availability: environment name to whether it must be highly available; kube_version: the
    range of Kubernetes versions for Chart.yaml, such as `>=1.33-0 <1.36-0`.
    """
    raise NotImplementedError((dict(high_availability), kube_version))
