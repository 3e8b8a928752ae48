"""Requests that an API server refused because a webhook did not answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import quote

from chartkit.model import Body, Json, mapping_at, mappings_at
from chartkit.network.cluster.client import Cluster
from chartkit.network.cluster.collections import Collection
from chartkit.network.cluster.errors import ClusterError

_FAILED: Final = re.compile(r'failed calling webhook \\?"([^"\\]+)')
_RECENT: Final = timedelta(hours=1)
_REPLICA_SETS: Final = Collection("apps", "v1", "replicasets")
_PAGE: Final = 500
_PAGES: Final = 40
_PROBE: Final = "chartkit-rescue-probe"


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
    """Return what is refused now, or was within the last hour, an object once.

    now: the time, that of this machine where it is None.
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
        for each in mappings_at(body, "status", "conditions"):
            if (each.get("type"), each.get("status")) == _FAILURE:
                metadata = mapping_at(body, "metadata")
                yield from _refusal("ReplicaSet", metadata, each.get("message"))


_FAILURE: Final = ("ReplicaFailure", "True")


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
    found = _FAILED.search(message) if isinstance(message, str) else None
    return found[1] if found else ""
