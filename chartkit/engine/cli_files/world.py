"""Admission requests for objects from files, and the ports of the engine, filled with what a user
gives: objects, images, mocks, values.

Recorded answers to API and service calls and the data of GlobalContextEntries take the place of a
cluster, as in Kyverno's command-line program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from chartkit.engine.cli_files.admissions import UserValues
from chartkit.engine.context.global_context import GlobalContextEntry
from chartkit.engine.jmespath import JMESPathError, compile_expression
from chartkit.engine.kubernetes.kinds import (
    UNKNOWN,
    CustomNames,
    kind_of,
)
from chartkit.engine.ports.services import EMPTY, Cluster
from chartkit.engine.ports.world import (
    NOBODY_ELSE,
    OFFLINE,
    Credentials,
    ImageSource,
    Recorded,
    UnknownEntry,
    World,
)
from chartkit.errors import LookupFailed, NoSource, Reraise
from chartkit.go.strconv import quote
from chartkit.model import Body, Json, Resource

_NAMESPACES: Final = "namespaces"


@dataclass(frozen=True, slots=True)
class _Path:
    group: str
    version: str
    namespace: str
    resource: str
    name: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


class ObjectApi:
    """Objects by API, namespace and name; of two with one name the last counts."""

    __slots__ = ("_by_resource",)

    def __init__(self, objects: Iterable[Body], custom: CustomNames = UNKNOWN) -> None:
        self._by_resource: dict[tuple[str, str, str], dict[tuple[str, str], Body]] = {}
        for body in objects:
            resource = Resource(body)
            kind = kind_of(resource)
            key = (kind.group, kind.version, custom.plural(kind))
            self._by_resource.setdefault(key, {})[resource.namespace, resource.name] = body

    def answer(self, method: str, url_path: str) -> Json:
        """The object or the list at a path; raises `LookupFailed` in Kyverno's words."""
        if method != "GET":
            raise LookupFailed(f"method {method} not supported for fake client")
        path = _parse(url_path)
        objects = self._by_resource.get((path.group, path.version, path.resource), {})
        if path.name:
            body = objects.get((path.namespace, path.name))
            if body is None:
                resource = path.resource
                for ending, instead in (("ies", "y"), ("es", ""), ("s", "")):
                    if resource.endswith(ending):
                        resource = resource.removesuffix(ending) + instead
                        break
                kind = next(
                    (obj["kind"] for obj in objects.values()), resource[:1].upper() + resource[1:]
                )
                resource = f"{path.resource}.{path.group}" if path.group else path.resource
                raise LookupFailed(
                    f"failed to get resource {path.api_version}/{kind}/{path.name}: "
                    f"{resource} {quote(path.name)} not found"
                )
            return body
        items = [
            body
            for (namespace, _), body in sorted(objects.items(), key=lambda item: item[0])
            if path.namespace in ("", namespace)
        ]
        kind = items[0]["kind"] if items else ""
        return {"apiVersion": path.api_version, "kind": f"{kind}List", "items": items}


class PartialApi(ObjectApi):
    """An API that serves some objects of a cluster.

    A list has the objects given, and is empty for a built-in kind without any. Raises `NoSource`
    for everything else.
    """

    __slots__ = ()

    def answer(self, method: str, url_path: str) -> Json:
        try:
            answer: Json = super().answer(method, url_path)
        except LookupFailed as error:
            raise NoSource(error.message, hint=_BESIDE) from error
        path = _parse(url_path)
        if not path.name and not self._is_known(path):
            raise NoSource(f"there are no {path.resource} among the objects", hint=_BESIDE)
        return answer

    def _is_known(self, path: _Path) -> bool:
        # The table of kinds comes with CEL, which takes long to load.
        from chartkit.engine.cel.shapes import own_kind

        there = (path.group, path.version, path.resource) in self._by_resource
        return there or own_kind(path.api_version, path.resource) is not None


_BESIDE: Final = "give the object, or the answer in a values file; nothing outside is asked"


def _parse(url_path: str) -> _Path:
    """Takes `/api/VERSION/…` and `/apis/GROUP/VERSION/…` apart."""
    path = url_path.removeprefix("/")
    root, *parts = path.split("/")
    group = parts.pop(0) if root == "apis" and parts else ""
    version, *rest = parts or [""]
    namespace = ""
    # `namespaces/NAME` alone is the Namespace itself.
    if len(rest) >= 3 and rest[0] == _NAMESPACES:
        namespace, rest = rest[1], rest[2:]
    resource, name = [*rest, "", ""][:2]
    if root not in ("api", "apis") or not resource:
        raise LookupFailed(f"failed to parse path: {path}")
    return _Path(group, version, namespace, resource, name)


_NO_CLUSTERS: Final[Mapping[tuple[str, str], Cluster]] = MappingProxyType({})


