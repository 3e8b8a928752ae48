"""The webhooks that Kyverno has in a cluster, and whether anything answers them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from chartkit.model import Body, list_of, mapping_at, mappings_at
from chartkit.network.cluster.client import MUTATING, VALIDATING, Cluster, Collection
from chartkit.wording import abridged

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
        groups = {str(each) for rule in self.rules for each in list_of(rule.get("apiGroups"))}
        return bool(groups) and groups <= _OWN_GROUPS

    @property
    def covers(self) -> str:
        """The resources that it is asked about, the first few of many."""
        listed = (str(each) for rule in self.rules for each in list_of(rule.get("resources")))
        return abridged(list(dict.fromkeys(listed)), _SHOWN)


def kyverno_webhooks(cluster: Cluster) -> list[Webhook]:
    """Return the webhooks of every configuration that Kyverno writes; raise ClusterError."""
    found: list[Webhook] = []
    for kind, collection in KINDS.items():
        for body in cluster.objects(collection):
            found += _webhooks(kind, body)
    return found


def _webhooks(kind: str, body: Body) -> Iterator[Webhook]:
    metadata = mapping_at(body, "metadata")
    managed = mapping_at(metadata, "labels").get(_MANAGED) == "kyverno"
    for each in mappings_at(body, "webhooks"):
        name = str(each.get("name"))
        if managed or ".kyverno.svc" in name or name.endswith(".kyverno.io"):
            yield Webhook(
                kind,
                str(metadata.get("name")),
                name,
                str(each.get("failurePolicy") or FAIL),
                _service(mapping_at(each, "clientConfig", "service")),
                tuple(mappings_at(each, "rules")),
                tuple(_exempt(mapping_at(each, "namespaceSelector"))),
            )


def _service(body: Body) -> Service | None:
    return Service(str(body.get("namespace")), str(body.get("name"))) if body else None


def _exempt(selector: Body) -> Iterator[str]:
    """Yield the namespaces that a selector leaves out by their name."""
    for each in mappings_at(selector, "matchExpressions"):
        if (each.get("key"), each.get("operator")) == _BY_NAME:
            yield from map(str, list_of(each.get("values")))


_SERVICES: Final = Collection("", "v1", "services")
_SLICES: Final = Collection("discovery.k8s.io", "v1", "endpointslices")


def unanswered(cluster: Cluster, service: Service) -> str:
    """Return why nothing answers for a service, empty where an endpoint is ready."""
    if cluster.get(_SERVICES.path(service.namespace, service.name)) is None:
        return "there is no such service"
    label = f"kubernetes.io/service-name={service.name}"
    for body in cluster.objects(_SLICES, service.namespace, label):
        for each in mappings_at(body, "endpoints"):
            # A condition that is missing counts as true.
            ready = mapping_at(each, "conditions").get("ready") is not False
            if ready and list_of(each.get("addresses")):
                return ""
    return _NO_ENDPOINTS
