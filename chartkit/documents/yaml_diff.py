"""Two objects compared line by line, as YAML."""

from __future__ import annotations

import difflib
from itertools import zip_longest

from chartkit.documents.yaml_dump import dump_documents
from chartkit.model import Body, Json

_NAMED = ("name", "containerPort", "key")


def yaml_diff(before: Body, after: Body, before_name: str, after_name: str) -> list[str]:
    """The lines of a unified diff; the order of keys is no difference. Empty where none is."""
    old, new = (dump_documents([body]).splitlines() for body in (before, in_order(after, before)))
    return list(difflib.unified_diff(old, new, before_name, after_name, lineterm=""))


def in_order(value: Json, model: Json) -> Json:
    """The value with its keys in the model's order, those that the model has not at the end."""
    if isinstance(value, dict) and isinstance(model, dict):
        keys = [key for key in model if key in value] + [key for key in value if key not in model]
        return {key: in_order(value[key], model.get(key)) for key in keys}
    if isinstance(value, list) and isinstance(model, list):
        named = {_name(item): item for item in model if _name(item)}
        pairs = zip_longest(value, model[: len(value)])
        return [in_order(item, named.get(_name(item), other)) for item, other in pairs]
    return value


def _name(item: Json) -> str:
    """What tells an item of a list of objects apart; empty where nothing does."""
    if isinstance(item, dict):
        for key in _NAMED:
            if key in item:
                return f"{key}={item[key]}"
    return ""
