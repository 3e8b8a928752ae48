"""A comparison of objects as Kyverno's test command makes it.

Empty values count as absent, at any depth; labels that Kyverno sets on generated objects are
ignored (`pkg` of the command-line program: `resource.Tidy`, `FixupGenerateLabels`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from chartkit.documents.yaml_diff import yaml_diff
from chartkit.model import Body, Json, Resource

_MANAGED_BY: Final = {"app.kubernetes.io/managed-by": "kyverno"}
_GENERATE: Final = "generate.kyverno.io/"


def find_expected(actual: Resource, candidates: Sequence[Resource]) -> Resource | None:
    """Return the candidate of the same version, kind, namespace and name; None if there is none."""
    for one in candidates:
        if (one.api_version, one.kind, one.namespace, one.name) == (
            actual.api_version,
            actual.kind,
            actual.namespace,
            actual.name,
        ):
            return one
    return None


def differs(actual: Body, expected: Body) -> str:
    """Return the difference as a unified diff of YAML; empty if there is none."""
    got, wanted = _compared(actual), _compared(expected)
    if same(got, wanted):
        return ""
    return "\n".join(yaml_diff(wanted, got, "wanted", "got"))


def same(one: Json, other: Json) -> bool:
    """Return whether values are equal as JSON: a boolean is not a number."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)


def _compared(body: Body) -> Body:
    metadata = body.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    labels = metadata.get("labels")
    kept = {
        key: value
        for key, value in (labels if isinstance(labels, dict) else {}).items()
        if not key.startswith(_GENERATE)
    }
    labelled = {**body, "metadata": {**metadata, "labels": {**_MANAGED_BY, **kept}}}
    tidied: Body = _tidy(labelled)
    return tidied


def _tidy(value: Json) -> Json:
    if isinstance(value, dict):
        entries = {key: _tidy(entry) for key, entry in value.items()}
        return {key: entry for key, entry in entries.items() if entry is not None} or None
    if isinstance(value, list):
        return [entry for entry in map(_tidy, value) if entry is not None] or None
    return value
