"""The checks of one rule: its match, conditions, context and action."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from chartkit.engine.cluster_policy.pattern.build import NESTING, AnchorKind, parse_anchor
from chartkit.engine.cluster_policy.policy import Rule, RuleKind
from chartkit.engine.context.entries import check_entries
from chartkit.model import Body, Json, value_at


def labels_are_text(rule: Rule) -> bool:
    """Report whether labels and annotations in a rule's patterns and patches are all text, as far
    as Kyverno looks: in the first foreach with a pattern, the pattern, or each of anyPattern."""
    if rule.validate.foreach:
        return _first_is_text(loop.get("pattern") for loop in rule.validate.foreach)
    if isinstance(rule.validate.pattern, dict):
        return _is_text(rule.validate.pattern)
    if isinstance(rule.validate.any_pattern, list):
        return all(_is_text(part) for part in rule.validate.any_pattern if isinstance(part, dict))
    mutate = rule.mutate or {}
    if mutate.get("foreach"):
        return _first_is_text(loop.get("patchStrategicMerge") for loop in mutate["foreach"])
    return _first_is_text([mutate.get("patchStrategicMerge")])


def _first_is_text(patterns: Iterable[Json]) -> bool:
    return next((_is_text(pattern) for pattern in patterns if isinstance(pattern, dict)), True)


def _is_text(pattern: dict[str, Json]) -> bool:
    metadata = pattern.get("metadata")
    if isinstance(metadata, dict):
        return _values_are_text(metadata)
    inner = value_at(pattern, ("spec", "template", "metadata"))
    return _values_are_text(inner) if isinstance(inner, dict) else True


def _values_are_text(metadata: dict[str, Json]) -> bool:
    return all(
        isinstance(value, str)
        for name in ("labels", "annotations")
        if isinstance(metadata.get(name), dict)
        for value in metadata[name].values()
    )


def rule_fault(index: int, rule: Rule, namespaced: bool) -> str | None:
    """Return the first fault of the rule at an index; None if it is sound. namespaced: whether it
    belongs to a Policy."""
    path = f"spec.rules[{index}]"
    if rule.mutate:
        from chartkit.engine.cluster_policy.policy_check.changes import json_patch_fault

        if fault := json_patch_fault(rule, index):
            return fault
    if fault := _resources_fault(rule):
        return f"path: {path}.{fault}"
    # Kyverno walks the rule in no order; what the rule does is named rather than its context.
    action = {key: value for key, value in rule.body.items() if key != "context"}
    if fault := _element_fault({**action, **rule.body}, ""):
        return fault
    cel = rule.kind is RuleKind.CEL
    fault = check_entries(rule.body.get("context"), cel=cel, namespaced=namespaced)
    if fault is None:
        if not any(image.get("mutateDigest") is not False for image in rule.verify_images):
            fault = None
        else:
            extractors = (rule.body.get("imageExtractors") or {}).values()
            if any(extractor.get("jmesPath") for listed in extractors for extractor in listed):
                fault = (
                    "jmespath may not be used in an image extractor when mutating digests with "
                    "verify images"
                )
            else:
                fault = None
    if fault:
        return f"path: {path}: {fault}"
    if not all(block.kinds for block in rule.match.any or rule.match.all or (rule.match.direct,)):
        from chartkit.engine.cluster_policy.policy_check.any_kind import (
            METADATA_ONLY,
            only_metadata,
        )

        return _NO_KINDS if only_metadata(rule) else METADATA_ONLY
    if fault := action_fault(rule):
        return f"path: {path}.{fault}"
    if fault := same_kind_fault(rule):
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
    if fault := _conditions_fault(rule.preconditions, "preconditions"):
        return f"validate.{fault}"
    if fault := _conditions_fault((rule.validate.deny or {}).get("conditions"), "conditions"):
        return f"validate.deny.{fault}"
    fault = _foreach_fault(rule.validate.foreach, "validate.foreach")
    return fault or _foreach_fault((rule.mutate or {}).get("foreach") or (), "mutate.foreach")


def _conditions_fault(conditions: Json, path: str, *, values: bool = True) -> str | None:
    if conditions is None:
        return None
    from chartkit.engine.cluster_policy.conditions.parse import check_conditions

    return check_conditions(conditions, path, values=values)


def _describes(block: Body) -> bool:
    """Report whether a block says anything of the object; an empty list does."""
    resources: Body = block.get("resources") or {}
    return any(value is not None and value != "" for value in resources.values())


def _foreach_fault(blocks: Iterable[Json], path: str) -> str | None:
    for block in blocks:
        if not isinstance(block, dict):
            continue
        if fault := _conditions_fault(block.get("preconditions"), "conditions", values=False):
            return f"{path}.{fault}"
        deny = block.get("deny")
        conditions = deny.get("conditions") if isinstance(deny, dict) else None
        if fault := _conditions_fault(conditions, "conditions", values=False):
            return f"{path}.deny.{fault}"
        nested = block.get("foreach")
        if isinstance(nested, list) and (fault := _foreach_fault(nested, path)):
            return f"{path}.{fault}"
    return None


_FOREACH: Final = "/foreach/"


def _element_fault(value: Json, path: str) -> str | None:
    """Return the fault of a variable for a foreach's element outside of any foreach."""
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
            if fault := _element_fault(entry, f"{path}/{index}"):
                return fault
    return None