class UserApi:
    """An API server that has the objects of a user and no others."""

    def __init__(
        self,
        cluster: Cluster = EMPTY,
        objects: ObjectApi | None = None,
        configmaps: Sequence[Body] | None = None,
        by_rule: Mapping[tuple[str, str], Cluster] = _NO_CLUSTERS,
    ) -> None:
        """cluster: the objects that rules see; objects: the objects that answer calls; configmaps:
        whole objects, None without a source of them; by_rule: the objects of one rule (policy and
        rule; no rule for a policy without any), in place of the cluster's.
        """
        self._cluster = cluster
        self._objects = objects
        named = map(Resource, configmaps or ())
        self._configmaps = {
            (configmap.namespace or "default", configmap.name): configmap.body
            for configmap in named
        }
        self._missing = NoSource if configmaps is None else LookupFailed
        self._by_rule = by_rule

    def configmap(self, namespace: str, name: str, /) -> Body:
        body = self._configmaps.get((namespace, name))
        if body is None:
            raise self._missing(f'configmaps "{name}" not found')
        return body

    def call(self, method: str, path: str, data: Json, /) -> Json:
        if self._objects is None:
            return OFFLINE.api.call(method, path, data)
        return self._objects.answer(method, path)

    def cluster(self, policy: str, rule: str, /) -> Cluster:
        return self._by_rule.get((policy, rule), self._cluster)


def partial_api(bodies: Sequence[Body], custom: CustomNames = UNKNOWN) -> UserApi:
    """Return an API server that serves only some objects; custom: the kinds whose resources it
    names by their definitions."""
    configmaps = [body for body in bodies if body.get("kind") == "ConfigMap"]
    api = PartialApi(bodies, custom)
    return UserApi(Cluster(bodies, custom), api, configmaps or None)


@dataclass(frozen=True, slots=True)
class UserImages:
    """Images of a Context file, above a registry that is asked for every other image, if any."""

    images: Mapping[str, Body]
    registry: ImageSource | None = None

    def image(self, reference: str, credentials: Credentials = NOBODY_ELSE, /) -> Body:
        image = self.images.get(reference)
        if image is not None:
            return image
        if self.registry is None:
            raise NoSource(f"image data for {reference} not found in the context")
        return self.registry.image(reference, credentials)

    def descriptor(self, reference: str, credentials: Credentials = NOBODY_ELSE, /) -> Body:
        if self.registry is None or reference in self.images:
            return self.image(reference, credentials)
        return self.registry.descriptor(reference, credentials)

    def digest(self, reference: str, credentials: Credentials = NOBODY_ELSE, /) -> str:
        return (self.registry or OFFLINE.images).digest(reference, credentials)


class UserMocks:
    """The variables of a values file, and recorded answers to calls."""

    def __init__(
        self,
        values: UserValues | None = None,
        api_calls: Iterable[Body] = (),
        values_answer_calls: bool = False,
    ) -> None:
        """api_calls: `{url or urlPath, method, response: {statusCode, body}}`;
        values_answer_calls: as in Kyverno's test command (its apply command has no answer)."""
        self._values = values or UserValues()
        self._calls = dict(map(_recorded_call, api_calls))
        self.has_recorded = bool(self._calls)
        self.values_answer_calls = values_answer_calls

    def recorded(self, method: str, url: str, /) -> Recorded | None:
        return self._calls.get(f"{method}:{url}") or self._calls.get(url)

    def rule_values(self, policy: str, rule: str, /) -> Mapping[str, Json]:
        return self._values.for_rule(policy, rule)


class UserGlobalContext:
    """Mocked entries, above GlobalContextEntries that hold data of a world."""

    def __init__(
        self,
        mocked: Iterable[Body] = (),
        entries: Iterable[GlobalContextEntry] = (),
        world: World = OFFLINE,
    ) -> None:
        """mocked: `{name, data or resources, fieldPath, projections}`."""
        self._mocked = {str(entry.get("name")): entry for entry in mocked}
        self._entries = {entry.name: entry for entry in entries}
        self._world = world

    def data(self, name: str, projection: str, /) -> Json:
        if name in self._mocked:
            data = _global_data(self._mocked[name])
            if not projection:
                return data
            mock = f"global context mock: projection {quote(projection)}"
            if not isinstance(data, dict):
                raise LookupFailed(f"{mock} requested but value is not an object")
            if projection not in data:
                raise LookupFailed(f"{mock} not found")
            return data[projection]
        if name in self._entries:
            return self._entries[name].data(projection, self._world)
        failure = UnknownEntry if self._mocked or self._entries else NoSource
        raise failure(f"failed to fetch entry key={name}")


def _recorded_call(entry: Body) -> tuple[str, Recorded]:
    response = entry.get("response") or {}
    url = entry.get("url") or entry.get("urlPath") or ""
    method = str(entry.get("method") or "").strip().upper()
    key = f"{method}:{url}" if method else url
    return key, Recorded(response.get("statusCode") or 200, response.get("body"))


def _global_data(entry: Body) -> Json:
    prefix = f"globalContextEntries {quote(str(entry.get('name')))}"
    resources = entry.get("resources")
    data = entry.get("data") if resources is None else resources
    projections = entry.get("projections") or ()
    if data is None:
        if projections:
            raise LookupFailed(f"{prefix}: data is required when projections are set")
        return None
    if path := entry.get("fieldPath"):
        data = _search(path, data, f"{prefix} fieldPath")
    if not projections:
        return data
    results = {}
    for projection in projections:
        name, path = projection.get("name"), projection.get("path") or ""
        if not name:
            raise LookupFailed(f"{prefix} projection name must not be empty")
        results[name] = _search(path, data, f"{prefix} projection {quote(name)} path {quote(path)}")
    return results


def _search(path: str, data: Json, prefix: str) -> Json:
    with Reraise(f"{prefix}: ", JMESPathError, LookupFailed):
        return compile_expression(path).search(data)
