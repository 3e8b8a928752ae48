"""The checks of one rule: what it matches, its conditions, context and action."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from chartkit.engine.cluster_policy.conditions.parse import check_conditions
from chartkit.engine.cluster_policy.policy import Policy, Rule, RuleKind
from chartkit.engine.cluster_policy.policy_check.actions import (
    action_fault,
    json_patch_fault,
    same_kind_fault,
)
from chartkit.engine.context.entries import check_entries
from chartkit.engine.context.variables.syntax import find_variables
from chartkit.engine.kubernetes.definitions import show_path
from chartkit.go.json_decoder import JsonError, parse_json
from chartkit.model import Body, Json, text_of, value_at


def only_metadata(rule: Rule) -> bool:
    """Return whether a rule's patterns and patches touch nothing but `metadata`."""
    if not isinstance(rule.validate.any_pattern, list | None):
        return False
    in_metadata = all(
        key == "metadata"
        for pattern in _overlays(rule)
        if isinstance(pattern, dict)
        for key in pattern
    )
    return in_metadata and all(path.startswith("/metadata") for path in _patched_paths(rule))


def _overlays(rule: Rule) -> Iterable[Json]:
    yield (rule.mutate or {}).get("patchStrategicMerge")
    yield rule.validate.pattern
    if isinstance(rule.validate.any_pattern, list):
        yield from rule.validate.any_pattern


def _patched_paths(rule: Rule) -> Iterable[str]:
    """Return the paths of a rule's JSON patch; Kyverno reads none of one written in YAML here."""
    try:
        operations = parse_json((rule.mutate or {}).get("patchesJson6902") or "[]")
    except JsonError:
        return []
    if not isinstance(operations, list) or not all(isinstance(one, dict) for one in operations):
        return []
    return [text_of(operation.get("path")) for operation in operations]


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


_ANY: Final = "*"
METADATA_ONLY: Final = (
    "policy can only deal with the metadata field of the resource if the rule does not match any "
    "kind"
)


def kinds_fault(policy: Policy, rules: Sequence[Rule]) -> str | None:
    """Return the fault of the kinds of a policy's rules, in Kyverno's words."""
    for index, rule in enumerate(rules):
        for path, one in rule.filters():
            if fault := _fault(one.kinds, policy.background, rule):
                return f"path: {show_path(('spec', 'rules', index, *path, 'kinds'))}: {fault}"
    return None


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
    keys = [condition.get("key") for condition in conditions if isinstance(condition, dict)]
    return any(isinstance(key, str) and not _is_about_metadata(key) for key in keys)


def _is_about_metadata(key: str) -> bool:
    if "request.object.metadata." in key:
        return True
    variable = key.partition("{{")[2].lstrip()
    allowed = variable.startswith(("request.", "serviceAccountName", "serviceAccountNamespace"))
    return allowed and "}}" in variable and "request.object.spec" not in key


def rule_fault(index: int, rule: Rule, namespaced: bool) -> str | None:
    """The first thing that is wrong with the rule at an index; None where it is sound. namespaced:
    whether it is a Policy's."""
    place = f"spec.rules[{index}]"
    if fault := json_patch_fault(rule, index):
        return fault
    if fault := _resources_fault(rule):
        return f"path: {place}.{fault}"
    # Kyverno walks the rule in no order; what the rule does is named rather than its context.
    action = {key: value for key, value in rule.body.items() if key != "context"}
    if fault := _element_fault({**action, **rule.body}, ""):
        return fault
    cel = rule.kind is RuleKind.CEL
    fault = check_entries(rule.body.get("context"), cel=cel, namespaced=namespaced)
    if fault is None:
        fault = _extractor_fault(rule)
    if fault:
        return f"path: {place}: {fault}"
    if not all(one.kinds for one in rule.match.any or rule.match.all or (rule.match.direct,)):
        return _NO_KINDS if only_metadata(rule) else METADATA_ONLY
    if fault := action_fault(rule):
        return f"path: {place}.{fault}"
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
    if fault := check_conditions(rule.preconditions, "preconditions"):
        return f"validate.{fault}"
    if fault := check_conditions((rule.validate.deny or {}).get("conditions"), "conditions"):
        return f"validate.deny.{fault}"
    fault = _foreach_fault(rule.validate.foreach, "validate.foreach")
    return fault or _foreach_fault((rule.mutate or {}).get("foreach") or (), "mutate.foreach")


def _describes(block: Body) -> bool:
    """Return whether a block says anything of the object; an empty list says something to
    Kyverno."""
    resources: Body = block.get("resources") or {}
    return any(value is not None and value != "" for value in resources.values())


def _foreach_fault(blocks: Iterable[Json], place: str) -> str | None:
    for block in blocks:
        if not isinstance(block, dict):
            continue
        if fault := check_conditions(block.get("preconditions"), "conditions", values=False):
            return f"{place}.{fault}"
        deny = block.get("deny")
        conditions = deny.get("conditions") if isinstance(deny, dict) else None
        if fault := check_conditions(conditions, "conditions", values=False):
            return f"{place}.deny.{fault}"
        nested = block.get("foreach")
        if isinstance(nested, list) and (fault := _foreach_fault(nested, place)):
            return f"{place}.{fault}"
    return None


_FOREACH: Final = "/foreach/"


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
            if fault := _element_fault(entry, f"{path}/{index}"):
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
