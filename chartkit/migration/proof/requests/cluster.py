"""The cluster around a request: the objects that policies look up, and a world that has them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from chartkit.engine import World
from chartkit.engine.cel.shapes.matching import own_kind
from chartkit.engine.cli_files import ObjectApi, UserApi
from chartkit.engine.kubernetes.kinds import (
    DEFAULT_NAMESPACE,
    GroupVersionKind,
    is_cluster_scoped,
    parse_api_version,
)
from chartkit.engine.ports import Cluster
from chartkit.engine.ports.world import UnknownEntry
from chartkit.migration.proof.leaves.cluster import CLUSTER, GLOBAL, Lookup
from chartkit.migration.proof.requests.kinds import guessed_kind, least_object
from chartkit.model import Body, Json

_UNKNOWN: Final = "x"


def kind_of_key(key: str) -> GroupVersionKind:
    """Return the kind of a resource as a case's document names it: `v1/configmaps`."""
    api_version, _, resource = key.rpartition("/")
    group, version = parse_api_version(api_version)
    return own_kind(api_version, resource) or guessed_kind(group, version, resource)


def existing(lookups: Iterable[Lookup]) -> dict[str, list[Body]]:
    """Return the least objects that lookups find, by the keys of a case's document."""
    found: dict[str, list[Body]] = {}
    for lookup in dict.fromkeys(lookups):
        kind = kind_of_key(lookup.key)
        metadata: Body = {"name": lookup.name or _UNKNOWN}
        if not is_cluster_scoped(kind):
            depends = lookup.namespace in ("", _UNKNOWN)
            metadata["namespace"] = DEFAULT_NAMESPACE if depends else lookup.namespace
        body = {**least_object(kind), "metadata": metadata}
        there = found.setdefault(lookup.key, [])
        if body not in there:
            there.append(body)
    return found


class _Served(Cluster):
    """The objects of a case's document, whose kinds are served even where there are none."""

    __slots__ = ("_keys",)

    def __init__(self, objects: Iterable[Body], keys: Iterable[str]) -> None:
        super().__init__(objects)
        self._keys = frozenset(keys)

    def kind_served(self, api_version: str, resource: str) -> str | None:
        key = f"{api_version}/{resource}"
        known = super().kind_served(api_version, resource)
        return known or (kind_of_key(key).kind if key in self._keys else None)


class _GlobalContext:
    """The data of GlobalContextEntries in the document of a case."""

    def __init__(self, entries: Body) -> None:
        self._entries = entries

    def data(self, name: str, _projection: str, /) -> Json:
        if name not in self._entries:
            raise UnknownEntry(f"failed to fetch entry key={name}")
        return self._entries[name]


def world_of(document: Body, world: World) -> World:
    """Return a world with the objects and entries of a case's document, and no others; the given
    one where it has neither."""
    if CLUSTER not in document and GLOBAL not in document:
        return world
    bodies: list[Body] = [one for listed in document.get(CLUSTER, {}).values() for one in listed]
    configmaps = [body for body in bodies if body.get("kind") == "ConfigMap"]
    served = _Served(bodies, document.get(CLUSTER, {}))
    api = UserApi(served, ObjectApi(bodies), configmaps)
    return replace(world, api=api, global_context=_GlobalContext(document.get(GLOBAL) or {}))
