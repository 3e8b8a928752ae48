"""What becomes of generated objects when the policy that made them goes, or changes its form."""

from __future__ import annotations

from chartkit.model import Body, Json, mapping_at

_SYNCHRONIZED = "synchronize"
_ORPHANED = "orphanDownstreamOnPolicyDelete"
DELETED = "Kyverno deletes what it generated: synchronize without orphanDownstreamOnPolicyDelete"
LEFT = "what it generated stays, and this policy restores it no more"


def _generating(body: Body | None) -> dict[str, Body]:
    """The generating rules of a policy by their names; one in CEL is one rule without a name."""
    spec = mapping_at(body or {}, "spec")
    if "generate" in spec:
        return {"": mapping_at(spec, "evaluation")}
    rules = spec.get("rules")
    found = [each for each in rules if isinstance(each, dict)] if isinstance(rules, list) else []
    making = [each for each in found if each.get("generate")]
    return {str(each.get("name")): mapping_at(each, "generate") for each in making}


def _is_on(rule: Body, key: str) -> bool:
    value: Json = rule.get(key)
    return value is True or (isinstance(value, dict) and value.get("enabled") is True)


def lost(before: Body, after: Body | None) -> str | None:
    """What happens to what a policy generated when it becomes another, or goes (None); None where
    nothing does."""
    left = _generating(before).keys() - _generating(after).keys()
    kept = {name for name in left if _is_on(_generating(before)[name], _SYNCHRONIZED)}
    if any(not _is_on(_generating(before)[name], _ORPHANED) for name in kept):
        return DELETED
    return LEFT if kept else None