def _element_text_fault(text: str, path: str) -> str | None:
    if "element" not in text or _FOREACH in path:
        return None
    from chartkit.engine.context.variables.syntax import find_variables

    for variable in find_variables(text):
        if variable.query.startswith("element"):
            return f"variable '{variable.query}' present outside of foreach at path {path}"
    return None


def action_fault(rule: Rule) -> str | None:
    """Return the fault of a rule's action, below `spec.rules[n].`, if any."""
    if rule.kind is RuleKind.VERIFY_IMAGES:
        return None
    if rule.kind not in (RuleKind.MUTATE, RuleKind.MUTATE_EXISTING, RuleKind.GENERATE):
        validate = rule.validate
        listed = rule.body["validate"].get("foreach") is not None
        manifests = (validate.manifests or {}).get("attestors")
        elements = sum(
            (
                validate.pattern is not None,
                validate.any_pattern is not None,
                validate.deny is not None,
                validate.pod_security is not None,
                validate.cel is not None,
                bool(manifests),
            )
        )
        fault = _one_of(elements + listed, "pattern, anyPattern, deny, foreach, cel")
        if fault:
            return f"validate..: {fault}"
        if anchor_fault := pattern_fault(validate.pattern, "/", NESTING):
            return f"validate.pattern.{anchor_fault[0]}.: {anchor_fault[1]}"
        if fault := _any_pattern_fault(validate.any_pattern):
            return f"validate.anyPattern{fault}"
        for block in validate.foreach:
            if not block.get("list"):
                loop_fault: str | None = "foreach.list is required"
            else:
                count = sum(
                    (
                        block.get("pattern") is not None,
                        block.get("anyPattern") is not None,
                        block.get("deny") is not None,
                        bool(block.get("foreach")),
                    )
                )
                loop_fault = _one_of(count, "pattern, anyPattern, deny, or a nested foreach")
            if fault := loop_fault:
                return f"validate..: {fault}"
        if validate.cel is None:
            return f"validate..: {CEL_ONLY}" if rule.cel_preconditions else None
        from chartkit.engine.cluster_policy.validate_cel import cel_fault

        fault = cel_fault(validate.cel)
        return f"validate..: {fault}" if fault else None
    from chartkit.engine.cluster_policy.policy_check.changes import generate_fault, mutate_fault

    return generate_fault(rule) if rule.kind is RuleKind.GENERATE else mutate_fault(rule)


CEL_ONLY: Final = "celPrecondition can only be used with validate.cel"


def _one_of(count: int, names: str) -> str | None:
    if count == 0:
        return f"one of {names} must be specified"
    return f"only one of {names} can be specified" if count > 1 else None


def _any_pattern_fault(patterns: Json) -> str | None:
    if patterns is None:
        return None
    if not isinstance(patterns, list):
        from chartkit.go.types import kind_of

        return (
            ".: failed to deserialize anyPattern, expect array: json: cannot unmarshal "
            f"{kind_of(patterns)} into Go value of type []interface {{}}"
        )
    for index, pattern in enumerate(patterns):
        if fault := pattern_fault(pattern, "/", NESTING):
            return f"[{index}].{fault[0]}.: {fault[1]}"
    return None


def pattern_fault(
    pattern: Json, path: str, allowed: Collection[AnchorKind]
) -> tuple[str, str] | None:
    """Return the path of the first unknown anchor, and Kyverno's message about it."""
    if isinstance(pattern, dict):
        for key, value in pattern.items():
            anchor = parse_anchor(key)
            if anchor is None:
                fault: str | None = None
            elif anchor.kind not in allowed:
                fault = f"unsupported anchor {key}"
            elif anchor.kind is AnchorKind.EXISTENCE and not isinstance(value, list):
                fault = "existence anchor should have value of type list"
            elif anchor.kind is AnchorKind.EXISTENCE and not value:
                fault = "existence anchor: should have at least one value"
            else:
                fault = None
            if fault:
                return f"{path}/{key}", fault
            if below := pattern_fault(value, f"{path}/{key}", allowed):
                return below
    elif isinstance(pattern, list):
        for index, value in enumerate(pattern):
            if below := pattern_fault(value, f"{path}{index}/", allowed):
                return below
    return None


def same_kind_fault(rule: Rule) -> str | None:
    """Return the fault of a rule that its own generated objects trigger, if its match names kinds
    directly."""
    kind = (rule.generate or {}).get("kind") or ""
    if kind in rule.match.direct.kinds:
        return "generation kind and match resource kind should not be the same"
    return None
