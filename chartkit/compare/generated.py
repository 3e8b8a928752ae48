"""The fate of generated objects when their policy is removed or changes its form."""

from __future__ import annotations

from collections.abc import Iterable

from chartkit.model import Body, Json, mapping_at

_SYNCHRONIZED = "synchronize"
_ORPHANED = "orphanDownstreamOnPolicyDelete"
DELETED = "Kyverno deletes what it generated: synchronize without orphanDownstreamOnPolicyDelete"
LEFT = "what it generated stays, and this policy restores it no more"


def _generating(body: Body | None) -> dict[str, Body]:
    """Return the generating rules of a policy by name; a CEL policy is one rule without a name."""
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


def going(before: Body, after: Body | None) -> dict[str, Body]:
    """Return the synchronized rules that a policy loses when it is replaced or removed (None), by
    name."""
    rules, left = _generating(before), _generating(after)
    return {
        name: rule
        for name, rule in rules.items()
        if name not in left and _is_on(rule, _SYNCHRONIZED)
    }


def lost(before: Body, after: Body | None) -> str | None:
    """Return the consequence for generated objects when a policy is replaced or removed (None);
    None if there is none."""
    gone = going(before, after)
    if any(not _is_on(rule, _ORPHANED) for rule in gone.values()):
        return DELETED
    return LEFT if gone else None


def kinds(rules: Iterable[Body]) -> list[str]:
    """Return the kinds that rules name of what they generate; rules in CEL name none."""
    found: list[Json] = []
    for rule in rules:
        each = rule.get("foreach")
        for one in (rule, *(each if isinstance(each, list) else ())):
            cloned = mapping_at(one, "cloneList").get("kinds")
            found += [mapping_at(one).get("kind"), *(cloned if isinstance(cloned, list) else ())]
    return list(dict.fromkeys(kind for kind in found if isinstance(kind, str) and kind))
