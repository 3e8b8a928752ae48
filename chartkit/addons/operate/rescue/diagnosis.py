"""The webhooks that lock a cluster: those that fail closed and that nothing answers; and the
requests that an API server refused for that."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import quote

from chartkit.addons.operate.rescue.webhooks import (
    FAIL,
    Opened,
    Service,
    Webhook,
    kyverno_webhooks,
    unanswered,
)
from chartkit.model import Body, Json, mapping_at, mappings_at
from chartkit.network.cluster.client import Cluster, Collection
from chartkit.network.cluster.source import ClusterError

_FAILED: Final = re.compile(r'failed calling webhook \\?"([^"\\]+)')
_RECENT: Final = timedelta(hours=1)
_REPLICA_SETS: Final = Collection("apps", "v1", "replicasets")
_PAGE: Final = 500
_PAGES: Final = 40
_PROBE: Final = "chartkit-rescue-probe"
_FAILURE: Final = ("ReplicaFailure", "True")


@dataclass(frozen=True, slots=True, order=True)
class Refusal:
    """An object whose parts the API server refuses. webhook: the one that was asked first;
    message: the API server's own."""

    kind: str
    namespace: str
    name: str
    webhook: str
    message: str

    @property
    def is_probe(self) -> bool:
        """True for the Pod that `refusals` itself tries to create."""
        return self.name == _PROBE

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(frozen=True, slots=True)
class Refusals:
    """Everything that is refused; notes: what could not be asked, and why."""

    found: tuple[Refusal, ...]
    notes: tuple[str, ...] = ()


def refusals(cluster: Cluster, now: datetime | None = None) -> Refusals:
    """Return what is refused now, or was refused within the last hour, each object once.

    now: the time; None for the machine's clock.
    """
    found: list[Refusal] = []
    notes: list[str] = []
    recent = (now or datetime.now(UTC)) - _RECENT
    for read in (_probed, _conditions, lambda asked: _events(asked, recent)):
        try:
            found += read(cluster)
        except ClusterError as error:
            notes.append(error.message)
    first = {(each.kind, each.namespace, each.name): each for each in reversed(found)}
    return Refusals(tuple(sorted(first.values())), tuple(dict.fromkeys(notes)))


def _probed(cluster: Cluster) -> Sequence[Refusal]:
    """Try to create a Pod in `default` as a dry run."""
    container = {"name": "probe", "image": "registry.k8s.io/pause:3.10"}
    metadata = {"name": _PROBE, "namespace": "default"}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    body["spec"] = {"containers": [container]}
    message = cluster.refusal_of("/api/v1/namespaces/default/pods", body)
    webhook = _webhook(message)
    return [Refusal("Pod", "default", _PROBE, webhook, message)] if webhook else []


def _conditions(cluster: Cluster) -> Iterable[Refusal]:
    for body in cluster.objects(_REPLICA_SETS):
        for condition in mappings_at(body, "status", "conditions"):
            if (condition.get("type"), condition.get("status")) == _FAILURE:
                metadata = mapping_at(body, "metadata")
                yield from _refusal("ReplicaSet", metadata, condition.get("message"))


def _events(cluster: Cluster, since: datetime) -> Iterable[Refusal]:
    for body in _pages(cluster, "/api/v1/events?fieldSelector=type%3DWarning"):
        times = (body.get(key) for key in ("lastTimestamp", "eventTime"))
        if any(_is_since(time, since) for time in times):
            subject = mapping_at(body, "involvedObject")
            yield from _refusal(str(subject.get("kind")), subject, body.get("message"))


def _pages(cluster: Cluster, path: str) -> Iterator[Body]:
    following = ""
    for _ in range(_PAGES):
        page = cluster.get(f"{path}&limit={_PAGE}{following}")
        yield from mappings_at(page, "items")
        token = mapping_at(page, "metadata").get("continue")
        if not token:
            return
        following = f"&continue={quote(str(token), safe='')}"


def _is_since(time: Json, since: datetime) -> bool:
    try:
        return datetime.fromisoformat(str(time)) >= since
    except (ValueError, TypeError):
        return False


def _refusal(kind: str, metadata: Body, message: Json) -> Iterator[Refusal]:
    webhook = _webhook(message)
    if webhook and metadata:
        namespace, name = (str(metadata.get(key) or "") for key in ("namespace", "name"))
        yield Refusal(kind, namespace, name, webhook, str(message))


def _webhook(message: Json) -> str:
    match = _FAILED.search(message) if isinstance(message, str) else None
    return match[1] if match else ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The state of a cluster's admission, as far as Kyverno's webhooks go.

    webhooks: all of Kyverno's; unanswered: why nothing answers for a service; refused: what was
    refused because one of them did not answer; opening: the webhooks to set to `Ignore`; notes:
    what could not be asked.
    """

    cluster: str
    webhooks: tuple[Webhook, ...]
    unanswered: dict[Service, str]
    refused: tuple[Refusal, ...]
    opening: tuple[Webhook, ...]
    notes: tuple[str, ...]

    @property
    def is_locked(self) -> bool:
        """True if a change would open something."""
        return bool(self.opening)

    def silent(self, opened: Iterable[Opened]) -> dict[Service, str]:
        """Return why nothing answers for the services of webhooks that were opened."""
        names = {(each.kind, each.configuration, each.webhook) for each in opened}
        services = {
            webhook.service
            for webhook in self.webhooks
            if (webhook.kind, webhook.configuration, webhook.name) in names
        }
        return {each: reason for each, reason in self.unanswered.items() if each in services}

    def reason(self, webhook: Webhook) -> str:
        """Return why a webhook refuses everything that it covers, empty where it does not."""
        if webhook.service is not None and webhook.service in self.unanswered:
            return f"{self.unanswered[webhook.service]} for {webhook.service}"
        message = next((one.message for one in self.refused if one.webhook == webhook.name), "")
        # The end of the API server's message says why the call failed.
        return message.rpartition("failed calling webhook")[2].partition(": ")[2]


def diagnose(cluster: Cluster) -> Diagnosis:
    """Ask a cluster; raise ClusterError where its webhooks cannot be read.

    The smallest change opens the webhooks that fail closed, that nothing answers, and that are
    asked about more than Kyverno's own kinds: a webhook for policies refuses policies alone.
    """
    webhooks = kyverno_webhooks(cluster)
    services = sorted({webhook.service for webhook in webhooks if webhook.service}, key=str)
    silent = {service: reason for service in services if (reason := unanswered(cluster, service))}
    asked = refusals(cluster)
    names = {webhook.name for webhook in webhooks}
    refused = tuple(refusal for refusal in asked.found if refusal.webhook in names)
    failing = {refusal.webhook for refusal in refused}
    opening = tuple(
        webhook
        for webhook in webhooks
        if webhook.policy == FAIL
        and not webhook.is_own
        and (webhook.service in silent or webhook.name in failing)
    )
    return Diagnosis(cluster.shown, tuple(webhooks), silent, refused, opening, asked.notes)
