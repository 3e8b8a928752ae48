"""The controllers of Pods, and the paths of their Pod templates."""

from __future__ import annotations

from typing import Final, NamedTuple

TEMPLATE: Final = "spec.template"
CRON_TEMPLATE: Final = "spec.jobTemplate.spec.template"
CRON_JOB: Final = "CronJob"


class Controller(NamedTuple):
    """A kind that makes Pods; template: the path of its Pod template."""

    group: str
    version: str
    kind: str
    plural: str
    template: str = TEMPLATE


CONTROLLERS: Final = (
    Controller("apps", "v1", "DaemonSet", "daemonsets"),
    Controller("apps", "v1", "Deployment", "deployments"),
    Controller("batch", "v1", "Job", "jobs"),
    Controller("apps", "v1", "StatefulSet", "statefulsets"),
    Controller("apps", "v1", "ReplicaSet", "replicasets"),
    Controller("", "v1", "ReplicationController", "replicationcontrollers"),
    Controller("batch", "v1", CRON_JOB, "cronjobs", CRON_TEMPLATE),
)
POD_SPECS: Final = {each.kind: f"{each.template}.spec" for each in CONTROLLERS}
"""The path of the Pod's specification in each controller."""
