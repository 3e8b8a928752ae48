"""A Kubernetes API of objects from files: answers GET on objects and lists by their paths.

Follows the client that Kyverno's programs use offline (`dclient.rawAbsPathForFakeClient`), which
takes the objects for all that there are. A scan has a part of a cluster's: `PartialApi` does not
know what it does not have.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from chartkit.engine.kubernetes.kinds import parse_api_version, resource_name
from chartkit.errors import LookupFailed, NoSource
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

    def __init__(self, objects: Iterable[Body]) -> None:
        self._by_resource: dict[tuple[str, str, str], dict[tuple[str, str], Body]] = {}
        for body in objects:
            one = Resource(body)
            key = (*parse_api_version(one.api_version), resource_name(one.kind))
            self._by_resource.setdefault(key, {})[one.namespace, one.name] = body

    def answer(self, method: str, url_path: str) -> Json:
        """The object or the list at a path; raises `LookupFailed` in Kyverno's words."""
        if method != "GET":
            raise LookupFailed(f"method {method} not supported for fake client")
        path = _parse(url_path)
        found = self._by_resource.get((path.group, path.version, path.resource), {})
        if path.name:
            return _named(path, found)
        items = [
            body
            for (namespace, _), body in sorted(found.items(), key=lambda item: item[0])
            if path.namespace in ("", namespace)
        ]
        kind = items[0]["kind"] if items else ""
        return {"apiVersion": path.api_version, "kind": f"{kind}List", "items": items}


class PartialApi(ObjectApi):
    """An API of some objects of a cluster, which may have others.

    A list has those that are there, and is empty for a kind of Kubernetes' own of which there is
    none. Raises `NoSource` for whatever else is not there.
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
        from chartkit.engine.cel.shapes.matching import own_kind

        there = (path.group, path.version, path.resource) in self._by_resource
        return there or own_kind(path.api_version, path.resource) is not None


_BESIDE: Final = "give the object, or the answer in a values file; nothing outside is asked"


def _named(path: _Path, found: dict[tuple[str, str], Body]) -> Body:
    body = found.get((path.namespace, path.name))
    if body is None:
        resource = f"{path.resource}.{path.group}" if path.group else path.resource
        raise LookupFailed(
            f"failed to get resource {path.api_version}/{path.resource}/{path.name}: "
            f"{resource} {quote(path.name)} not found"
        )
    return body


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
