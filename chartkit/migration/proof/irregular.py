"""Lists that a strategic merge tidies: some element has not the list's keys, or another's."""

from __future__ import annotations

from chartkit.engine.cluster_policy.mutate.schema import Schema, schema_of_kind
from chartkit.engine.json_patch.nodes import scalar_text
from chartkit.model import Json


def has_irregular_lists(body: Json) -> bool:
    """Return whether any list of an object, merged by keys, has elements without them or two
    elements with the same."""
    if not isinstance(body, dict):
        return False
    return _is_irregular(body, schema_of_kind(str(body.get("apiVersion")), str(body.get("kind"))))


def _is_irregular(value: Json, schema: Schema | None) -> bool:
    if schema is None:
        return False
    if isinstance(value, dict):
        return any(_is_irregular(each, schema.field(key)) for key, each in value.items())
    if not isinstance(value, list) or schema.keys is None:
        return False
    texts = [_key(each, schema.keys) for each in value]
    if len(set(texts)) < len(texts) or not all(all(each) for each in texts):
        return True
    return any(_is_irregular(each, schema.elements()) for each in value)


def _key(element: Json, keys: tuple[str, ...]) -> tuple[str, ...]:
    if not keys:
        return (scalar_text(element),)
    if not isinstance(element, dict):
        return ("",)
    return tuple(scalar_text(element[key]) if element.get(key) else "" for key in keys)
