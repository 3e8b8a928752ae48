"""Kinds and fields of an environment's objects that its Kubernetes does not have."""

from __future__ import annotations

from collections.abc import Iterable

from chartkit.engine.kubernetes.served import minor_of
from chartkit.render.chart import CheckTarget
from chartkit.render.checks.engine import read_workload
from chartkit.render.model import OBJECT_FIELDS, Row, findings
from chartkit.scan.custom_resources.definitions import read_definitions
from chartkit.scan.ineffective import ObjectFaults
from chartkit.scan.inputs import is_definition


def object_fields(subject: CheckTarget) -> Iterable[Row]:
    """Yield a warning for each kind and field that the objects of workloads and of other charts
    have, and the environment's Kubernetes does not, or the definition of a custom kind."""
    env = subject.environment
    resources = [
        resource
        for workload in subject.workloads
        for resource in read_workload(subject.project, workload, env.kube_version)[0]
    ]
    for chart in subject.others:
        rendered = chart.rendered()
        resources += (*rendered.crds, *rendered.resources)
    definitions = read_definitions(filter(is_definition, resources))
    faults = ObjectFaults(minor_of(env.kube_version), definitions)
    faults.add(resources)
    return findings(env.name, OBJECT_FIELDS, faults.diagnostics(), env.locate())
