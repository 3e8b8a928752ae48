"""The checks of what a rule does: one action, anchors where they are known, lists where needed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from chartkit.documents.reader import parse_yaml
from chartkit.engine.cluster_policy.policy import Rule, RuleKind
from chartkit.engine.context.variables.syntax import find_variables, split_text
from chartkit.engine.scalars.wildcard import has_wildcard
from chartkit.errors import InputError
from chartkit.go.fmt import go_json
from chartkit.go.types import kind_of
from chartkit.model import Body, Json

_ANCHOR: Final = re.compile(r"([+<=X^])?\((.+)\)")
_KNOWN_ANCHORS: Final = frozenset(("", "^", "=", "X", "<"))


def action_fault(rule: Rule) -> str | None:
    """Return the fault of a rule's action, below `spec.rules[n].`; None for none."""
    check = _CHECKS.get(rule.kind, _validate_fault)
    return check(rule)


def _mutate_fault(rule: Rule) -> str | None:
    mutate = rule.mutate or {}
    merge, patch = mutate.get("patchStrategicMerge") is not None, mutate.get("patchesJson6902")
    if mutate.get("foreach"):
        if merge or patch:
            return (
                "mutate.foreach.: only one of `foreach`, `patchStrategicMerge`, or "
                "`patchesJson6902` is allowed"
            )
        return _mutate_foreach_fault(mutate["foreach"], "")
    if merge and patch:
        return f"mutate.foreach.: {_ONE_PATCH}"
    return f"mutate..: {_CEL_ONLY}" if rule.cel_preconditions else None


_ONE_PATCH: Final = "only one of `patchStrategicMerge` or `patchesJson6902` is allowed"
_CEL_ONLY: Final = "celPrecondition can only be used with validate.cel"


def _mutate_foreach_fault(blocks: Json, tag: str) -> str | None:
    for index, block in enumerate(blocks):
        tag += f"foreach[{index}]"
        nested = block.get("foreach")
        merge, patch = block.get("patchStrategicMerge"), block.get("patchesJson6902")
        if isinstance(nested, list) and nested:
            if block.get("context") or block.get("preconditions") or patch or merge is not None:
                return f"mutate.{tag}.: a nested foreach cannot contain other declarations"
            return _mutate_foreach_fault(nested, tag)
        if bool(patch) == (merge is not None):
            return f"mutate.{tag}.: {_ONE_PATCH}"
    return None


def _generate_fault(rule: Rule) -> str | None:
    generate = rule.generate or {}
    selector = (generate.get("cloneList") or {}).get("selector")
    if selector is not None and has_wildcard(go_json(selector)):
        return "generate.selector.: wildcard characters `*/?` not supported"
    if found := _pattern_fault(generate.get("data"), "/", frozenset()):
        return f"generate.data.{found[0]}.: anchors not supported on generate resources: {found[1]}"
    return None


def same_kind_fault(rule: Rule) -> str | None:
    """A rule that would be triggered by what it generates, where its match names kinds directly."""
    kind = (rule.generate or {}).get("kind") or ""
    if kind in rule.match.direct.kinds:
        return "generation kind and match resource kind should not be the same"
    return None


def _validate_fault(rule: Rule) -> str | None:
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
    if found := _pattern_fault(validate.pattern, "/", _KNOWN_ANCHORS):
        return f"validate.pattern.{found[0]}.: {found[1]}"
    if fault := _any_pattern_fault(validate.any_pattern):
        return f"validate.anyPattern{fault}"
    for block in validate.foreach:
        if fault := _foreach_fault(block):
            return f"validate..: {fault}"
    if rule.cel_preconditions and validate.cel is None:
        return f"validate..: {_CEL_ONLY}"
    return None


def _one_of(count: int, names: str) -> str | None:
    if count == 0:
        return f"one of {names} must be specified"
    return f"only one of {names} can be specified" if count > 1 else None


def _any_pattern_fault(patterns: Json) -> str | None:
    if patterns is None:
        return None
    if not isinstance(patterns, list):
        return (
            ".: failed to deserialize anyPattern, expect array: json: cannot unmarshal "
            f"{kind_of(patterns)} into Go value of type []interface {{}}"
        )
    for index, pattern in enumerate(patterns):
        if fault := _pattern_fault(pattern, "/", _KNOWN_ANCHORS):
            return f"[{index}].{fault[0]}.: {fault[1]}"
    return None


def _foreach_fault(block: Body) -> str | None:
    if not block.get("list"):
        return "foreach.list is required"
    count = sum(
        (
            block.get("pattern") is not None,
            block.get("anyPattern") is not None,
            block.get("deny") is not None,
            bool(block.get("foreach")),
        )
    )
    return _one_of(count, "pattern, anyPattern, deny, or a nested foreach")


def _pattern_fault(pattern: Json, path: str, known: frozenset[str]) -> tuple[str, str] | None:
    """The first anchor that is not among those known, its path and what Kyverno says of it."""
    if isinstance(pattern, dict):
        for key, value in pattern.items():
            if fault := _key_fault(key, value, known):
                return f"{path}/{key}", fault
            if below := _pattern_fault(value, f"{path}/{key}", known):
                return below
    elif isinstance(pattern, list):
        for index, value in enumerate(pattern):
            if below := _pattern_fault(value, f"{path}{index}/", known):
                return below
    return None


def _key_fault(key: str, value: Json, known: frozenset[str]) -> str | None:
    match = _ANCHOR.fullmatch(key.strip())
    if match is None:
        return None
    kind = match[1] or ""
    if kind not in known:
        return f"unsupported anchor {key}"
    if kind == "^" and not isinstance(value, list):
        return "existence anchor should have value of type list"
    if kind == "^" and not value:
        return "existence anchor: should have at least one value"
    return None


_CHECKS: Final[dict[RuleKind, Callable[[Rule], str | None]]] = {
    RuleKind.MUTATE: _mutate_fault,
    RuleKind.MUTATE_EXISTING: _mutate_fault,
    RuleKind.GENERATE: _generate_fault,
    RuleKind.VERIFY_IMAGES: lambda _rule: None,
}


_STAND_IN: Final = "kyvernojsonpatchvariable"


def json_patch_fault(rule: Rule, index: int) -> str | None:
    """Return the fault of the operations, with text for every variable; None for none."""
    text = (rule.mutate or {}).get("patchesJson6902")
    if not text:
        return None
    place = f"spec.rules[{index}]"
    unsound = f"path must begin with a forward slash: {place}: "
    try:
        operations = parse_yaml(_without_variables(text))
    except InputError as error:
        from chartkit.go.yaml_errors import yaml_problem

        return unsound + (yaml_problem(text) or f"yaml: {error.message}")
    from chartkit.engine.cluster_policy.mutate import patch_problem

    if problem := patch_problem(operations):
        return unsound + problem
    return _operations_fault(operations or (), place, unsound)


def _operations_fault(operations: Json, place: str, unsound: str) -> str | None:
    for operation in operations:
        if not operation["path"].startswith("/"):
            return f"{unsound}{operation['path']}"
    for operation in operations:
        if operation["op"] == "test" and "value" not in operation:
            return f"invalid value: {place}: operation, missing value field: missing value"
    return None


def _without_variables(text: str) -> str:
    variables = find_variables(text)
    while variables:
        text = _STAND_IN.join(split_text(text, variables))
        variables = find_variables(text)
    return text
