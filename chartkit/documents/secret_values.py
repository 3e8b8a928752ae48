"""Secrets as reports show them: with keys, without values."""

from __future__ import annotations

from typing import Final

from chartkit.model import Body, Json, Resource, mapping_at

_FIELDS: Final = ("data", "stringData")
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_HIDDEN: Final = "(hidden)"


def without_secret_values(body: Body | None, other: Body | None = None) -> Body | None:
    """Return an object, or a Secret without its values.

    other: the same object on the other side of a comparison; differing values remain different.
    """
    if body is None or Resource(body).kind != "Secret" or "/" in Resource(body).api_version:
        return body
    hidden = dict(body)
    for field in _FIELDS:
        if isinstance(body.get(field), dict):
            there = mapping_at(other, field)
            hidden[field] = {
                key: _hidden(value, there.get(key)) for key, value in body[field].items()
            }
        elif body.get(field) is not None:
            hidden[field] = _hidden(body[field], mapping_at(other).get(field))
    annotations = mapping_at(body, "metadata", "annotations")
    if _LAST_APPLIED in annotations:
        there = mapping_at(other, "metadata", "annotations")
        applied = _hidden(annotations[_LAST_APPLIED], there.get(_LAST_APPLIED))
        metadata = {**body["metadata"], "annotations": {**annotations, _LAST_APPLIED: applied}}
        hidden["metadata"] = metadata
    return hidden


def _hidden(value: Json, other: Json) -> str:
    if other is None or value == other:
        return _HIDDEN
    # Which of two is which is not a secret, and the two must differ.
    return f"{_HIDDEN[:-1]}, {'one' if str(value) < str(other) else 'another'} value)"
