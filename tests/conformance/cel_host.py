"""The cluster, services and registries that the recorded cases of Kyverno's libraries ask."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import Host
from chartkit.model import Body, Json
from tests.data import tables

_PLURALS: Final[dict[str, str]] = tables(__file__)["plurals"]


class RecordedHost(Host):
    """Answers from a case's `context`, as the program that recorded it did."""

    def __init__(self, context: Mapping[str, Any], policy_namespace: str) -> None:
        self.policy_namespace = policy_namespace
        self._resources: dict[tuple[str, str], list[Body]] = {}
        for entry in context.get("resources", []):
            group, version, resource = entry["gvr"]
            key = (f"{group}/{version}".lstrip("/"), resource)
            self._resources.setdefault(key, []).append(entry["object"])
        self._globals: Mapping[str, Json] = context.get("globals", {})
        self._http: Mapping[str, Json] = context.get("http", {})
        self._images: Mapping[str, Body] = context.get("images", {})

    def get_resource(
        self, api_version: str, resource: str, namespace: str, name: str, /
    ) -> Body | None:
        for body in self._resources.get((api_version, resource), []):
            if _place(body) == (namespace, name):
                return body
        return None

    def list_resources(
        self, api_version: str, resource: str, namespace: str, _labels: Mapping[str, str], /
    ) -> Body:
        known = self._resources.get((api_version, resource))
        if known is None:
            group = api_version.rpartition("/")[0]
            name = f"{resource}.{group}" if group else resource
            raise CelError(f"{name} resource not found")
        return {"items": [body for body in known if _place(body)[0] == namespace]}

    def post_resource(self, _version: str, _resource: str, namespace: str, body: Body, /) -> Body:
        if not namespace:
            return body
        return {**body, "metadata": {**body.get("metadata", {}), "namespace": namespace}}

    def plural(self, api_version: str, kind: str, /) -> str:
        if kind not in _PLURALS:
            raise CelError(f'no matches for kind "{kind}" in version "{api_version}"')
        return _PLURALS[kind]

    def global_context(self, name: str, projection: str, /) -> Json:
        data = self._globals.get(name)
        if not projection or name not in self._globals:
            return data
        entry = f'projection "{projection}" not found in global context entry "{name}"'
        if not isinstance(data, dict):
            raise CelError(f"{entry}: stored value is not an object")
        if projection not in data:
            raise CelError(entry)
        return data[projection]

    def http(
        self, method: str, url: str, _headers: Mapping[str, str], _body: Json, _ca: str, /
    ) -> Json:
        for key in (f"{method}:{url}", url):
            if key in self._http:
                return self._http[key]
        raise CelError(f"no mock for {method} {url}")

    def image_data(self, reference: str, /) -> Body:
        if reference not in self._images:
            raise CelError(f"image data for {reference} not found in the context")
        return self._images[reference]

    def generate(self, _namespace: str, _resources: Sequence[Body], /) -> None:
        """Takes everything."""

    def now(self) -> datetime:
        return datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)


def recorded_host(case: Mapping[str, Any]) -> RecordedHost:
    """The world of a case."""
    return RecordedHost(case.get("context") or {}, case.get("policyNamespace", ""))


def _place(body: Body) -> tuple[str, str]:
    metadata = body.get("metadata", {})
    return metadata.get("namespace", ""), metadata.get("name", "")
