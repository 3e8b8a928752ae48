"""Two objects compared line by line, as YAML."""

from __future__ import annotations

import difflib
from itertools import zip_longest
from typing import Final

from chartkit.documents.yaml_dump import dump_documents
from chartkit.model import Body, Json

LIST_KEYS: Final = ("name", "containerPort", "key", "mountPath")
"""The keys that identify an item in a list of objects, the preferred one first."""


def yaml_diff(before: Body, after: Body, before_name: str, after_name: str) -> list[str]:
    """Return the lines of a unified diff, which ignores the order of keys; empty if none differ."""
    old, new = (dump_documents([body]).splitlines() for body in (before, in_order(after, before)))
    return list(difflib.unified_diff(old, new, before_name, after_name, lineterm=""))


def in_order(value: Json, model: Json) -> Json:
    """Return a value with its keys in the order of a model; those that it lacks come last."""
    if isinstance(value, dict) and isinstance(model, dict):
        keys = [key for key in model if key in value] + [key for key in value if key not in model]
        return {key: in_order(value[key], model.get(key)) for key in keys}
    if isinstance(value, list) and isinstance(model, list):
        named = {_name(item): item for item in model if _name(item)}
        pairs = zip_longest(value, model[: len(value)])
        return [in_order(item, named.get(_name(item), other)) for item, other in pairs]
    return value


def _name(item: Json) -> str:
    """Return what identifies an item in a list of objects; empty if nothing does."""
    if isinstance(item, dict):
        for key in LIST_KEYS:
            if key in item:
                return f"{key}={item[key]}"
    return ""
