"""Two sets of objects compared: which were added, removed or changed, and each field by field."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import Enum, StrEnum
from functools import cache, partial
from pathlib import Path
from typing import Final

from chartkit.documents.reader import read_file
from chartkit.documents.yaml_dump import LIST_KEYS
from chartkit.model import Body, FieldPath, Json, Resource, mapping_at, mappings_at, path_text
from chartkit.network.cluster.cleaning import without_secret_values
from chartkit.scan.api_defaults import as_stored
from chartkit.scan.api_defaults.shape import copied
from chartkit.schemas.compact import Schema, type_library
from chartkit.schemas.crds import kinds, root_schema

_BY_CODE: Final = Path(__file__).with_name("defaults.yaml")
_OF_RULES: Final = ("ClusterPolicy", "Policy")
_WEBHOOK: Final = (("failurePolicy", "failurePolicy"), ("timeoutSeconds", "webhookTimeoutSeconds"))
"""Fields below `webhookConfiguration` that override those of a ClusterPolicy."""


def with_defaults(before: Body, after: Body) -> tuple[Body, Body]:
    """Return two versions of one object with defaults; unchanged if their API versions differ."""
    if before.get("apiVersion") != after.get("apiVersion") or before.get("kind") == "Secret":
        return before, after
    filled = [_filled(side) for side in (before, after)]
    if any("failureAction" in validation for body in filled for validation in _validations(body)):
        filled = [_with_own_actions(body) for body in filled]
    return filled[0], filled[1]


def _filled(body: Body) -> Body:
    version, kind = str(body.get("apiVersion")), str(body.get("kind"))
    schema = _schema(version, kind)
    if schema is None:
        return as_stored(Resource(body)).body
    filled: Body = _structural(schema, body)
    spec = mapping_at(filled, "spec")
    own = _by_code().get(kind.removeprefix("Namespaced"))
    if own is None or not isinstance(filled.get("spec"), dict):
        return filled
    if kind in _OF_RULES:
        webhook = mapping_at(spec, "webhookConfiguration")
        own = {**own, **{name: webhook[key] for key, name in _WEBHOOK if key in webhook}}
    return {**filled, "spec": _merged(own, spec)}


@cache
def _by_code() -> Mapping[str, Body]:
    body: Mapping[str, Body] = read_file(_BY_CODE)[0].body
    return body


@cache
def _schema(version: str, kind: str) -> Schema | None:
    """Return the schema of one of Kyverno's kinds; None for any other."""
    group, _, name = version.partition("/")
    types = type_library()
    for served in kinds():
        for kind_version in served.versions if (served.group, served.kind) == (group, kind) else ():
            if kind_version.name == name:
                return root_schema(types[kind_version.type], types)
    return None


def _structural(schema: Schema, value: Json) -> Json:
    """Return a value with the defaults of its schema, as an API server fills them in."""
    properties = schema.get("properties", {})
    if isinstance(value, dict):
        rest = schema.get("additionalProperties")
        rest = rest if isinstance(rest, dict) else {}
        filled = {key: _structural(properties.get(key, rest), item) for key, item in value.items()}
        for key, field in properties.items():
            if key not in filled and "default" in field:
                filled[key] = _structural(field, copied(field["default"]))
        return filled
    if isinstance(value, list):
        return [_structural(schema.get("items", {}), item) for item in value]
    return value


def _merged(defaults: Body, value: Body) -> Body:
    """A mapping merged over its defaults, in the order of its own keys."""
    merged = dict(value)
    for key, default in defaults.items():
        below = value.get(key)
        if not below and below is not False and below != 0:
            merged[key] = copied(default)
        elif isinstance(below, dict) and isinstance(default, dict):
            merged[key] = _merged(default, below)
    return merged


def _validations(body: Body) -> list[Body]:
    """Return the `validate` blocks of a ClusterPolicy's rules."""
    blocks = (mapping_at(rule, "validate") for rule in mappings_at(body, "spec", "rules"))
    return [block for block in blocks if block]


def _with_own_actions(body: Body) -> Body:
    """Return a ClusterPolicy in which every rule that validates has a failure action."""
    spec = mapping_at(body, "spec")
    if not _validations(body):
        return body
    action = spec.get("validationFailureAction", "Audit")
    rules = [
        {**rule, "validate": {"failureAction": action, **rule["validate"]}}
        if mapping_at(rule, "validate")
        else rule
        for rule in spec["rules"]
    ]
    return {**body, "spec": {**spec, "rules": rules}}


