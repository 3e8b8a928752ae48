"""The checks of a rule's patches and generated objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from chartkit.documents.reader import parse_yaml
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.engine.cluster_policy.policy_check.rule import CEL_ONLY, pattern_fault
from chartkit.engine.cluster_policy.policy_check.warnings import IsClusterWide
from chartkit.engine.scalars.wildcard import has_wildcard
from chartkit.errors import InputError
from chartkit.go.fmt import go_json
from chartkit.go.json_decoder import JsonError, parse_json
from chartkit.model import Body, Json, text_of

_ONE_PATCH: Final = "only one of `patchStrategicMerge` or `patchesJson6902` is allowed"
_STAND_IN: Final = "kyvernojsonpatchvariable"


def patched_paths(rule: Rule) -> Iterable[str]:
    """The paths of a rule's JSON patch; Kyverno reads none from a patch written in YAML here."""
    try:
        operations = parse_json((rule.mutate or {}).get("patchesJson6902") or "[]")
    except JsonError:
        return []
    if not isinstance(operations, list) or not all(isinstance(entry, dict) for entry in operations):
        return []
    return [text_of(operation.get("path")) for operation in operations]


def mutate_fault(rule: Rule) -> str | None:
    """Return the fault of `mutate`, below `spec.rules[n].`, if any."""
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
    return f"mutate..: {CEL_ONLY}" if rule.cel_preconditions else None


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


def generate_fault(rule: Rule) -> str | None:
    """Return the fault of `generate`, below `spec.rules[n].`, if any."""
    generate = rule.generate or {}
    selector = (generate.get("cloneList") or {}).get("selector")
    if selector is not None and has_wildcard(go_json(selector)):
        return "generate.selector.: wildcard characters `*/?` not supported"
    if fault := pattern_fault(generate.get("data"), "/", ()):
        return f"generate.data.{fault[0]}.: anchors not supported on generate resources: {fault[1]}"
    return None


def json_patch_fault(rule: Rule, index: int) -> str | None:
    """Return the fault of the operations, with text for every variable, if any."""
    text = (rule.mutate or {}).get("patchesJson6902")
    if not text:
        return None
    path = f"spec.rules[{index}]"
    unsound = f"path must begin with a forward slash: {path}: "
    try:
        operations = parse_yaml(_without_variables(text))
    except InputError as error:
        from chartkit.go.json_decoder import yaml_problem

        return unsound + (yaml_problem(text) or f"yaml: {error.message}")
    from chartkit.engine.cluster_policy.mutate.json_patch import patch_problem

    if problem := patch_problem(operations):
        return unsound + problem
    return _operations_fault(operations or (), path, unsound)


def _operations_fault(operations: Json, path: str, unsound: str) -> str | None:
    for operation in operations:
        if not operation["path"].startswith("/"):
            return f"{unsound}{operation['path']}"
    for operation in operations:
        if operation["op"] == "test" and "value" not in operation:
            return f"invalid value: {path}: operation, missing value field: missing value"
    return None


def _without_variables(text: str) -> str:
    from chartkit.engine.context.variables.syntax import find_variables, split_text

    variables = find_variables(text)
    while variables:
        text = _STAND_IN.join(split_text(text, variables))
        variables = find_variables(text)
    return text


_KINDS_OF_PATTERN: Final = "data, clone, cloneList and foreach"


def generation_faults(
    policy: Policy, rule: Rule, path: str, cluster_wide: IsClusterWide
) -> Iterator[str]:
    """Return the faults of a rule's `generate`, in Kyverno's words."""
    body = rule.generate
    if not body:
        return
    clone: Body = body.get("clone") or {}
    given = (
        body.get("data") is not None,
        bool(clone.get("name") or clone.get("namespace")),
        (body.get("cloneList") or {}).get("kinds") is not None,
        body.get("foreach") is not None,
    )
    if sum(given) > 1:
        yield (
            f"{path}: Forbidden: only one of generate patterns({_KINDS_OF_PATTERN}) can be "
            "specified"
        )
        return
    blocks = [(path, body)]
    if body.get("foreach") is not None:
        blocks = [(f"{path}.foreach[{at}]", block) for at, block in enumerate(body["foreach"])]
    for where, block in blocks:
        for field, text in _pattern_faults(block, policy, cluster_wide):
            yield f"{where}.{field}: Forbidden: {text}"


def _pattern_faults(
    body: Body, policy: Policy, cluster_wide: IsClusterWide
) -> Iterator[tuple[str, str]]:
    """Yield the faults of a pattern: a field and the text."""
    namespace = body.get("namespace") or ""
    if policy.namespace and (fault := _leaves(body, policy, cluster_wide)):
        yield "namespace", f"target resource scope mismatched: {fault} "
    if body.get("kind"):
        is_outside = cluster_wide(f"{body.get('apiVersion') or ''}/{body['kind']}")
        if is_outside is False and not namespace:
            yield "namespace", "target namespace must be set for a namespaced resource"
        elif is_outside and namespace:
            yield "namespace", "target namespace must not be set for a cluster-wide resource"
    kinds = (body.get("cloneList") or {}).get("kinds") or ()
    if kinds:
        for field, text in _clone_list_faults(body["cloneList"], policy, cluster_wide):
            yield f"cloneList.{field}", text
        return
    for key in ("kind", "name", "apiVersion"):
        if not body.get(key):
            yield key, f"{key} can not be empty"


def _leaves(body: Body, policy: Policy, cluster_wide: IsClusterWide) -> str:
    """Return how a pattern leaves the policy's own namespace; empty if it does not."""
    target = f"{body.get('apiVersion') or ''}/{body.get('kind') or ''}"
    own, clone = policy.resource.namespace, body.get("clone") or {}
    namespace, source = body.get("namespace") or "", clone.get("namespace") or ""
    if cluster_wide(target):
        return f"the target must be a namespaced resource: {target}"
    refused = "a namespaced policy cannot {} other namespaces, expected: {}, received: {}"
    if namespace != own:
        return refused.format("generate resources in", own, namespace)
    if clone.get("name") and source != own:
        return refused.format("clone resources from", own, source)
    return ""


def _clone_list_faults(
    body: Body, policy: Policy, cluster_wide: IsClusterWide
) -> Iterator[tuple[str, str]]:
    kinds, namespace, own = body["kinds"], body.get("namespace") or "", policy.resource.namespace
    for kind in kinds if policy.namespace else ():
        if cluster_wide(kind):
            yield "kinds", f"the source in cloneList must be a namespaced resource: {kind}"
        if namespace != own:
            text = "a namespaced policy cannot clone resources from other namespace, expected: "
            yield "namespace", f"{text}{own}, received: {namespace}"
    scopes = [cluster_wide(kind) for kind in kinds]
    if {True, False}.issubset(scopes):
        yield "kinds", "mixed scope of target resources is forbidden"
    if None in scopes:
        return
    if not all(scopes):
        if not namespace:
            yield "namespace", "namespace is required for namespaced target resources"
    elif namespace and not policy.namespace:
        yield "namespace", "namespace is forbidden for cluster-wide target resources"
