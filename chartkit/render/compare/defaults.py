"""Objects with their defaults filled in, so that writing out a default is no difference.

Built-in kinds get the defaults of `scan.api_defaults`. Kyverno's kinds get those of their
definitions, and those that Kyverno's code has for fields without one (`defaults.yaml`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from chartkit.documents.reader import read_file
from chartkit.model import Body, Json, Resource, mapping_at
from chartkit.scan.api_defaults.kinds import as_stored
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
    filled = [_filled(each) for each in (before, after)]
    if any(map(_has_own_actions, filled)):
        filled = [_with_own_actions(each) for each in filled]
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
    for each in kinds():
        for one in each.versions if (each.group, each.kind) == (group, kind) else ():
            if one.name == name:
                return root_schema(types[one.type], types)
    return None


def _structural(schema: Schema, value: Json) -> Json:
    """Return a value with the defaults of its schema, as an API server fills them in."""
    properties = schema.get("properties", {})
    if isinstance(value, dict):
        rest = schema.get("additionalProperties")
        rest = rest if isinstance(rest, dict) else {}
        filled = {key: _structural(properties.get(key, rest), each) for key, each in value.items()}
        for key, field in properties.items():
            if key not in filled and "default" in field:
                filled[key] = _structural(field, copied(field["default"]))
        return filled
    if isinstance(value, list):
        return [_structural(schema.get("items", {}), each) for each in value]
    return value


def _merged(defaults: Body, value: Body) -> Body:
    """Return a mapping merged over its defaults, mapping by mapping, in the order of its own
    keys."""
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
    rules = mapping_at(body, "spec").get("rules")
    found = (mapping_at(rule, "validate") for rule in (rules if isinstance(rules, list) else ()))
    return [each for each in found if each]


def _has_own_actions(body: Body) -> bool:
    return any("failureAction" in each for each in _validations(body))


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
