"""What a policy may ask of the world outside the resource, as a port that callers fill.

`OFFLINE` is the default and has nothing; `chartkit.engine.user_values` fills the port from a
user's mocks. Every method raises `LookupFailed`, whose message becomes part of the rule's error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from chartkit.errors import LookupFailed
from chartkit.model import Body, Json


class Lookups(Protocol):
    """The cluster, registries and services, as the engine's context entries see them."""

    def configmap(self, namespace: str, name: str) -> Body:
        """The ConfigMap `namespace/name` as a whole object; `data` and `metadata` are used."""
        ...

    def api_call(self, method: str, path: str, data: Json) -> Json:
        """What the Kubernetes API answers to `method` (GET or POST) on a URL path."""
        ...

    def http(self, method: str, url: str, headers: Mapping[str, str], data: Json) -> Json:
        """What a service answers: the body, decoded from JSON."""
        ...

    def image(self, reference: str) -> Body:
        """A registry's answer for an image: `manifest`, `configData`, `resolvedImage` and so on."""
        ...

    def global_context(self, name: str, projection: str) -> Json:
        """The data of a GlobalContextEntry, or of one of its projections (empty: the whole)."""
        ...


class OfflineLookups:
    """A world with nothing in it: every question fails and says what was asked."""

    def configmap(self, namespace: str, name: str) -> Body:
        raise LookupFailed(f'configmaps "{name}" not found', hint=_OFFLINE)

    def api_call(self, method: str, path: str, data: Json) -> Json:
        raise LookupFailed(f"failed to {method} resource with raw url\n: {path}", hint=_OFFLINE)

    def http(self, method: str, url: str, headers: Mapping[str, str], data: Json) -> Json:
        raise LookupFailed(f"no answer from {url}", hint=_OFFLINE)

    def image(self, reference: str) -> Body:
        raise LookupFailed(
            f"failed to fetch image descriptor: {reference}, error: offline", hint=_OFFLINE
        )

    def global_context(self, name: str, projection: str) -> Json:
        raise LookupFailed(f"failed to fetch entry key={name}", hint=_OFFLINE)


_OFFLINE = "give the answer in a values file; nothing outside is asked"

OFFLINE: Lookups = OfflineLookups()
