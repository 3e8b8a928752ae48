"""The fields of the files of Kyverno's command line.

Kyverno decodes these files strictly: fields match regardless of case, another field is an error,
and a scalar where a text belongs becomes one (`sigs.k8s.io/yaml`, `UnmarshalStrict`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from chartkit.errors import InputError
from chartkit.go.fmt import format_float
from chartkit.model import Body, Json, Location
from chartkit.suggestions import suggestion


class Kind(Enum):
    """A kind of value without fields of its own."""

    TEXT = "a text"
    ANY = "anything"


@dataclass(frozen=True, slots=True)
class Fields:
    """A mapping with these fields and no others."""

    fields: Mapping[str, Shape]


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    each: Shape


@dataclass(frozen=True, slots=True)
class Entries:
    """A mapping of names that the author chooses."""

    each: Shape


Shape: TypeAlias = "Kind | Fields | Items | Entries"


def decoded(value: Json, shape: Shape, what: str, location: Location, pointer: str = "") -> Json:
    """Return a value with the fields' own names and texts in place of scalars.

    what: the value's name in messages; pointer: its place below the location. Raises InputError for
    a field that there is not, and for a list or mapping where there must not be one.
    """
    if value is None or value in ({}, []):
        return value
    if isinstance(shape, Kind):
        if shape is Kind.ANY:
            return value
        if isinstance(value, list | dict):
            raise InputError(f"{what} must be a text", location)
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, float):
            return format_float(value)
        return str(value)
    if isinstance(shape, Items):
        if not isinstance(value, list):
            raise InputError(f"{what} must be a list", location)
        each = f"each of {what}"
        return [
            decoded(item, shape.each, each, location, f"{pointer}/{index}")
            for index, item in enumerate(value)
        ]
    if not isinstance(value, dict):
        raise InputError(f"{what} must be a mapping", location)
    if isinstance(shape, Entries):
        return {
            str(key): decoded(entry, shape.each, str(key), location, _below(pointer, key))
            for key, entry in value.items()
        }
    return _fields(value, shape.fields, location, pointer)


def _fields(body: Body, fields: Mapping[str, Shape], location: Location, pointer: str) -> Body:
    known = {name.lower(): name for name in fields}
    found: Body = {}
    for key, value in body.items():
        name = known.get(str(key).lower())
        place = _below(pointer, key)
        if name is None:
            hint = suggestion(str(key), fields) or f"known are {', '.join(fields)}"
            raise InputError(f"unknown field '{key}'", location.within(place), hint)
        found[name] = decoded(value, fields[name], name, location, place)
    return found


def _below(pointer: str, key: object) -> str:
    return f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"


_TEXTS: Final = Items(Kind.TEXT)
_OF_TEXT: Final = Entries(Kind.TEXT)
_OF_ANY: Final = Entries(Kind.ANY)
_NAMED: Final[dict[str, Shape]] = {"name": Kind.TEXT, "values": _OF_ANY}

METADATA: Final = Fields(
    {
        **dict.fromkeys(("name", "generateName", "namespace", "selfLink", "uid"), Kind.TEXT),
        **dict.fromkeys(("resourceVersion", "creationTimestamp", "deletionTimestamp"), Kind.TEXT),
        **dict.fromkeys(("generation", "deletionGracePeriodSeconds"), Kind.ANY),
        **dict.fromkeys(("labels", "annotations"), _OF_TEXT),
        **dict.fromkeys(("ownerReferences", "managedFields"), Items(Kind.ANY)),
        "finalizers": _TEXTS,
    }
)
_HEAD: Final[dict[str, Shape]] = {
    **dict.fromkeys(("apiVersion", "kind"), Kind.TEXT),
    "metadata": METADATA,
}
_API_RESOURCE: Final = Fields(
    {
        **dict.fromkeys(("name", "singularName", "group", "version", "kind"), Kind.TEXT),
        **dict.fromkeys(("verbs", "shortNames", "categories"), _TEXTS),
        "storageVersionHash": Kind.TEXT,
        "namespaced": Kind.ANY,
    }
)
_VALUES: Final[dict[str, Shape]] = {
    "globalValues": _OF_ANY,
    "policies": Items(
        Fields(
            {
                "name": Kind.TEXT,
                "resources": Items(Fields(_NAMED)),
                "rules": Items(Fields({**_NAMED, "foreachValues": Entries(Items(Kind.ANY))})),
            }
        )
    ),
    "namespaceSelector": Items(Fields({"name": Kind.TEXT, "labels": _OF_TEXT})),
    "namespaces": Items(Fields({**_HEAD, "spec": _OF_ANY, "status": _OF_ANY})),
    "subresources": Items(Fields({"subresource": _API_RESOURCE, "parentResource": _API_RESOURCE})),
}
INLINE_VALUES: Final = Fields(_VALUES)
VALUES: Final = Fields({**_HEAD, **_VALUES})
_IMAGE: Final = Fields(
    {
        **dict.fromkeys(("image", "resolvedImage", "registry", "repository"), Kind.TEXT),
        **dict.fromkeys(("tag", "digest"), Kind.TEXT),
        **dict.fromkeys(("imageIndex", "manifest", "config"), Kind.ANY),
    }
)
CONTEXT: Final = Fields(
    {**_HEAD, "spec": Fields({"resources": Items(_OF_ANY), "images": Items(_IMAGE)})}
)
CLUSTER_RESOURCES: Final = Fields(
    {**_HEAD, "spec": Fields({"crds": _TEXTS, "resources": Items(_OF_ANY)})}
)
API_CALLS: Final = Items(
    Fields(
        {
            **dict.fromkeys(("url", "urlPath", "method"), Kind.TEXT),
            "response": Fields({"statusCode": Kind.ANY, "body": Kind.ANY}),
        }
    )
)
GLOBAL_ENTRIES: Final = Items(
    Fields(
        {
            **dict.fromkeys(("name", "fieldPath"), Kind.TEXT),
            "data": Kind.ANY,
            "resources": Items(Kind.ANY),
            "resourceFiles": _TEXTS,
            "projections": Items(Fields({"name": Kind.TEXT, "path": Kind.TEXT})),
        }
    )
)
