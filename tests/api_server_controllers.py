"""What runs in a cluster beside the API server, for `tests.api_server`: Kubernetes' controllers,
and Kyverno."""

from dataclasses import dataclass

from chartkit.model import Body
from tests.api_server import Api, ApiServer
from tests.api_server_http import Refused, Request

_ADMISSION = "kyverno-admission-controller"
_HOOKS = "/apis/admissionregistration.k8s.io/v1"
_LABELS = {"webhook.kyverno.io/managed-by": "kyverno"}
_NAMES = (
    f"{_HOOKS}/validatingwebhookconfigurations/kyverno-policy-validating-webhook-cfg",
    f"{_HOOKS}/mutatingwebhookconfigurations/kyverno-resource-mutating-webhook-cfg",
)
_GROUPS = ("kyverno.io", "policies.kyverno.io")


@dataclass
class Controllers:
    """replicas: whether Pods become ready; ready: whether Kyverno calls policies ready; jobs:
    whether jobs succeed; cleans: whether Kyverno's clean-up job does what it is for."""

    replicas: bool = True
    ready: bool = True
    jobs: bool = True
    cleans: bool = True

    def attach(self, server: ApiServer) -> ApiServer:
        """Makes them watch a server."""
        server.written = self.written
        server.admit = lambda request: self.admit(server, request)
        return server

    def written(self, server: ApiServer, path: str, body: Body | None) -> None:
        """What follows from an object that was written, or deleted (None)."""
        name = path.rpartition("/")[2]
        if body is None:
            if "/deployments/" in path:
                server.put(_pod(name), None)
            elif "/customresourcedefinitions/" in path:
                _no_longer_served(server, name)
            return
        kind = body["kind"]
        if kind == "CustomResourceDefinition":
            _serve(server, path, body)
        elif kind == "Deployment":
            self._deployed(server, path, body)
        elif kind == "Job":
            self._job(server, path, body)
        elif body["apiVersion"].partition("/")[0] in _GROUPS:
            if self.ready:
                _status(server, path, {"conditionStatus": {"ready": True}})
        elif kind == "Pod":
            _status(server, path, {"phase": "Succeeded"})

    def admit(self, server: ApiServer, request: Request) -> None:
        """Calls Kyverno's webhook for policies, which refuses all while nothing answers there."""
        hooked = _NAMES[0] in server.objects
        about_policies = any(f"/apis/{group}/" in request.path for group in _GROUPS)
        if hooked and about_policies and request.method in ("POST", "PATCH", "PUT"):
            deployment = server.objects.get(
                f"/apis/apps/v1/namespaces/kyverno/deployments/{_ADMISSION}"
            )
            if deployment is None or not deployment.get("status", {}).get("availableReplicas"):
                raise Refused(500, "InternalError", "failed calling webhook")

    def _deployed(self, server: ApiServer, path: str, body: Body) -> None:
        name = body["metadata"]["name"]
        count = body["spec"].get("replicas", 1) if self.replicas else 0
        _status(server, path, {"updatedReplicas": count, "availableReplicas": count})
        labels = body["spec"]["template"]["metadata"]["labels"]
        pod = {"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Running"}}
        metadata = {"name": name, "namespace": "kyverno", "labels": labels}
        server.put(_pod(name), {**pod, "metadata": metadata})
        if name == _ADMISSION and count:
            write_webhooks(server)

    def _job(self, server: ApiServer, path: str, body: Body) -> None:
        outcome = "Complete" if self.jobs else "Failed"
        condition = {"type": outcome, "status": "True"}
        reached = {"type": "SuccessCriteriaMet", "status": "True"}
        _status(server, path, {"succeeded": int(self.jobs), "conditions": [reached, condition]})
        if self.jobs and self.cleans and body["metadata"]["name"].endswith("-rm-webhooks"):
            for name in _NAMES:
                server.put(name, None)


def write_webhooks(server: ApiServer) -> None:
    """Writes the configurations that Kyverno writes while it runs."""
    for path in _NAMES:
        collection, _, name = path.rpartition("/")
        kind = server.apis[collection].kind
        hook = {"name": "validate.kyverno.svc", "clientConfig": {"caBundle": "Q0E="}}
        server.put(
            path,
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": kind,
                "metadata": {"name": name, "labels": dict(_LABELS)},
                "webhooks": [hook],
            },
        )


def _serve(server: ApiServer, path: str, body: Body) -> None:
    spec = body["spec"]
    names, namespaced = spec["names"], spec["scope"] == "Namespaced"
    for version in spec["versions"]:
        server.serve(
            Api(spec["group"], version["name"], names["plural"], names["kind"], namespaced)
        )
    _status(server, path, {"conditions": [{"type": "Established", "status": "True"}]})


def _no_longer_served(server: ApiServer, name: str) -> None:
    plural, _, group = name.partition(".")
    gone = [key for key, api in server.apis.items() if (api.plural, api.group) == (plural, group)]
    for key in gone:
        kind = server.apis.pop(key).kind
        for path, body in list(server.objects.items()):
            if body["kind"] == kind and body["apiVersion"].partition("/")[0] == group:
                server.put(path, None)


def _status(server: ApiServer, path: str, status: Body) -> None:
    server.put(path, {**server.objects[path], "status": status})


def _pod(deployment: str) -> str:
    return f"/api/v1/namespaces/kyverno/pods/{deployment}"
