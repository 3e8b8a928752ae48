"""The webhooks that Kyverno has in a cluster, and whether anything answers them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from chartkit.model import Body
from chartkit.network.cluster.client import MUTATING, VALIDATING, Cluster, Collection

FAIL: Final = "Fail"
IGNORE: Final = "Ignore"
KINDS: Final = {
    "ValidatingWebhookConfiguration": VALIDATING,
    "MutatingWebhookConfiguration": MUTATING,
}
_MANAGED: Final = "webhook.kyverno.io/managed-by"
_OWN_GROUPS: Final = frozenset(
    ("kyverno.io", "policies.kyverno.io", "reports.kyverno.io", "wgpolicyk8s.io", "openreports.io")
)
_BY_NAME: Final = ("kubernetes.io/metadata.name", "NotIn")
_NO_ENDPOINTS: Final = "no ready endpoints"
_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class Service:
    """A webhook's server, in the cluster."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Webhook:
    """One webhook of a configuration. policy: its failurePolicy; rules: as the API has them;
    service: None for a server outside the cluster; exempt: namespaces that are never sent."""

    kind: str
    configuration: str
    name: str
    policy: str
    service: Service | None
    rules: tuple[Body, ...]
    exempt: tuple[str, ...] = ()

    @property
    def is_own(self) -> bool:
        """True if it is asked about Kyverno's own kinds alone."""
        groups = {group for rule in self.rules for group in _list(rule, "apiGroups")}
        return bool(groups) and groups <= _OWN_GROUPS

    @property
    def covers(self) -> str:
        """The resources that it is asked about, the first few of many."""
        names = list(
            dict.fromkeys(each for rule in self.rules for each in _list(rule, "resources"))
        )
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        return ", ".join(map(str, names[:_SHOWN])) + more


def kyverno_webhooks(cluster: Cluster) -> list[Webhook]:
    """Return the webhooks of every configuration that Kyverno writes; raise ClusterError."""
    found: list[Webhook] = []
    for kind, collection in KINDS.items():
        for body in cluster.objects(collection):
            found += _webhooks(kind, body)
    return found


def _webhooks(kind: str, body: Body) -> Iterator[Webhook]:
    metadata = body.get("metadata") or {}
    labels = metadata.get("labels") or {}
    managed = labels.get(_MANAGED) == "kyverno"
    for each in _list(body, "webhooks"):
        if not isinstance(each, dict):
            continue
        name = str(each.get("name"))
        if managed or ".kyverno.svc" in name or name.endswith(".kyverno.io"):
            yield Webhook(
                kind,
                str(metadata.get("name")),
                name,
                str(each.get("failurePolicy") or FAIL),
                _service(each.get("clientConfig")),
                tuple(rule for rule in _list(each, "rules") if isinstance(rule, dict)),
                tuple(_exempt(each.get("namespaceSelector"))),
            )


def _service(config: Any) -> Service | None:
    found = config.get("service") if isinstance(config, dict) else None
    if not isinstance(found, dict):
        return None
    return Service(str(found.get("namespace")), str(found.get("name")))


def _exempt(selector: Any) -> Iterator[str]:
    """Yield the namespaces that a selector leaves out by their name."""
    for each in _list(selector, "matchExpressions"):
        if isinstance(each, dict) and (each.get("key"), each.get("operator")) == _BY_NAME:
            yield from map(str, _list(each, "values"))


def _list(body: Any, key: str) -> list[Any]:
    found = body.get(key) if isinstance(body, dict) else None
    return found if isinstance(found, list) else []


_SERVICES: Final = Collection("", "v1", "services")
_SLICES: Final = Collection("discovery.k8s.io", "v1", "endpointslices")


def unanswered(cluster: Cluster, service: Service) -> str:
    """Return why nothing answers for a service, empty where an endpoint is ready."""
    place = f"/api/v1/namespaces/{service.namespace}/services/{service.name}"
    if cluster.get(place) is None:
        return "there is no such service"
    label = f"kubernetes.io/service-name={service.name}"
    for body in cluster.objects(_SLICES, service.namespace, label):
        for each in _list(body, "endpoints"):
            conditions = each.get("conditions") if isinstance(each, dict) else None
            # A condition that is missing counts as true.
            if (conditions or {}).get("ready") is not False and _list(each, "addresses"):
                return ""
    return _NO_ENDPOINTS
