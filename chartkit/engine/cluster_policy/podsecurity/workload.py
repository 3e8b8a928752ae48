"""From an object to the pod that it is or makes."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Final

from chartkit.engine.cluster_policy.podsecurity.pod import Pod, pod_of
from chartkit.engine.kubernetes.pod_templates import CRON_JOB, POD_SPECS
from chartkit.errors import EvaluationError
from chartkit.go.types import GoTypes
from chartkit.model import Body, Resource

_TEMPLATE: Final = ("spec", "template")
_JOB_TEMPLATE: Final = ("spec", "jobTemplate")


def read_pod(resource: Resource) -> Pod:
    """The pod of a workload. Raises EvaluationError for other kinds and for wrong types.

    A CronJob's annotations are those of its job template, as Kyverno has it.
    """
    kind = resource.kind
    if kind == "Pod":
        pod = _types().decode("core/v1.Pod", resource.body)
        return _pod(pod, pod)
    if kind == CRON_JOB:
        job = _at(_types().decode("batch/v1.CronJob", resource.body), _JOB_TEMPLATE)
        return _pod(job, _at(job, _TEMPLATE))
    if kind in POD_SPECS:
        template = _at(_types().decode("apps/v1.Deployment", resource.body), _TEMPLATE)
        return _pod(template, template)
    raise EvaluationError("could not find correct resource type")


def _pod(described: Body, template: Body) -> Pod:
    return pod_of(_at(described, ("metadata", "annotations")), _at(template, ("spec",)))


def _at(body: Body, steps: tuple[str, ...]) -> Body:
    found = body
    for step in steps:
        found = found.get(step, {})
    return found


@cache
def _types() -> GoTypes:
    """The table that `tools/pod_types.py` makes."""
    text = files(__package__).joinpath("pod_types.json").read_text("utf-8")
    return GoTypes(json.loads(text)["types"])
