"""Requests that between them show what each value of the policies chart does."""

from copy import deepcopy
from typing import Final

from chartkit.engine.request import Operation, Request, User
from chartkit.model import Body, Location, Resource
from tests.objects import api_object

_ACCOUNT = "system:serviceaccount:kyverno:kyverno-background-controller"
_HOST_PATH: Body = {"volumes": [{"name": "a", "hostPath": {"path": "/etc"}}]}
_CONTROLLERS = {"Deployment": "apps/v1", "StatefulSet": "apps/v1", "CronJob": "batch/v1"}
NAMESPACES: Final = {
    name: {"kubernetes.io/metadata.name": name}
    for name in ("default", "sandbox", "prod-a", "kyverno")
}
"""The namespaces of the requests, with their labels."""


def _pod(name: str = "default", labels: Body | None = None, **spec: object) -> Body:
    metadata: Body = {"name": "a", "namespace": name}
    if labels:
        metadata["labels"] = labels
    containers = [{"name": "a", "image": "a:1"}]
    return api_object("v1", "Pod", metadata, spec={"containers": containers, **spec})


def _controller(kind: str) -> Body:
    pod = _pod()
    template = {"metadata": {}, "spec": pod["spec"]}
    spec: Body = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    if kind == "CronJob":
        spec = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template}}}
    return api_object(_CONTROLLERS[kind], kind, dict(pod["metadata"]), spec=spec)


def _request(
    body: Body, user: User | None = None, operation: Operation = Operation.CREATE
) -> Request:
    place = Location("requests")
    old = Resource(deepcopy(body), place) if operation is Operation.UPDATE else None
    labels = NAMESPACES[body["metadata"]["namespace"]]
    return Request(Resource(body, place), old, operation, user, labels)


REQUESTS: Final = {
    "create": _request(_pod()),
    "labelled": _request(_pod(labels={"team": "a"})),
    "update of what was wrong": _request(_pod(), operation=Operation.UPDATE),
    "host path": _request(_pod(**_HOST_PATH)),
    "by root": _request(_pod(), User("root")),
    "by the background controller": _request(_pod(), User(_ACCOUNT)),
    **{f"in {name}": _request(_pod(name)) for name in NAMESPACES},
    **{kind: _request(_controller(kind)) for kind in _CONTROLLERS},
}
"""By what each is about."""
