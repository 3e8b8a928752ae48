"""The values of `kinds`: `*` alone, outside background mode, for rules on metadata. Labels of
patterns are text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from chartkit.engine.cluster_policy.policy import Match, Policy, Rule, RuleKind
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


_ANY: Final = "*"
METADATA_ONLY: Final = (
    "policy can only deal with the metadata field of the resource if the rule does not match any "
    "kind"
)


def kinds_fault(policy: Policy, rules: Sequence[Rule]) -> str | None:
    """Return the fault of the kinds of a policy's rules, in Kyverno's words."""
    for index, rule in enumerate(rules):
        for name, block in (("match", rule.match), ("exclude", rule.exclude)):
            if block is None:
                continue
            for place, kinds in _listed(block):
                fault = _fault(kinds, policy.background, rule)
                if fault:
                    return f"path: spec.rules[{index}].{name}.{place}kinds: {fault}"
    return None


def _listed(block: Match) -> Iterable[tuple[str, tuple[str, ...]]]:
    for at, one in enumerate(block.any):
        yield f"any[{at}].", one.kinds
    for at, one in enumerate(block.all):
        yield f"all[{at}].", one.kinds
    yield "", block.direct.kinds


def _fault(kinds: tuple[str, ...], background: bool, rule: Rule) -> str | None:
    if _ANY not in kinds:
        return None
    if background:
        return (
            "wildcard policy not allowed in background mode. Set spec.background=false to disable "
            "background mode for this policy rule "
        )
    if len(kinds) > 1:
        return "wildcard policy can not deal with more than one kind"
    if rule.kind in (RuleKind.GENERATE, RuleKind.VERIFY_IMAGES) or rule.validate.foreach:
        return "wildcard policy does not support rule type"
    if not only_metadata(rule) or _denies_more(rule):
        return METADATA_ONLY
    return None


def _denies_more(rule: Rule) -> bool:
    """Return whether the old flat list of conditions speaks of more than the object's metadata."""
    conditions: Json = (rule.validate.deny or {}).get("conditions")
    if not isinstance(conditions, list):
        return False
    keys = [one.get("key") for one in conditions if isinstance(one, dict)]
    return any(isinstance(key, str) and not _is_about_metadata(key) for key in keys)


def _is_about_metadata(key: str) -> bool:
    if "request.object.metadata." in key:
        return True
    variable = key.partition("{{")[2].lstrip()
    allowed = variable.startswith(("request.", "serviceAccountName", "serviceAccountNamespace"))
    return allowed and "}}" in variable and "request.object.spec" not in key
