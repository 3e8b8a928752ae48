"""Resources of an API server: every one that can be listed, by group, version and kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from chartkit.engine.kubernetes.kinds import DEFAULT_NAMESPACE, GroupVersionKind, parse_api_version
from chartkit.model import Body, mappings_at
from chartkit.network.cluster.client import object_path
from chartkit.network.cluster.source import RefusedError, Source


@dataclass(frozen=True, slots=True)
class ApiResource:
    """A resource: what its objects are, its name in URLs, and whether they are in namespaces."""

    kind: GroupVersionKind
    plural: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        """As objects name it: `apps/v1`, `v1`."""
        group, version, _ = self.kind
        return f"{group}/{version}" if group else version

    @property
    def name(self) -> str:
        """As messages and permissions name it: `deployments.apps`, `pods`."""
        return f"{self.plural}.{self.kind.group}" if self.kind.group else self.plural

    def path(self, namespace: str = "", name: str = "") -> str:
        """Return the path of its objects. namespace: empty for those of all namespaces."""
        place = namespace if self.namespaced else ""
        return object_path(self.api_version, self.plural, place, name)


MEASURES: Final = frozenset(("metrics.k8s.io", "custom.metrics.k8s.io", "external.metrics.k8s.io"))
"""Groups that measure and hold nothing, and often do not answer; they are not asked."""


NAMESPACES: Final = ApiResource(GroupVersionKind("", "v1", "Namespace"), "namespaces", False)
SECRETS: Final = ApiResource(GroupVersionKind("", "v1", "Secret"), "secrets", True)
CONFIG_MAPS: Final = ApiResource(GroupVersionKind("", "v1", "ConfigMap"), "configmaps", True)


def sample(served: ApiResource) -> Body:
    """Return an object of a kind, with its kind and scope alone."""
    metadata: Body = {"name": "any"}
    if served.namespaced:
        metadata["namespace"] = DEFAULT_NAMESPACE
    return {"apiVersion": served.api_version, "kind": served.kind.kind, "metadata": metadata}


class Discovery:
    """Everything that a server serves; of a group the version that it prefers comes first."""

    def __init__(self, source: Source) -> None:
        """Raises SourceError, and RefusedError where the server does not say what it serves;
        failed: the `group/version`s of which it could not say that, each with the reason."""
        self.failed: list[tuple[str, RefusedError]] = []
        self.all: tuple[ApiResource, ...] = tuple(self._read(source))
        self._by_kind = {resource.kind: resource for resource in reversed(self.all)}
        self._by_plural = {(each.api_version, each.plural): each for each in self.all}

    def of_kind(self, api_version: str, kind: str) -> ApiResource | None:
        """Return the resource of a kind; None where it is not served."""
        return self._by_kind.get(GroupVersionKind(*parse_api_version(api_version), kind))

    def of_plural(self, api_version: str, plural: str) -> ApiResource | None:
        """Return the resource of a name in URLs; None where it is not served."""
        return self._by_plural.get((api_version, plural))

    def plural(self, kind: GroupVersionKind) -> str:
        """Return the name of a kind in URLs; empty where it is not served."""
        served = self._by_kind.get(kind)
        return "" if served is None else served.plural

    def _read(self, source: Source) -> Iterator[ApiResource]:
        roots = [("/api/v1", "v1")]
        for group in _listed(source.get("/apis"), "APIGroupList", "groups"):
            if str(group.get("name")) in MEASURES:
                continue
            versions = [str(each.get("groupVersion")) for each in mappings_at(group, "versions")]
            preferred = group.get("preferredVersion")
            first = preferred.get("groupVersion") if isinstance(preferred, dict) else None
            ordered = [each for each in versions if each == first]
            ordered += [each for each in versions if each != first]
            roots += [(f"/apis/{version}", version) for version in ordered]
        for path, version in roots:
            try:
                found = _listed(source.get(path), "APIResourceList", "resources")
            except RefusedError as error:
                self.failed.append((version, error))
                continue
            yield from _resources(found, version)


def _resources(found: list[Body], api_version: str) -> Iterator[ApiResource]:
    for each in found:
        plural, kind, verbs = each.get("name"), each.get("kind"), each.get("verbs")
        if not isinstance(plural, str) or not isinstance(kind, str) or "/" in plural:
            continue
        if isinstance(verbs, list) and "list" in verbs:
            group, version = parse_api_version(api_version)
            is_namespaced = each.get("namespaced") is True
            yield ApiResource(GroupVersionKind(group, version, kind), plural, is_namespaced)


def _listed(answer: Body, kind: str, key: str) -> list[Body]:
    """Return the members of an answer of a kind; raises RefusedError for any other answer."""
    items = answer.get(key)
    if answer.get("kind", kind) != kind or not isinstance(items, list):
        raise RefusedError(0, f"the response is not of kind {kind}; is this an API server?")
    return mappings_at(answer, key)
