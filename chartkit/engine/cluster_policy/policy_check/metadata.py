"""Rules about metadata only, and labels that are text."""

from __future__ import annotations

from collections.abc import Iterable

from chartkit.engine.cluster_policy.policy import Rule
from chartkit.model import Json


def only_metadata(rule: Rule) -> bool:
    """Return whether a rule's patterns and patches touch nothing but `metadata`."""
    return all(
        key == "metadata"
        for pattern in _overlays(rule)
        if isinstance(pattern, dict)
        for key in pattern
    )


def _overlays(rule: Rule) -> Iterable[Json]:
    yield (rule.mutate or {}).get("patchStrategicMerge")
    yield rule.validate.pattern
    if isinstance(rule.validate.any_pattern, list):
        yield from rule.validate.any_pattern


def labels_are_text(rule: Rule) -> bool:
    """Return whether labels and annotations in a rule's patterns and patches are all text, as far
    as Kyverno looks: in the first foreach with a pattern, the pattern, or each of anyPattern."""
    if rule.validate.foreach:
        return _first_is_text(one.get("pattern") for one in rule.validate.foreach)
    if isinstance(rule.validate.pattern, dict):
        return _is_text(rule.validate.pattern)
    if isinstance(rule.validate.any_pattern, list):
        return all(_is_text(one) for one in rule.validate.any_pattern if isinstance(one, dict))
    mutate = rule.mutate or {}
    if mutate.get("foreach"):
        return _first_is_text(one.get("patchStrategicMerge") for one in mutate["foreach"])
    return _first_is_text([mutate.get("patchStrategicMerge")])


def _first_is_text(patterns: Iterable[Json]) -> bool:
    return next((_is_text(one) for one in patterns if isinstance(one, dict)), True)


def _is_text(pattern: dict[str, Json]) -> bool:
    metadata = pattern.get("metadata")
    if isinstance(metadata, dict):
        return _values_are_text(metadata)
    inner: Json = pattern
    for key in ("spec", "template", "metadata"):
        inner = inner.get(key) if isinstance(inner, dict) else None
    return _values_are_text(inner) if isinstance(inner, dict) else True


def _values_are_text(metadata: dict[str, Json]) -> bool:
    return all(
        isinstance(value, str)
        for name in ("labels", "annotations")
        if isinstance(metadata.get(name), dict)
        for value in metadata[name].values()
    )
