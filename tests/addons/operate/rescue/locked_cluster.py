"""An API server whose webhooks nothing answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chartkit.model import Body
from tests.api_server import Api, ApiServer, Refused, Request

HOOKS = "/apis/admissionregistration.k8s.io/v1"
VALIDATING = f"{HOOKS}/validatingwebhookconfigurations/kyverno-resource-validating-webhook-cfg"
MUTATING = f"{HOOKS}/mutatingwebhookconfigurations/kyverno-resource-mutating-webhook-cfg"
POLICIES = f"{HOOKS}/validatingwebhookconfigurations/kyverno-policy-validating-webhook-cfg"
OTHERS = f"{HOOKS}/validatingwebhookconfigurations/cert-manager"
SERVICE = "/api/v1/namespaces/kyverno/services/kyverno-svc"
SLICE = "/apis/discovery.k8s.io/v1/namespaces/kyverno/endpointslices/kyverno-svc-a"
_PODS: dict[str, Any] = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
_OWN = {"apiGroups": ["kyverno.io"], "apiVersions": ["*"], "resources": ["clusterpolicies"]}


def refusal(webhook: str) -> str:
    return (
        f'Internal error occurred: failed calling webhook "{webhook}": failed to call webhook: '
        'Post "https://kyverno-svc.kyverno.svc:443/validate/fail?timeout=10s": no endpoints '
        'available for service "kyverno-svc"'
    )


def hook(name: str, rule: Body, policy: str = "Fail", service: str = "kyverno-svc") -> Body:
    selector = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kyverno"]}
    where = {"service": {"namespace": "kyverno", "name": service}}
    hook = {"name": name, "failurePolicy": policy, "clientConfig": where, "rules": [rule]}
    return {**hook, "namespaceSelector": {"matchExpressions": [selector]}}


def configuration(path: str, hooks: list[Body], managed: bool = True) -> Body:
    kind = "Mutating" if "mutating" in path else "Validating"
    labels = {"webhook.kyverno.io/managed-by": "kyverno"} if managed else {}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": path.rpartition("/")[2], "labels": labels},
        "webhooks": hooks,
    }


@dataclass
class LockedCluster:
    """A server with Kyverno's webhooks; `answering` gives Kyverno an endpoint."""

    server: ApiServer
    kubeconfig: Path

    def build(self) -> LockedCluster:
        server = self.server
        server.serve(Api("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", True))
        for name in ("default", "kyverno"):
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            server.put(f"/api/v1/namespaces/{name}", body)
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "kyverno-svc"}}
        server.put(SERVICE, service)
        fail, ignore = hook("validate.kyverno.svc-fail", _PODS), hook("x", _PODS, "Ignore")
        ignore["name"] = "validate.kyverno.svc-ignore"
        server.put(VALIDATING, configuration(VALIDATING, [fail, ignore]))
        mutate = hook("mutate.kyverno.svc-fail", _PODS)
        server.put(MUTATING, configuration(MUTATING, [mutate]))
        own = hook("validate-policy.kyverno.svc", _OWN)
        server.put(POLICIES, configuration(POLICIES, [own]))
        other = hook("webhook.cert-manager.io", _PODS, service="cert-manager")
        server.put(OTHERS, configuration(OTHERS, [other], managed=False))
        server.admit = self.admit
        self.kubeconfig.write_text(server.kubeconfig)
        return self

    def admit(self, request: Request) -> None:
        """Refuse what a webhook that fails closed is asked about, and never a webhook's own
        configuration."""
        if request.path.startswith(HOOKS):
            return
        for path in (MUTATING, VALIDATING):
            for each in self.server.objects.get(path, {}).get("webhooks", []):
                if each["failurePolicy"] == "Fail" and not self.is_answering:
                    raise Refused(500, "InternalError", refusal(each["name"]))

    @property
    def is_answering(self) -> bool:
        ends = self.server.objects.get(SLICE, {}).get("endpoints", [])
        return any(each.get("conditions", {}).get("ready", True) for each in ends)

    def answer(self, ready: bool = True) -> None:
        end = {"addresses": ["10.0.0.1"], "conditions": {"ready": ready}}
        labels = {"kubernetes.io/service-name": "kyverno-svc"}
        metadata = {"name": "kyverno-svc-a", "namespace": "kyverno", "labels": labels}
        body = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": metadata}
        self.server.put(SLICE, {**body, "endpoints": [end]})

    def replica_set(self, name: str, message: str) -> None:
        condition = {"type": "ReplicaFailure", "status": "True", "message": message}
        body: Body = {"apiVersion": "apps/v1", "kind": "ReplicaSet"}
        body["metadata"] = {"name": name, "namespace": "default"}
        body["status"] = {"conditions": [condition]}
        self.server.put(f"/apis/apps/v1/namespaces/default/replicasets/{name}", body)

    def event(self, name: str, message: str, time: str) -> None:
        subject = {"kind": "DaemonSet", "namespace": "default", "name": name}
        body: Body = {"apiVersion": "v1", "kind": "Event", "type": "Warning", "message": message}
        body["metadata"] = {"name": f"{name}.1", "namespace": "default"}
        body |= {"involvedObject": subject, "lastTimestamp": time}
        self.server.put(f"/api/v1/namespaces/default/events/{name}.1", body)

    def policies(self) -> dict[str, str]:
        """The failure policies of every webhook, by their names."""
        found = [self.server.objects.get(path) for path in (VALIDATING, MUTATING, POLICIES, OTHERS)]
        hooks = [each for body in found if body for each in body["webhooks"]]
        return {each["name"]: each["failurePolicy"] for each in hooks}
