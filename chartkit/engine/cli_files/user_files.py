"""The files that a user gives Kyverno's command line: values, user information and contexts.

Kyverno decodes them strictly: fields match regardless of case, another field is an error, and a
scalar where a text belongs becomes one (`sigs.k8s.io/yaml`, `UnmarshalStrict`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from chartkit.documents.reader import Document, read_file
from chartkit.engine.cli_files.admissions import (
    OPERATION,
    OPERATIONS,
    UserContext,
    UserValues,
)
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from chartkit.engine.request import User
from chartkit.errors import InputError
from chartkit.go.fmt import format_float
from chartkit.model import Body, Json, Location
from chartkit.schemas.compact import Schema, flattened, parse_types
from chartkit.suggestions import suggestion

METADATA: Final = "Metadata"
INLINE_VALUES: Final = "InlineValues"
VALUES: Final = "Values"
CONTEXT: Final = "Context"
CLUSTER_RESOURCES: Final = "ClusterResources"
API_CALLS: Final = "APICalls"
GLOBAL_ENTRIES: Final = "GlobalEntries"


@cache
def _types() -> Mapping[str, Schema]:
    types = parse_types(read_file(Path(__file__).with_name("fields.yaml"))[0].body)
    return {name: flattened(schema, types) for name, schema in types.items()}


def decoded(value: Json, shape: str, what: str, location: Location, pointer: str = "") -> Json:
    """Return a value with the fields' own names and texts in place of scalars.

    shape: the name of its type; what: the value's name in messages; pointer: its place below the
    location. Raises InputError for an unknown field, and for a misplaced list or mapping.
    """
    return _decoded(value, _types()[shape], what, location, pointer)


def _decoded(value: Json, schema: Schema, what: str, location: Location, pointer: str) -> Json:
    schema = _types()[schema["$ref"]] if "$ref" in schema else schema
    kind = schema.get("type")
    if value is None or value in ({}, []) or kind is None:
        return value
    if kind == "string":
        if isinstance(value, list | dict):
            raise InputError(f"{what} must be a text", location)
        if isinstance(value, bool):
            return "true" if value else "false"
        return format_float(value) if isinstance(value, float) else str(value)
    if kind == "array":
        if not isinstance(value, list):
            raise InputError(f"{what} must be a list", location)
        element = f"each of {what}"
        return [
            _decoded(item, schema["items"], element, location, f"{pointer}/{index}")
            for index, item in enumerate(value)
        ]
    if not isinstance(value, dict):
        raise InputError(f"{what} must be a mapping", location)
    fields: Mapping[str, Schema] = schema.get("properties", {})
    by_lower = {name.lower(): name for name in fields}
    result: Body = {}
    for key, member in value.items():
        field = f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"
        if "additionalProperties" in schema:
            name, inner = str(key), schema["additionalProperties"]
        elif str(key).lower() in by_lower:
            name = by_lower[str(key).lower()]
            inner = fields[name]
        else:
            hint = suggestion(str(key), fields) or f"known are {', '.join(fields)}"
            raise InputError(f"unknown field '{key}'", location.within(field), hint)
        result[name] = _decoded(member, inner, name, location, field)
    return result


def read_values(
    body: Json, location: Location, settings: Mapping[str, str] | None = None
) -> UserValues:
    """Reads a values file's document, or the values that a test has in place of a file; raises
    `InputError` for what they may not hold."""
    shape = INLINE_VALUES if location.path else VALUES
    body = _mapping(decoded(body, shape, "a values file", location), "a values file", location)
    operation = _mapping(body.get("globalValues"), "globalValues", location).get(OPERATION)
    if isinstance(operation, str) and operation not in OPERATIONS:
        raise InputError(
            f'invalid request.operation value "{operation}", must be one of '
            f"{', '.join(OPERATIONS)}",
            location,
        )
    policies = body.get("policies")
    by_resource: _Values = {}
    by_rule: _Values = {}
    for policy in _items(policies, "policies", location):
        name = _name(policy, "policies", location)
        for resource in _items(policy.get("resources"), "resources", location):
            key = (name, _name(resource, "resources", location))
            values = _mapping(resource.get("values"), "values", location)
            by_resource[key] = {**by_resource.get(key, {}), **values}
        for rule in _items(policy.get("rules"), "rules", location):
            key = (name, _name(rule, "rules", location))
            foreach = _mapping(rule.get("foreachValues"), "foreachValues", location)
            # Kyverno never counts the elements: the first value serves for all of them.
            first = {
                variable: values[0]
                for variable, values in foreach.items()
                if isinstance(values, list) and values
            }
            values = _mapping(rule.get("values"), "values", location)
            by_rule.setdefault(key, {**values, **first})
    labels: dict[str, Mapping[str, str]] = {}
    for selector in _items(body.get("namespaceSelector"), "namespaceSelector", location):
        name = _name(selector, "namespaceSelector", location)
        labels[name] = _mapping(selector.get("labels"), "labels", location)
    for namespace in _items(body.get("namespaces"), "namespaces", location):
        metadata = _mapping(namespace.get("metadata"), "metadata", location)
        name = _name(metadata, "namespaces", location)
        labels[name] = _mapping(metadata.get("labels"), "labels", location)
    return UserValues(
        dict(_mapping(body.get("globalValues"), "globalValues", location)),
        by_resource,
        by_rule,
        settings or {},
        labels,
        _subresources(body.get("subresources"), location),
        {
            namespace["metadata"]["name"]: {"apiVersion": "v1", "kind": "Namespace", **namespace}
            for namespace in _items(body.get("namespaces"), "namespaces", location)
        },
    )


def read_settings(texts: Sequence[str]) -> dict[str, str]:
    """Read variables given as `name=value`; other texts are skipped, as in Kyverno.

    They cannot set the object itself (`request.object.…`), and the first value of a name wins.
    """
    settings: dict[str, str] = {}
    for text in texts:
        parts = text.strip().split("=")
        if len(parts) != 2:
            continue
        name, value = parts[0].strip(), parts[1].strip()
        if name and value and "request.object." not in name:
            settings.setdefault(name, value)
    return settings


_Values = dict[tuple[str, str], Mapping[str, Json]]


def _subresources(
    items: Json, location: Location
) -> dict[GroupVersionKind, tuple[GroupVersionKind, str]]:
    subresources: dict[GroupVersionKind, tuple[GroupVersionKind, str]] = {}
    for item in _items(items, "subresources", location):
        own = _mapping(item.get("subresource"), "subresource", location)
        parent = _mapping(item.get("parentResource"), "parentResource", location)
        _, slash, name = _name(own, "subresources", location).partition("/")
        if not slash:
            raise InputError("a subresource's name is written as in pods/exec", location)
        subresources[_kind(own)] = (_kind(parent), name.partition("/")[0])
    return subresources


def _kind(body: Mapping[str, Json]) -> GroupVersionKind:
    return GroupVersionKind(*(str(body.get(key) or "") for key in ("group", "version", "kind")))


def _mapping(value: Json, what: str, location: Location) -> Mapping[str, Json]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InputError(f"{what} must be a mapping", location)
    return value


def _items(value: Json, what: str, location: Location) -> Iterator[Mapping[str, Json]]:
    if value is not None and not isinstance(value, list):
        raise InputError(f"{what} must be a list", location)
    for item in value or ():
        yield _mapping(item, f"each of {what}", location)


def _name(body: Mapping[str, Json], what: str, location: Location) -> str:
    name = body.get("name")
    if not isinstance(name, str) or not name:
        raise InputError(f"each of {what} needs a name", location)
    return name


_KEYS: Final = (
    "apiVersion",
    "kind",
    "metadata",
    "roles",
    "clusterRoles",
    "userInfo",
    "synchronize",
)
_INFO_KEYS: Final = ("username", "uid", "groups", "extra")


def read_user_info(body: Json, location: Location) -> User:
    """Reads `roles`, `clusterRoles` and `userInfo` (`username`, `uid`, `groups`, `extra`).

    Raises InputError for invalid values, and for other keys, which Kyverno rejects too.
    """
    if not isinstance(body, dict):
        raise InputError("user info must be a mapping", location)
    if body.get("kind", "UserInfo") != "UserInfo":
        hint = "write kind: UserInfo of cli.kyverno.io/v1alpha1"
        raise InputError(f"holds no user info but a {body['kind']}", location, hint)
    _require_known(body, _KEYS, "user info", location)
    decoded(body.get("metadata"), METADATA, "metadata", location, "/metadata")
    info = body.get("userInfo")
    if info is not None and not isinstance(info, dict):
        raise InputError("userInfo must be a mapping", location)
    info = info or {}
    _require_known(info, _INFO_KEYS, "userInfo", location)
    extra = info.get("extra") or {}
    if not isinstance(extra, dict):
        raise InputError("userInfo.extra must be a mapping", location)
    return User(
        _text(info.get("username"), "userInfo.username", location),
        _text(info.get("uid"), "userInfo.uid", location),
        _texts(info.get("groups"), "userInfo.groups", location),
        extra,
        _texts(body.get("roles"), "roles", location),
        _texts(body.get("clusterRoles"), "clusterRoles", location),
    )


def _require_known(body: Body, fields: tuple[str, ...], what: str, location: Location) -> None:
    for key in body:
        if key not in fields:
            hint = "known are " + ", ".join(fields)
            raise InputError(f"{what} has no '{key}'", location, hint)


def _text(value: Json, what: str, location: Location) -> str:
    if value is not None and not isinstance(value, str):
        raise InputError(f"{what} must be a text", location)
    return value or ""


def _texts(value: Json, what: str, location: Location) -> tuple[str, ...]:
    if value is not None and not isinstance(value, list):
        raise InputError(f"{what} must be a list", location)
    return tuple(_text(item, f"each of {what}", location) for item in value or ())


KIND: Final = "Context"
_ALWAYS: Final = dict.fromkeys(("image", "resolvedImage", "registry", "repository"), "")
"""The data of an image that are present even if the file does not mention them."""


def read_context(document: Document) -> UserContext:
    """Read a context file's document; raises `InputError` for invalid contents."""
    body = document.body
    if not isinstance(body, dict) or body.get("kind") != KIND:
        hint = f"write apiVersion: cli.kyverno.io/v1alpha1 and kind: {KIND}"
        raise InputError(f"is not a {KIND}", document.location, hint)
    body = decoded(body, CONTEXT, KIND, document.location)
    spec = body.get("spec") or {}
    resources = tuple(_members(document, spec, "resources"))
    images: dict[str, Body] = {}
    for index, image in enumerate(_members(document, spec, "images")):
        name: Json = image.get("image")
        if not isinstance(name, str) or not name:
            raise InputError("has no image", document.locate("spec", "images", index))
        images[name] = {**_ALWAYS, **image}
    return UserContext(resources, images)


def _members(document: Document, spec: Body, key: str) -> Iterator[Body]:
    members = spec.get(key) or []
    if not isinstance(members, list):
        raise InputError(f"{key} must be a list", document.locate("spec", key))
    for index, member in enumerate(members):
        if not isinstance(member, dict):
            raise InputError("must be a mapping", document.locate("spec", key, index))
        if key == "resources" and not member.get("kind"):
            raise InputError("has no kind", document.locate("spec", key, index))
        yield member
