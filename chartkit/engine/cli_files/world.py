"""Admission requests for objects from files, and the ports of the engine, filled with what a user
gives: objects, images, mocks, values.

Recorded answers to API and service calls and the data of GlobalContextEntries take the place of a
cluster, as in Kyverno's command-line program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from chartkit.engine.cli_files.object_api import ObjectApi, PartialApi
from chartkit.engine.cli_files.user_files import UserValues
from chartkit.engine.context.global_context import GlobalContextEntry
from chartkit.engine.jmespath import JMESPathError, compile_expression
from chartkit.engine.kubernetes.kinds import kind_of
from chartkit.engine.ports.cluster import EMPTY, Cluster
from chartkit.engine.ports.signatures import NOBODY_ELSE, Credentials
from chartkit.engine.ports.world import OFFLINE, ImageSource, Recorded, UnknownEntry, World
from chartkit.engine.request.request import Request, User
from chartkit.errors import LookupFailed, NoSource
from chartkit.go.strconv import quote
from chartkit.model import Body, Json, Resource

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
        """cluster: the objects that rules see; objects: those that answer calls; configmaps:
        whole objects, None where there is no source of them; by_rule: the objects of one rule
        (policy and rule; no rule for a policy without any), in place of the cluster's.
        """
        self._cluster = cluster
        self._objects = objects
        self._configmaps = {_configmap_key(body): body for body in configmaps or ()}
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


def partial_api(bodies: Sequence[Body]) -> UserApi:
    """Return an API server that has some objects and may have others."""
    configmaps = [body for body in bodies if body.get("kind") == "ConfigMap"]
    return UserApi(Cluster(bodies), PartialApi(bodies), configmaps or None)


class UserImages:
    """Images of a Context file, above a registry."""

    def __init__(self, images: Mapping[str, Body], registry: ImageSource | None = None) -> None:
        """registry: asked for every other image; None: no registry."""
        self._images = images
        self._registry = registry

    def image(self, reference: str, credentials: Credentials = NOBODY_ELSE, /) -> Body:
        image = self._images.get(reference)
        if image is not None:
            return image
        if self._registry is None:
            raise NoSource(f"image data for {reference} not found in the context")
        return self._registry.image(reference, credentials)

    def descriptor(self, reference: str, credentials: Credentials = NOBODY_ELSE, /) -> Body:
        if self._registry is None or reference in self._images:
            return self.image(reference, credentials)
        return self._registry.descriptor(reference, credentials)

    def digest(self, reference: str, credentials: Credentials = NOBODY_ELSE, /) -> str:
        return (self._registry or OFFLINE.images).digest(reference, credentials)


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
            return _mocked_data(self._mocked[name], projection)
        if name in self._entries:
            return self._entries[name].data(projection, self._world)
        failure = UnknownEntry if self._mocked or self._entries else NoSource
        raise failure(f"failed to fetch entry key={name}")


def _mocked_data(entry: Body, projection: str) -> Json:
    data = _global_data(entry)
    if not projection:
        return data
    mock = f"global context mock: projection {quote(projection)}"
    if not isinstance(data, dict):
        raise LookupFailed(f"{mock} requested but value is not an object")
    if projection not in data:
        raise LookupFailed(f"{mock} not found")
    return data[projection]


def _recorded_call(entry: Body) -> tuple[str, Recorded]:
    response = entry.get("response") or {}
    url = entry.get("url") or entry.get("urlPath") or ""
    method = str(entry.get("method") or "").strip().upper()
    key = f"{method}:{url}" if method else url
    return key, Recorded(response.get("statusCode") or 200, response.get("body"))


def _configmap_key(body: Body) -> tuple[str, str]:
    one = Resource(body)
    return one.namespace or "default", one.name


def _global_data(entry: Body) -> Json:
    place = f"globalContextEntries {quote(str(entry.get('name')))}"
    resources = entry.get("resources")
    data = entry.get("data") if resources is None else resources
    projections = entry.get("projections") or ()
    if data is None:
        if projections:
            raise LookupFailed(f"{place}: data is required when projections are set")
        return None
    path = entry.get("fieldPath")
    if path:
        data = _search(path, data, f"{place} fieldPath")
    if not projections:
        return data
    found = {}
    for projection in projections:
        name, path = projection.get("name"), projection.get("path") or ""
        if not name:
            raise LookupFailed(f"{place} projection name must not be empty")
        found[name] = _search(path, data, f"{place} projection {quote(name)} path {quote(path)}")
    return found


def _search(path: str, data: Json, place: str) -> Json:
    try:
        return compile_expression(path).search(data)
    except JMESPathError as error:
        raise LookupFailed(f"{place}: {error}") from error


NO_VALUES: Final = UserValues()
_NO_LABELS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType({})
_NO_OBJECTS: Final[Mapping[str, Body]] = MappingProxyType({})
_OPERATION: Final = "request.operation"


class Admissions:
    """Makes requests of objects, each with the variables that every policy sees."""

    __slots__ = (
        "_has_variables",
        "_namespace_objects",
        "_namespaces",
        "_policies",
        "_user",
        "_values",
    )

    def __init__(
        self,
        policies: Iterable[str],
        values: UserValues = NO_VALUES,
        user: User | None = None,
        namespaces: Mapping[str, Mapping[str, str]] = _NO_LABELS,
        namespace_objects: Mapping[str, Body] = _NO_OBJECTS,
    ) -> None:
        """policies: their names; namespaces: labels, where the values have none of a namespace;
        namespace_objects: whole Namespaces, where the values have no such object."""
        self._policies = tuple(dict.fromkeys(policies))
        self._values = values
        self._user = user
        self._namespaces = namespaces
        self._namespace_objects = namespace_objects
        self._has_variables = bool(values.globals or values.by_resource or values.settings)

    def request(self, resource: Resource, operation: str = "") -> Request:
        """The admission of an object; operation: CREATE, UPDATE or DELETE, above the values'."""
        values = self._values
        namespace = resource.namespace
        labels = values.namespace_labels(namespace) or self._namespaces.get(namespace, {})
        kind, subresource = values.parent(kind_of(resource))
        return Request(
            resource,
            user=self._user,
            namespace_labels=labels,
            namespace=self._namespace_object(namespace),
            subresource=subresource,
            kind=kind,
            variables=self._variables(resource.name, operation),
        )

    def _namespace_object(self, namespace: str) -> Body | None:
        values = self._values
        if namespace in values.namespaces or namespace in values.labels:
            return values.namespaces.get(namespace)
        return self._namespace_objects.get(namespace)

    def _variables(self, name: str, operation: str) -> dict[str, Mapping[str, Json]]:
        if not (self._has_variables or operation):
            return {}
        variables: dict[str, Mapping[str, Json]] = {}
        for policy in self._policies:
            given = self._values.for_resource(policy, name)
            variables[policy] = {**given, _OPERATION: operation} if operation else given
        return variables
