"""The objects that are there already: what generate rules clone from and would write over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from chartkit.engine.kubernetes.kinds import (
    UNKNOWN,
    CustomNames,
    GroupVersionKind,
    is_cluster_scoped,
    parse_api_version,
)
from chartkit.engine.kubernetes.selectors import LabelSelector, compile_selector
from chartkit.model import Body, Json, text_of


class ObjectKey(NamedTuple):
    """The identity of an object; namespace is empty for objects outside namespaces."""

    api_version: str
    kind: str
    namespace: str
    name: str


def key_of(body: Body) -> ObjectKey:
    """The key of an object; what is missing or no text is empty."""
    metadata = body.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    parts = (
        body.get("apiVersion"),
        body.get("kind"),
        metadata.get("namespace"),
        metadata.get("name"),
    )
    return ObjectKey(*(text_of(part) for part in parts))


class Cluster:
    """Objects by their keys; of two with one key the last counts. Nothing in it changes."""

    __slots__ = ("_by_kind", "_custom")

    def __init__(self, objects: Iterable[Body] = (), custom: CustomNames = UNKNOWN) -> None:
        self._custom = custom
        found = {key_of(body): body for body in objects}
        # By kind, namespace and name, each in order.
        self._by_kind: dict[tuple[str, str], dict[str, dict[str, Body]]] = {}
        for key in sorted(found):
            of_kind = self._by_kind.setdefault((key.api_version, key.kind), {})
            of_kind.setdefault(key.namespace, {})[key.name] = found[key]

    def find(self, key: ObjectKey) -> Body | None:
        """The object of a key; None where there is none."""
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
        """The object of a resource as URLs name it; None where there is none."""
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
    metadata = body.get("metadata")
    return coerced_texts(metadata.get("labels") if isinstance(metadata, dict) else None)


def coerced_texts(value: Json) -> Mapping[str, str]:
    """Return labels or annotations as Kubernetes reads them: null is an empty text, and there are
    none at all if another one is no text."""
    if not isinstance(value, dict):
        return {}
    if all(isinstance(text, str) for text in value.values()):
        return value
    texts = {key: "" if text is None else text for key, text in value.items()}
    return texts if all(isinstance(text, str) for text in texts.values()) else {}
