"""The cluster around a request: the objects and images that policies look up, and a world that has
them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from chartkit.addons.migrate.proof.leaves.paths import (
    CLUSTER,
    GLOBAL,
    IMAGE,
    Lookup,
    selected_labels,
)
from chartkit.addons.migrate.proof.requests.case import with_bindings
from chartkit.addons.migrate.proof.requests.schema import guessed_kind, least_object
from chartkit.engine import World, as_submitted
from chartkit.engine.cel.shapes import own_kind
from chartkit.engine.cli_files.world import ObjectApi, UserApi
from chartkit.engine.kubernetes.kinds import (
    DEFAULT_NAMESPACE,
    GroupVersionKind,
    is_cluster_scoped,
    parse_api_version,
    resource_name,
)
from chartkit.engine.ports.services import Cluster
from chartkit.engine.ports.world import NOBODY_ELSE, Credentials, UnknownEntry
from chartkit.engine.scalars.image_reference import ImageReferenceError, parse_reference
from chartkit.errors import LookupFailed
from chartkit.model import Body, Json, Resource, list_of, mapping_at

_UNKNOWN: Final = "x"
_MOST_MOVED: Final = 8
_DIGEST: Final = f"sha256:{'0' * 64}"


def kind_of_key(key: str) -> GroupVersionKind:
    """Return the kind of a resource as a case's document names it: `v1/configmaps`."""
    api_version, _, resource = key.rpartition("/")
    group, version = parse_api_version(api_version)
    return own_kind(api_version, resource) or guessed_kind(group, version, resource)


def home_of(body: Body) -> str:
    """Return the namespace that an object is in, or is: policies look up what else is there."""
    metadata = mapping_at(body, "metadata")
    own = metadata.get("name" if body.get("kind") == "Namespace" else "namespace")
    return own if isinstance(own, str) and own else DEFAULT_NAMESPACE


def moved(cluster: Body, home: str, other: str) -> Body:
    """Return a cluster in which what is in one namespace is in another; what is in the default
    namespace is in both, for policies name that one, too."""
    if home == other:
        return cluster
    return {key: [*_moved(listed, home, other)] for key, listed in cluster.items()}


def _moved(listed: Sequence[Body], home: str, other: str) -> Iterator[Body]:
    for body in listed:
        metadata = mapping_at(body, "metadata")
        is_home = metadata.get("namespace") == home and len(listed) <= _MOST_MOVED
        if not is_home or home == DEFAULT_NAMESPACE:
            yield body
        if is_home:
            copy = {**body, "metadata": {**metadata, "namespace": other}}
            if not any(_identity(other) == _identity(copy) for other in listed):
                yield copy


def existing(lookups: Iterable[Lookup]) -> dict[str, list[Body]]:
    """Return the least objects that lookups find, by the keys of a case's document."""
    objects: dict[str, list[Body]] = {}
    for lookup in dict.fromkeys(lookups):
        kind = kind_of_key(lookup.key)
        metadata: Body = {"name": lookup.name or _UNKNOWN}
        if lookup.labels:
            metadata["labels"] = dict(lookup.labels)
        if not is_cluster_scoped(kind):
            depends = lookup.namespace in ("", _UNKNOWN)
            metadata["namespace"] = DEFAULT_NAMESPACE if depends else lookup.namespace
        body = {**least_object(kind), "metadata": metadata}
        there = objects.setdefault(lookup.key, [])
        same = next((other for other in there if _identity(other) == _identity(body)), None)
        if same is None:
            there.append(body)
        elif lookup.labels:
            same["metadata"].setdefault("labels", {}).update(lookup.labels)
    return objects


def _identity(body: Body) -> tuple[Json, Json]:
    metadata = mapping_at(body, "metadata")
    return metadata.get("name"), metadata.get("namespace")


class _Served(Cluster):
    """The objects of a case's document, whose kinds are served even where there are none."""

    __slots__ = ("_keys",)

    def __init__(self, objects: Iterable[Body], keys: Iterable[str]) -> None:
        super().__init__(objects)
        self._keys = frozenset(keys)

    def kind_served(self, api_version: str, resource: str) -> str | None:
        key = f"{api_version}/{resource}"
        kind = super().kind_served(api_version, resource)
        return kind or (kind_of_key(key).kind if key in self._keys else None)


class _Api(UserApi):
    """The API server of a case: lists have the objects alone that their URL selects by labels."""

    def call(self, method: str, path: str, data: Json, /) -> Json:
        place, _, query = path.partition("?")
        wanted = dict(selected_labels(query))
        answer = super().call(method, place if wanted else path, data)
        if not wanted or not isinstance(answer, dict):
            return answer
        items = [item for item in list_of(answer.get("items")) if _has_labels(item, wanted)]
        return {**answer, "items": items}


def _has_labels(body: Json, wanted: Mapping[str, str]) -> bool:
    labels = mapping_at(body, "metadata", "labels")
    return all(labels.get(key) == text for key, text in wanted.items())


class _GlobalContext:
    """The data of GlobalContextEntries in the document of a case."""

    def __init__(self, entries: Body) -> None:
        self._entries = entries

    def data(self, name: str, _projection: str, /) -> Json:
        if name not in self._entries:
            raise UnknownEntry(f"failed to fetch entry key={name}")
        return self._entries[name]


class _Images:
    """A registry in which every reference leads to one image."""

    def __init__(self, image: Body) -> None:
        self._image = image

    def image(self, reference: str, _credentials: Credentials = NOBODY_ELSE, /) -> Body:
        image = _named(reference)
        return {
            **image,
            "manifest": self._image.get("manifest"),
            "configData": self._image.get("config"),
        }

    def descriptor(self, reference: str, _credentials: Credentials = NOBODY_ELSE, /) -> Body:
        return {**_named(reference), **self._image}

    def digest(self, _reference: str, _credentials: Credentials = NOBODY_ELSE, /) -> str:
        return _DIGEST


def _named(reference: str) -> Body:
    """Return what the answer of a registry has of a reference; raise LookupFailed."""
    try:
        parsed = parse_reference(reference)
    except ImageReferenceError as error:
        raise LookupFailed(str(error)) from None
    place = f"{parsed.registry}/{parsed.repository}"
    return {
        "image": reference,
        "resolvedImage": f"{place}@{_DIGEST}",
        "registry": parsed.registry,
        "repository": parsed.repository,
        "identifier": parsed.identifier,
    }


def world_of(document: Body, world: World) -> World:
    """Return a world with only the objects, entries and images of a case's document; kinds of these
    that the document does not state stay as they are in the given world."""
    if IMAGE in document:
        world = replace(world, images=_Images(document[IMAGE]))
    if CLUSTER not in document and GLOBAL not in document:
        return world
    cluster = with_bindings(document)
    bodies: list[Body] = [item for listed in cluster.values() for item in listed]
    configmaps = [body for body in bodies if body.get("kind") == "ConfigMap"]
    served = _Served(bodies, cluster)
    api = _Api(served, ObjectApi(bodies), configmaps)
    return replace(world, api=api, global_context=_GlobalContext(document.get(GLOBAL) or {}))


def by_resource(objects: Sequence[Resource]) -> dict[str, list[Body]]:
    """Return objects by the resource that URLs name: `v1/configmaps`."""
    cluster: dict[str, list[Body]] = {}
    for resource in objects:
        key = f"{resource.api_version}/{resource_name(resource.kind)}"
        cluster.setdefault(key, []).append(as_submitted(resource).body)
    return cluster
