"""What a policy may ask of the world outside the resource, as a port that callers fill.

`OFFLINE` is the default and has nothing; `cli_files.user_values` fills the port from a
user's values file and mocks. What cannot be answered raises `LookupFailed`, whose message becomes
part of the rule's error; `NoSource` says that there is nobody to ask, and then the context entry
is left out as Kyverno's command-line program leaves it out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from chartkit.engine.ports.cluster import EMPTY, Cluster
from chartkit.engine.ports.services import ServiceAnswer, ServiceCall
from chartkit.engine.ports.signatures import (
    NOBODY_ELSE,
    UNASKED,
    UNVERIFIED,
    BlobSource,
    Credentials,
    SignatureSource,
)
from chartkit.errors import LookupFailed, NoSource
from chartkit.model import Body, Json


class UnknownEntry(LookupFailed):
    """There is no GlobalContextEntry of that name among those that there are."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recorded answer to an API or service call: HTTP status and decoded body."""

    status: int
    body: Json


class ImageSource(Protocol):
    """What registries say of images; each method raises LookupFailed in Kyverno's words."""

    def image(self, reference: str, credentials: Credentials = NOBODY_ELSE, /) -> Body:
        """An image as a context entry sees it."""
        ...

    def descriptor(self, reference: str, credentials: Credentials = NOBODY_ELSE, /) -> Body:
        """An image as CEL sees it."""
        ...

    def digest(self, reference: str, credentials: Credentials = NOBODY_ELSE, /) -> str:
        """The digest that a reference leads to."""
        ...

    def learn(self, objects: Iterable[Body], /) -> None:
        """Keeps the Secrets among objects, which policies name as credentials."""
        ...


class Lookups(Protocol):
    """The cluster, registries and services, as the engine's context entries see them."""

    def configmap(self, namespace: str, name: str, /) -> Body:
        """The ConfigMap `namespace/name` as a whole object; `data` and `metadata` are used."""
        ...

    def api_call(self, method: str, path: str, data: Json, /) -> Json:
        """What the Kubernetes API answers to `method` (GET or POST) on a URL path."""
        ...

    def http(self, call: ServiceCall, /) -> ServiceAnswer:
        """What a service answers."""
        ...

    def image(self, reference: str, credentials: Credentials = NOBODY_ELSE, /) -> Body:
        """A registry's answer for an image: `manifest`, `configData`, `resolvedImage` and so on."""
        ...

    def image_descriptor(self, reference: str, credentials: Credentials = NOBODY_ELSE, /) -> Body:
        """The same for CEL: `manifest`, `config`, `resolvedImage` and so on."""
        ...

    def image_digest(self, reference: str, credentials: Credentials = NOBODY_ELSE, /) -> str:
        """The digest that a reference leads to in its registry."""
        ...

    def global_context(self, name: str, projection: str, /) -> Json:
        """The data of a GlobalContextEntry, or of one of its projections (empty: the whole)."""
        ...

    def recorded(self, method: str, url: str, /) -> Recorded | None:
        """A recorded answer that stands for a call, looked up before any rule runs."""
        ...

    @property
    def signatures(self) -> SignatureSource:
        """Who says whose signatures and attestations an image has."""
        ...

    @property
    def blobs(self) -> BlobSource:
        """Who verifies signatures of what lies at hand."""
        ...

    @property
    def has_recorded(self) -> bool:
        """Whether there is any recorded answer; then calls are prepared before they are needed."""
        ...

    @property
    def values_answer_calls(self) -> bool:
        """Whether a value that the user gave under a call's name stands for its answer."""
        ...

    def rule_values(self, policy: str, rule: str, /) -> Mapping[str, Json]:
        """Variables (dotted names) that the user gave for one rule."""
        ...

    def cluster(self, policy: str, rule: str, /) -> Cluster:
        """The objects that are there for a rule of a policy (`name` or `namespace/name`)."""
        ...


class OfflineLookups:
    """A world with nothing in it: every question fails and says what was asked."""

    signatures = UNASKED
    blobs = UNVERIFIED
    has_recorded = False
    values_answer_calls = False

    def configmap(self, _namespace: str, name: str, /) -> Body:
        raise NoSource(f'configmaps "{name}" not found', hint=_OFFLINE)

    def api_call(self, _method: str, _path: str, _data: Json, /) -> Json:
        raise NoSource("no cluster to ask", hint=_OFFLINE)

    def http(self, _call: ServiceCall, /) -> ServiceAnswer:
        raise NoSource("no network to ask", hint="--allow-network names hosts that may be asked")

    def image(self, _reference: str, _credentials: Credentials = NOBODY_ELSE, /) -> Body:
        raise NoSource("no registry to ask", hint=_OFFLINE)

    def image_descriptor(self, reference: str, credentials: Credentials = NOBODY_ELSE, /) -> Body:
        return self.image(reference, credentials)

    def image_digest(self, reference: str, _credentials: Credentials = NOBODY_ELSE, /) -> str:
        text = f"failed to fetch image reference: {reference}, error: no registry to ask"
        raise NoSource(text, hint=_OFFLINE)

    def global_context(self, name: str, _projection: str, /) -> Json:
        raise NoSource(f"failed to fetch entry key={name}", hint=_OFFLINE)

    def recorded(self, _method: str, _url: str, /) -> Recorded | None:
        return None

    def rule_values(self, _policy: str, _rule: str, /) -> Mapping[str, Json]:
        return _NOTHING

    def cluster(self, _policy: str, _rule: str, /) -> Cluster:
        return EMPTY


_OFFLINE = "give the answer in a values file; nothing outside is asked"
_NOTHING: Mapping[str, Json] = MappingProxyType({})

OFFLINE: Lookups = OfflineLookups()
