"""Checks of members by what a schema says about lists and embedded resources: unique items and
keys, and the type and metadata of whole objects.

Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/{listtype,objectmeta}.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from chartkit.engine.cel.library.kubernetes.naming import label_1035, subdomain
from chartkit.go.fmt import go_json
from chartkit.model import Body, FieldPath, Json
from chartkit.scan.custom_resources.schema import Schema
from chartkit.scan.custom_resources.storing import member
from chartkit.scan.custom_resources.validation import Problem, Reason, field_name, problem

_ABSENT: Final = object()


def metadata_problems(body: Body) -> Iterator[Problem]:
    """Yield the errors of an object's name."""
    metadata = body.get("metadata")
    path: FieldPath = ("metadata", "name")
    if not isinstance(metadata, dict):
        return
    name, prefix = metadata.get("name"), metadata.get("generateName")
    if not name and not prefix:
        detail = "name or generateName is required"
        yield problem(path, field_name(path), Reason.REQUIRED, detail)
    elif isinstance(name, str) and name:
        for each in subdomain(name):
            yield problem(path, field_name(path), Reason.INVALID, each, name)


def member_problems(schema: Schema, body: Body) -> Iterator[Problem]:
    """Yield the errors of embedded resources, and of lists that are sets or maps."""
    yield from _members(schema, body, (), frozenset(), is_root=True)


def _members(
    schema: Schema | None, value: Json, path: FieldPath, keys: frozenset[int], is_root: bool = False
) -> Iterator[Problem]:
    if schema is None:
        return
    if isinstance(value, dict):
        if schema.embeds and not is_root:
            yield from _embedded(value, path, keys)
        for key, each in value.items():
            is_key = key not in schema.properties
            here = keys | {len(path)} if is_key else keys
            yield from _members(member(schema, key), each, (*path, key), here)
    elif isinstance(value, list):
        yield from _repeated(schema, value, path, keys)
        for at, each in enumerate(value):
            yield from _members(schema.items, each, (*path, at), keys)


def _embedded(body: Body, path: FieldPath, keys: frozenset[int]) -> Iterator[Problem]:
    for key in ("apiVersion", "kind"):
        here = (*path, key)
        name = field_name(here, keys)
        given = body.get(key, _ABSENT)
        if given is _ABSENT:
            yield problem(here, name, Reason.REQUIRED)
        elif not isinstance(given, str):
            yield problem(here, name, Reason.INVALID, "must be a string", given)
        elif not given:
            yield problem(here, name, Reason.INVALID, "must not be empty", given)
        elif key == "kind" and (faults := label_1035(given.lower())):
            told = f"may have mixed case, but should otherwise match: {','.join(faults)}"
            yield problem(here, name, Reason.INVALID, told, given)
        elif key == "apiVersion" and given.count("/") > 1:
            told = f"unexpected GroupVersion string: {given}"
            yield problem(here, name, Reason.INVALID, told, given)


def _repeated(
    schema: Schema, values: list[Json], path: FieldPath, keys: frozenset[int]
) -> Iterator[Problem]:
    if schema.list_type == "map":
        for at, value in enumerate(values):
            if value is not None and not isinstance(value, dict):
                here = (*path, at)
                told = "must be an object for an array of list-type map"
                yield problem(here, field_name(here, keys), Reason.INVALID, told, value)
                return
        compared = [_key(schema.list_keys, each or {}) for each in values]
    elif schema.list_type == "set":
        compared = values
    else:
        return
    for at in _second_ones(compared):
        here = (*path, at)
        name = field_name(here, keys)
        yield problem(here, name, Reason.DUPLICATE, "", compared[at])


def _key(names: Sequence[str], body: Body) -> Body:
    return {name: body[name] for name in names if name in body}


def _second_ones(values: Sequence[Json]) -> Iterator[int]:
    """Yield the index of the first repetition of each value."""
    seen: dict[str, int] = {}
    for at, value in enumerate(values):
        text = go_json(value) if not isinstance(value, bool) else str(value)
        seen[text] = seen.get(text, 0) + 1
        if seen[text] == 2:
            yield at