class Absent(Enum):
    """The value of a missing field, which null is not."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field that differs.

    path: from the object's top; an item of a list is identified by its name if it has one, else by
    its position, in the newer object unless it was removed; before, after: `ABSENT` if it is
    missing.
    """

    path: FieldPath
    before: Json | Absent
    after: Json | Absent

    @property
    def name(self) -> str:
        """The path as text: `spec.rules[check-team].validate`."""
        return path_text(self.path)


def differences(before: Json, after: Json, path: FieldPath = ()) -> Iterator[FieldChange]:
    """Yield every field that differs; for a field on one side only, the outermost one."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        yield from _of_maps(before, after, path)
    elif isinstance(before, list) and isinstance(after, list):
        key = _key(before, after)
        if key:
            old_items, new_items = (
                {str(item[key]): item for item in side} for side in (before, after)
            )
            yield from _of_maps(old_items, new_items, path)
            # The order of the same items has a meaning for environment variables and rules.
            is_same = old_items.keys() == new_items.keys()
            if is_same and list(old_items) != list(new_items):
                yield FieldChange(path, list(old_items), list(new_items))
            return
        canonical = partial(json.dumps, sort_keys=True, ensure_ascii=False)
        old, new = (list(map(canonical, items)) for items in (before, after))
        for tag, low, high, start, end in SequenceMatcher(None, old, new, False).get_opcodes():
            if tag != "equal":
                before_items = before[low:high]
                after_items = after[start:end]
                pairs = min(len(before_items), len(after_items))
                for offset in range(pairs):
                    yield from differences(
                        before_items[offset], after_items[offset], (*path, start + offset)
                    )
                for offset in range(pairs, len(before_items)):
                    yield FieldChange((*path, low + offset), before_items[offset], ABSENT)
                for offset in range(pairs, len(after_items)):
                    yield FieldChange((*path, start + offset), ABSENT, after_items[offset])
    elif before != after or isinstance(before, bool) != isinstance(after, bool):
        yield FieldChange(path, before, after)


def _of_maps(
    before: Mapping[str, Json], after: Mapping[str, Json], path: FieldPath
) -> Iterator[FieldChange]:
    for key in [*before, *(key for key in after if key not in before)]:
        step = (*path, key)
        if key not in after:
            yield FieldChange(step, before[key], ABSENT)
        elif key not in before:
            yield FieldChange(step, ABSENT, after[key])
        else:
            yield from differences(before[key], after[key], step)


def _key(before: list[Json], after: list[Json]) -> str:
    """Return the key that identifies every item of both lists; empty if none does."""
    items = [*before, *after]
    if not all(isinstance(item, Mapping) for item in items):
        return ""
    for key in LIST_KEYS:
        if all(isinstance(item.get(key), str | int) for item in items) and all(
            len({str(item[key]) for item in side}) == len(side) for side in (before, after)
        ):
            return key
    return ""


@dataclass(frozen=True, slots=True, order=True)
class Identity:
    """The identity of an object across renders: API group without version, kind, and names."""

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        where = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind} {where}{self.name}"


class What(StrEnum):
    """The change of an object."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """One object that differs; before, after: its bodies, None on the side that lacks it; fields:
    the differences of a changed object, with defaults filled in on both sides. Values of Secrets
    are hidden everywhere."""

    identity: Identity
    what: What
    before: Body | None
    after: Body | None
    fields: tuple[FieldChange, ...] = ()


def identity(resource: Resource) -> Identity:
    """Return the identity of an object."""
    group, slash, _ = resource.api_version.partition("/")
    return Identity(group if slash else "", resource.kind, resource.namespace, resource.name)


def compare(before: Iterable[Resource], after: Iterable[Resource]) -> list[ObjectChange]:
    """Return every object that differs, ordered by identity."""
    old_bodies, new_bodies = (
        {identity(item): item.body for item in side} for side in (before, after)
    )
    changes: list[ObjectChange] = []
    for key in sorted({*old_bodies, *new_bodies}):
        old, new = old_bodies.get(key), new_bodies.get(key)
        old, new = without_secret_values(old, new), without_secret_values(new, old)
        if old is None or new is None:
            what = What.ADDED if old is None else What.REMOVED
            old, new = (side and with_defaults(side, side)[0] for side in (old, new))
            changes.append(ObjectChange(key, what, old, new))
        elif old != new:
            old, new = with_defaults(old, new)
            if fields := tuple(differences(old, new)):
                changes.append(ObjectChange(key, What.CHANGED, old, new, fields))
    return changes
