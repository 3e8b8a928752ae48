"""The types of `request` and `namespaceObject`, as admission policies see them.

At run time both are plain maps; the types say which fields an expression may name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from chartkit.engine.cel.declarations import Library, StructType
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.types import (
    BOOL,
    DYN,
    INT,
    LIST_STRING,
    STRING,
    TIMESTAMP,
    Type,
    list_of,
    map_of,
    struct,
)
from chartkit.engine.cel.values import Value

REQUEST: Final = struct("kubernetes.AdmissionRequest")
NAMESPACE: Final = struct("kubernetes.Namespace")

_KIND: Final = struct("kubernetes.GroupVersionKind")
_RESOURCE: Final = struct("kubernetes.GroupVersionResource")
_USER: Final = struct("kubernetes.UserInfo")
_METADATA: Final = struct("kubernetes.NamespaceMetadata")
_SPEC: Final = struct("kubernetes.NamespaceSpec")
_STATUS: Final = struct("kubernetes.NamespaceStatus")
_CONDITION: Final = struct("kubernetes.NamespaceCondition")
_LABELS: Final = map_of(STRING, STRING)

_REQUEST_FIELDS: Final[Mapping[str, Type]] = {
    "kind": _KIND,
    "resource": _RESOURCE,
    "subResource": STRING,
    "requestKind": _KIND,
    "requestResource": _RESOURCE,
    "requestSubResource": STRING,
    "name": STRING,
    "namespace": STRING,
    "operation": STRING,
    "userInfo": _USER,
    "dryRun": BOOL,
    "options": DYN,
}
_OBJECTS: Final[Mapping[str, Type]] = {"object": DYN, "oldObject": DYN}
_SHARED: Final[tuple[tuple[Type, Mapping[str, Type]], ...]] = (
    (_KIND, {"group": STRING, "version": STRING, "kind": STRING}),
    (_RESOURCE, {"group": STRING, "version": STRING, "resource": STRING}),
    (
        _USER,
        {
            "username": STRING,
            "uid": STRING,
            "groups": LIST_STRING,
            "extra": map_of(STRING, LIST_STRING),
        },
    ),
    (NAMESPACE, {"metadata": _METADATA, "spec": _SPEC, "status": _STATUS}),
    (
        _METADATA,
        {
            "name": STRING,
            "generateName": STRING,
            "namespace": STRING,
            "labels": _LABELS,
            "annotations": _LABELS,
            "UID": STRING,
            "creationTimestamp": TIMESTAMP,
            "deletionGracePeriodSeconds": INT,
            "deletionTimestamp": TIMESTAMP,
            "generation": INT,
            "resourceVersion": STRING,
            "finalizers": LIST_STRING,
        },
    ),
    (_SPEC, {"finalizers": LIST_STRING}),
    (_STATUS, {"conditions": list_of(_CONDITION), "phase": STRING}),
    (
        _CONDITION,
        {
            "status": STRING,
            "type": STRING,
            "lastTransitionTime": TIMESTAMP,
            "message": STRING,
            "reason": STRING,
        },
    ),
)


def declared(kind: Type, fields: Mapping[str, Type]) -> StructType:
    """A type that checks field names; a literal of it compiles, but has no value."""
    return StructType(kind.name, MappingProxyType(dict(fields)), _refusing(kind.name))


def _refusing(name: str) -> Callable[[Mapping[str, Value]], Value]:
    def construct(_fields: Mapping[str, Value]) -> Value:
        raise CelError(f"unknown type '{name}'")

    return construct


def _library(name: str, request: Mapping[str, Type], doc: str) -> Library:
    structs = [declared(kind, fields) for kind, fields in _SHARED]
    return Library(name, structs=(declared(REQUEST, request), *structs), doc=doc)


LIBRARY: Final = _library(
    "kubernetes.admission", _REQUEST_FIELDS, "The types of an admission request and a namespace."
)
WITH_OBJECTS_LIBRARY: Final = _library(
    "kyverno.admission",
    {**_REQUEST_FIELDS, **_OBJECTS},
    "The types of a namespace and of an admission request that holds its objects.",
)
