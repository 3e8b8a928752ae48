"""The types of `request` and `namespaceObject`, as admission policies see them.

At run time both are plain maps; the types say which fields an expression may name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from chartkit.engine.cel import types
from chartkit.engine.cel.declarations import Library, StructType
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.values import Value

REQUEST: Final = types.struct("kubernetes.AdmissionRequest")
NAMESPACE: Final = types.struct("kubernetes.Namespace")

_KIND: Final = types.struct("kubernetes.GroupVersionKind")
_RESOURCE: Final = types.struct("kubernetes.GroupVersionResource")
_USER: Final = types.struct("kubernetes.UserInfo")
_METADATA: Final = types.struct("kubernetes.NamespaceMetadata")
_SPEC: Final = types.struct("kubernetes.NamespaceSpec")
_STATUS: Final = types.struct("kubernetes.NamespaceStatus")
_CONDITION: Final = types.struct("kubernetes.NamespaceCondition")
_LABELS: Final = types.map_of(types.STRING, types.STRING)

_REQUEST_FIELDS: Final[Mapping[str, types.Type]] = {
    "kind": _KIND,
    "resource": _RESOURCE,
    "subResource": types.STRING,
    "requestKind": _KIND,
    "requestResource": _RESOURCE,
    "requestSubResource": types.STRING,
    "name": types.STRING,
    "namespace": types.STRING,
    "operation": types.STRING,
    "userInfo": _USER,
    "dryRun": types.BOOL,
    "options": types.DYN,
}
_OBJECTS: Final[Mapping[str, types.Type]] = {"object": types.DYN, "oldObject": types.DYN}
_SHARED: Final[tuple[tuple[types.Type, Mapping[str, types.Type]], ...]] = (
    (_KIND, {"group": types.STRING, "version": types.STRING, "kind": types.STRING}),
    (_RESOURCE, {"group": types.STRING, "version": types.STRING, "resource": types.STRING}),
    (
        _USER,
        {
            "username": types.STRING,
            "uid": types.STRING,
            "groups": types.LIST_STRING,
            "extra": types.map_of(types.STRING, types.LIST_STRING),
        },
    ),
    (NAMESPACE, {"metadata": _METADATA, "spec": _SPEC, "status": _STATUS}),
    (
        _METADATA,
        {
            "name": types.STRING,
            "generateName": types.STRING,
            "namespace": types.STRING,
            "labels": _LABELS,
            "annotations": _LABELS,
            "UID": types.STRING,
            "creationTimestamp": types.TIMESTAMP,
            "deletionGracePeriodSeconds": types.INT,
            "deletionTimestamp": types.TIMESTAMP,
            "generation": types.INT,
            "resourceVersion": types.STRING,
            "finalizers": types.LIST_STRING,
        },
    ),
    (_SPEC, {"finalizers": types.LIST_STRING}),
    (_STATUS, {"conditions": types.list_of(_CONDITION), "phase": types.STRING}),
    (
        _CONDITION,
        {
            "status": types.STRING,
            "type": types.STRING,
            "lastTransitionTime": types.TIMESTAMP,
            "message": types.STRING,
            "reason": types.STRING,
        },
    ),
)


def declared(kind: types.Type, fields: Mapping[str, types.Type]) -> StructType:
    """A type that checks field names; a literal of it compiles, but has no value."""
    return StructType(kind.name, MappingProxyType(dict(fields)), _refusing(kind.name))


def _refusing(name: str) -> Callable[[Mapping[str, Value]], Value]:
    def construct(_fields: Mapping[str, Value]) -> Value:
        raise CelError(f"unknown type '{name}'")

    return construct


def _library(name: str, request: Mapping[str, types.Type]) -> Library:
    structs = [declared(kind, fields) for kind, fields in _SHARED]
    return Library(name, structs=(declared(REQUEST, request), *structs))


LIBRARY: Final = _library("kubernetes.admission", _REQUEST_FIELDS)
WITH_OBJECTS_LIBRARY: Final = _library("kyverno.admission", {**_REQUEST_FIELDS, **_OBJECTS})
