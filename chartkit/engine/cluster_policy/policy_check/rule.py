"""The checks of one rule: what it matches, its conditions, context and action."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from chartkit.engine.cluster_policy.conditions.parse import check_conditions
from chartkit.engine.cluster_policy.policy import ResourceFilter, Rule, RuleKind
from chartkit.engine.cluster_policy.policy_check.actions import (
    action_fault,
    json_patch_fault,
    same_kind_fault,
)
from chartkit.engine.cluster_policy.policy_check.kinds import (
    METADATA_ONLY,
    labels_are_text,
    only_metadata,
)
from chartkit.engine.context.entries import check_entries
from chartkit.engine.context.variables.syntax import find_variables
from chartkit.model import Body, Json


def rule_fault(index: int, rule: Rule) -> str | None:
    """The first thing that is wrong with the rule at an index; None where it is sound."""
    place = f"spec.rules[{index}]"
    fault = json_patch_fault(rule, index)
    if fault:
        return fault
    fault = _resources_fault(rule)
    if fault:
        return f"path: {place}.{fault}"
    fault = _element_fault(_action_first(rule.body), "")
    if fault:
        return fault
    fault = check_entries(rule.body.get("context"), cel=rule.kind is RuleKind.CEL)
    if fault is None:
        fault = _extractor_fault(rule)
    if fault:
        return f"path: {place}: {fault}"
    if not all(one.kinds for one in _matched(rule)):
        return _NO_KINDS if only_metadata(rule) else METADATA_ONLY
    fault = action_fault(rule)
    if fault:
        return f"path: {place}.{fault}"
    fault = same_kind_fault(rule)
    if fault:
        return fault
    if not labels_are_text(rule):
        return (
            "labels and annotations supports only string values, "
            '"use double quotes around the non string values"'
        )
    return None


_NO_KINDS: Final = (
    "at least one element must be specified in a kind block, the kind attribute is mandatory when "
    "working with the resources element"
)


def _matched(rule: Rule) -> Sequence[ResourceFilter]:
    return rule.match.any or rule.match.all or (rule.match.direct,)


def _resources_fault(rule: Rule) -> str | None:
    exclude = rule.exclude
    if exclude is not None and (exclude.any or exclude.all) and _describes(rule.body["exclude"]):
        return "exclude.: can't specify any/all together with exclude resources"
    body: Body = rule.body.get("match") or {}
    if (rule.match.any or rule.match.all) and _describes(body):
        return "match.: can't specify any/all together with match resources"
    blocks = body.get("any") or body.get("all") or [body]
    if not all(_describes(block) for block in blocks):
        return "match.resources.: match resources not specified"
    return _conditions_fault(rule)


def _describes(block: Body) -> bool:
    """Return whether a block says anything of the object; an empty list says something to
    Kyverno."""
    resources: Body = block.get("resources") or {}
    return any(value is not None and value != "" for value in resources.values())


def _conditions_fault(rule: Rule) -> str | None:
    if rule.preconditions is not None:
        fault = check_conditions(rule.preconditions, "preconditions")
        if fault:
            return f"validate.{fault}"
    conditions = (rule.validate.deny or {}).get("conditions")
    if conditions is not None:
        fault = check_conditions(conditions, "conditions")
        if fault:
            return f"validate.deny.{fault}"
    fault = _foreach_fault(rule.validate.foreach, "validate.foreach")
    return fault or _foreach_fault((rule.mutate or {}).get("foreach") or (), "mutate.foreach")


def _foreach_fault(blocks: Iterable[Json], place: str) -> str | None:
    for block in blocks:
        if not isinstance(block, dict):
            continue
        if block.get("preconditions") is not None:
            fault = check_conditions(block["preconditions"], "conditions", values=False)
            if fault:
                return f"{place}.{fault}"
        deny = block.get("deny")
        conditions = deny.get("conditions") if isinstance(deny, dict) else None
        if conditions is not None:
            fault = check_conditions(conditions, "conditions", values=False)
            if fault:
                return f"{place}.deny.{fault}"
        nested = block.get("foreach")
        if isinstance(nested, list):
            fault = _foreach_fault(nested, place)
            if fault:
                return f"{place}.{fault}"
    return None


_FOREACH: Final = "/foreach/"


def _action_first(body: Body) -> Body:
    """Kyverno walks the rule in no order; what the rule does is named rather than its context."""
    return {**{key: value for key, value in body.items() if key != "context"}, **body}


def _element_fault(value: Json, path: str) -> str | None:
    """A variable that speaks of a foreach's element, outside of any foreach."""
    if isinstance(value, str):
        return _element_text_fault(value, path)
    if isinstance(value, dict):
        for key, entry in value.items():
            below = f"{path}/{key.replace('/', chr(92) + '/')}"
            fault = _element_text_fault(key, path) or _element_fault(entry, below)
            if fault:
                return fault
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            fault = _element_fault(entry, f"{path}/{index}")
            if fault:
                return fault
    return None


def _element_text_fault(text: str, path: str) -> str | None:
    if "element" not in text or _FOREACH in path:
        return None
    for variable in find_variables(text):
        if variable.query.startswith("element"):
            return f"variable '{variable.query}' present outside of foreach at path {path}"
    return None


def _extractor_fault(rule: Rule) -> str | None:
    if not any(image.get("mutateDigest") is not False for image in rule.verify_images):
        return None
    extractors = (rule.body.get("imageExtractors") or {}).values()
    if any(one.get("jmesPath") for listed in extractors for one in listed):
        return (
            "jmespath may not be used in an image extractor when mutating digests with "
            "verify images"
        )
    return None
