"""Calls of services that policies make, and the objects of a cluster, as ports know them.

Requests and answers are here as they go over the wire. ClusterPolicies and expressions make of an
answer the same as Kyverno.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from chartkit.engine.kubernetes.kinds import (
    UNKNOWN,
    CustomNames,
    GroupVersionKind,
    is_cluster_scoped,
    parse_api_version,
)
from chartkit.engine.kubernetes.selectors import LabelSelector, compile_selector
from chartkit.errors import LookupFailed, NoSource
from chartkit.go.fmt import go_json
from chartkit.model import Body, Json, coerced_texts, mapping_at, text_of
from chartkit.wording import shortened

MOST_BYTES: Final = 10_000_000
"""The longest answer, as Kyverno's admission controller has it (`maxAPICallResponseLength`)."""
_MOST_SAID: Final = 300
_SHORTEST_SECRET: Final = 4
_OPEN_HEADERS: Final = frozenset(
    {"accept", "accept-encoding", "accept-language", "content-type", "host", "user-agent"}
)
_CREDENTIAL: Final = re.compile("auth|cred|key|pass|secret|sig|token", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ServiceCall:
    """method: GET or POST; headers: names and values, in order; body: what is posted; authorities:
    certificates (PEM) to trust instead of the system's, empty for the system's; tries: how often it
    is made at most, if it fails."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    authorities: str = ""
    tries: int = 1


class Ending(Enum):
    """The end of an answer's body: as announced, earlier, or beyond `MOST_BYTES`."""

    WHOLE = "whole"
    CUT = "cut"
    TOO_LARGE = "too large"


class ServiceAnswer(NamedTuple):
    """Any answer, whatever its status; reason: the reason phrase; body: as far as it was read."""

    status: int
    reason: str
    body: bytes
    ending: Ending = Ending.WHOLE

    @property
    def is_success(self) -> bool:
        """Report whether Kyverno treats it as a success."""
        return 200 <= self.status < 300 and self.ending is Ending.WHOLE


class BadUrlError(LookupFailed):
    """The URL of a policy is not a URL."""


class NotAllowedError(NoSource):
    """A call that the user did not allow, or that is never made: nothing replaces its
    answer."""


def posted(data: Json) -> bytes:
    """Data as Kyverno posts it: JSON and the end of a line."""
    return f"{go_json(data)}\n".encode("utf-8", "replace")


def said(answer: ServiceAnswer, call: ServiceCall) -> str:
    """The beginning of a body as a message may show it: on one line, without what was sent to be
    let in."""
    return printed(answer.body[: _MOST_SAID * 8].decode("utf-8", "replace"), call)


def printed(text: str, call: ServiceCall) -> str:
    """Return a foreign text in a form fit for messages (see `said`)."""
    text = "".join(char if char.isprintable() else " " for char in masked(text, call)).strip()
    return shortened(text, _MOST_SAID)


def masked(text: str, call: ServiceCall) -> str:
    """A text without what was sent to be let in, even where the other side repeats it."""
    for secret in sorted(set(_secrets(call)), key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def _secrets(call: ServiceCall) -> Iterator[str]:
    try:
        parts = urlsplit(call.url)
    except ValueError:
        return
    given = [value for name, value in call.headers if name.lower() not in _OPEN_HEADERS]
    given += [value for name, value in parse_qsl(parts.query) if _CREDENTIAL.search(name)]
    user = parts.netloc.rpartition("@")[0]
    given += [*user.split(":"), b64encode(unquote(user).encode("utf-8", "replace")).decode("ascii")]
    for value in given:
        for secret in (value, *value.split()):
            if len(secret) >= _SHORTEST_SECRET:
                yield secret


class ObjectKey(NamedTuple):
    """The identity of an object; namespace is empty for objects outside namespaces."""

    api_version: str
    kind: str
    namespace: str
    name: str


def key_of(body: Body) -> ObjectKey:
    """Return the key of an object; a missing or non-text part is empty."""
    metadata = mapping_at(body, "metadata")
    own = (body.get("apiVersion"), body.get("kind"))
    return ObjectKey(*map(text_of, (*own, metadata.get("namespace"), metadata.get("name"))))


class Cluster:
    """Objects by their keys; of two with one key the last counts. Nothing in it changes."""

    __slots__ = ("_by_kind", "_custom")

    def __init__(self, objects: Iterable[Body] = (), custom: CustomNames = UNKNOWN) -> None:
        self._custom = custom
        by_key = {key_of(body): body for body in objects}
        # By kind, namespace and name, each in order.
        self._by_kind: dict[tuple[str, str], dict[str, dict[str, Body]]] = {}
        for key in sorted(by_key):
            of_kind = self._by_kind.setdefault((key.api_version, key.kind), {})
            of_kind.setdefault(key.namespace, {})[key.name] = by_key[key]

    def find(self, key: ObjectKey) -> Body | None:
        """Return the object of a key; None if it does not exist."""
        of_kind = self._by_kind.get((key.api_version, key.kind), {})
        return of_kind.get(key.namespace, {}).get(key.name)

    def select(
        self, api_version: str, kind: str, namespace: str, selector: LabelSelector | None
    ) -> Iterator[Body]:
        """The objects of a kind, by name; namespace: empty for all, selector: None for all."""
        fits = compile_selector(selector) if selector is not None else None
        of_kind = self._by_kind.get((api_version, kind), {})
        for there in [of_kind.get(namespace, {})] if namespace else of_kind.values():
            for body in there.values():
                if fits is None or fits(labels_of(body)):
                    yield body

    def of_kinds(self, wanted: Callable[[Body], bool]) -> Iterator[Body]:
        """The objects of some kinds, by kind, namespace and name; wanted: whether a kind is one of
        them, by an object of it."""
        for of_kind in self._by_kind.values():
            bodies = [body for there in of_kind.values() for body in there.values()]
            if wanted(bodies[0]):
                yield from bodies

    def listed(self, api_version: str, resource: str, namespace: str) -> Iterator[Body]:
        """The objects of a resource as URLs name it (`pods`), by name; namespace: empty for all."""
        for kind in self._kinds(api_version, resource):
            yield from self.select(api_version, kind, namespace, None)

    def found(self, api_version: str, resource: str, namespace: str, name: str) -> Body | None:
        """Return the object of a resource as in URLs; None if it does not exist."""
        keys = (
            ObjectKey(api_version, kind, namespace, name)
            for kind in self._kinds(api_version, resource)
        )
        return next(filter(None, map(self.find, keys)), None)

    def kind_served(self, api_version: str, resource: str) -> str | None:
        """The kind of a resource as URLs name it; None where none is known."""
        return next(self._kinds(api_version, resource), None)

    def plural(self, api_version: str, kind: str) -> str:
        """The name of a kind in URLs."""
        return self._custom.plural(GroupVersionKind(*parse_api_version(api_version), kind))

    def is_cluster_scoped(self, api_version: str, kind: str) -> bool:
        """Report whether objects of a kind are outside namespaces."""
        return is_cluster_scoped(
            GroupVersionKind(*parse_api_version(api_version), kind), self._custom
        )

    def _kinds(self, api_version: str, resource: str) -> Iterator[str]:
        for version, kind in self._by_kind:
            if version == api_version and self.plural(version, kind) == resource:
                yield kind


EMPTY: Final = Cluster()


def labels_of(body: Body) -> Mapping[str, str]:
    """An object's labels, as Kubernetes reads them."""
    return coerced_texts(mapping_at(body, "metadata").get("labels"))
