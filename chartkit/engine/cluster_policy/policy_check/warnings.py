"""Kyverno's warnings about a policy that it accepts, in its words (`Validate` of
`pkg/validation/policy`), settings without effect that it accepts silently, and faults that its
webhook rejects but its command line accepts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from chartkit.engine.cluster_policy.autogen import ANNOTATION, all_rules
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.engine.context.variables import has_variable
from chartkit.engine.kubernetes.definitions import WARNING_RULE, show_path
from chartkit.engine.kubernetes.kinds import KYVERNO_GROUP, group_of
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.go.fmt import go_json
from chartkit.model import Body, Diagnostic, FieldPath, Json, Resource, Severity, pointer_of
from chartkit.schemas.kind_selectors import parse_kind_selector
from chartkit.wording import counted

_ACTIONS: Final = (
    "Validation failure actions enforce/audit are deprecated, use Enforce/Audit instead."
)
_PATCHED_PODS: Final = (
    "Pods managed by workload controllers should not be directly mutated using policies. Use the "
    "autogen feature or write policies that match Pod controllers."
)
_EXCLUDED_PODS: Final = (
    "Policies that match Pods apply to all Pods including those created and managed by controllers "
    "excluded from autogen. Use preconditions to exclude the Pods managed by controllers which are "
    "excluded from autogen. Refer to https://kyverno.io/docs/policy-types/cluster-policy/autogen/ "
    "for details."
)
_SUBRESOURCE: Final = "You are matching on {0} but not including the {1} subresource in the policy."
_ADVICE: Final = frozenset(
    {
        _EXCLUDED_PODS,
        _SUBRESOURCE.format("replicas", "scale"),
        _SUBRESOURCE.format("status", "status"),
    }
)
_OPERATORS: Final = {"In": '["AllIn" "AnyIn"]', "NotIn": '["AllNotIn" "AnyNotIn"]'}
_CONTROLLERS: Final = ["cronjob", "daemonset", "deployment", "job", "statefulset"]
_NO_RULES: Final = "has no rules: it can never refuse, change or generate anything"
_NO_NAMESPACE: Final = "A clusterpolicy should not have the namespace defined"
_CLEARED: Final = (
    "remove metadata.namespace: Kyverno's command line refuses the policy, an API server clears it"
)
_NO_EFFECT: Final = "spec.schemaValidation has no effect: no part of Kyverno reads it"


_GUIDE: Final = "https://kyverno.io/docs/guides/migration-to-cel/"
_PLAN: Final = "`chartkit migrate plan` lists them, and what to do about each"
_KINDS_OF_RULES: Final = "{0}ValidatingPolicy, {0}MutatingPolicy, {0}GeneratingPolicy or {0}Image"
_NEWER: Final = {
    "ClusterPolicy": f"{_KINDS_OF_RULES.format('')}ValidatingPolicy",
    "Policy": f"{_KINDS_OF_RULES.format('Namespaced')}ValidatingPolicy",
    "ClusterCleanupPolicy": "DeletingPolicy",
    "CleanupPolicy": "NamespacedDeletingPolicy",
    "PolicyException": "PolicyException",
}


def is_legacy(resource: Resource) -> bool:
    """Report whether an object is of a kind that policies.kyverno.io replaces, in any version."""
    return resource.kind in _NEWER and group_of(resource) == KYVERNO_GROUP


def deprecation(resource: Resource) -> str:
    """Return Kyverno's warning about every policy of kyverno.io (`pkg/deprecations`); empty for
    others."""
    if not is_legacy(resource):
        return ""
    return (
        f"{resource.kind} (kyverno.io) is deprecated and will be removed in a future release; "
        f"migrate to {_NEWER[resource.kind]} (policies.kyverno.io), see {_GUIDE}"
    )


def deprecations(policies: Iterable[Resource]) -> Iterator[Diagnostic]:
    """Return a note for each kyverno.io kind among policies, with the number of its policies."""
    of_kinds: dict[str, list[Resource]] = {}
    for resource in policies:
        if text := deprecation(resource):
            of_kinds.setdefault(text, []).append(resource)
    for text, resources in of_kinds.items():
        count = counted(len(resources), "policy", "policies")
        location = resources[0].location
        yield Diagnostic(WARNING_RULE, Severity.NOTE, f"{count}: {text}", location, _PLAN)


def policy_warnings(policy: Policy) -> list[Diagnostic]:
    """Return the warnings for the author of a ClusterPolicy or Policy that compiles, each once."""
    warnings = dict.fromkeys((*_of_policy(policy), *_of_rules(policy)))
    name, location = policy.name, policy.resource.location
    return [
        # Advice that holds for some policies alone is a note.
        Diagnostic(
            WARNING_RULE,
            Severity.NOTE if text in _ADVICE else Severity.WARNING,
            f"{name}: {text}",
            location,
            hint,
        )
        for text, hint in warnings
    ]


_Warning = tuple[str, str | None]


def _of_policy(policy: Policy) -> Iterator[_Warning]:
    spec: Body = policy.resource.body["spec"]
    if policy.resource.kind == "ClusterPolicy" and policy.resource.namespace:
        yield _NO_NAMESPACE, _CLEARED
    if not policy.rules:
        yield _NO_RULES, "add rules, or remove the policy"
    if spec.get("schemaValidation") is not None:
        yield _NO_EFFECT, "remove it"
    overrides: list[Body] = list(policy.resource.body["spec"].get(_OVERRIDES) or ())
    given: list[Json] = [policy.failure_action]
    for rule in policy.rules:
        validate: Body = rule.body.get("validate") or {}
        given.append(validate.get("failureAction"))
        overrides += validate.get("failureActionOverrides") or ()
    given += [override.get("action") for override in overrides]
    has_small_letters = any(action in ("enforce", "audit") for action in given)
    if has_small_letters:
        yield _ACTIONS, None


_OVERRIDES: Final = "validationFailureActionOverrides"


def _of_rules(policy: Policy) -> Iterator[_Warning]:
    for index, rule in enumerate(policy.rules):
        yield from _generation(rule, f"spec.rules[{index}].generate")
    named = policy.annotations.get(ANNOTATION)
    if named is None or named == "none":
        leaves_controllers_out = False
    else:
        leaves_controllers_out = sorted(named.lower().split(",")) != _CONTROLLERS
    for rule in all_rules(policy):
        kinds = rule.match.kinds
        if "Pod" in rule.match.direct.kinds and (rule.mutate or {}).get("patchesJson6902"):
            yield _PATCHED_PODS, None
        if leaves_controllers_out and {_kind(kind) for kind in kinds} == {"Pod"}:
            yield _EXCLUDED_PODS, None
        subresource_kinds = [*kinds, *(rule.exclude.kinds if rule.exclude else ())]
        judged: list[Body] = [_judged(rule.body.get("validate") or {})]
        judged += [_judged(image.get("validate") or {}) for image in rule.verify_images]
        texts = [go_json(body) for body in judged if body]
        if rule.mutate:
            subresource_kinds += [
                target.get("kind") or "" for target in rule.mutate.get("targets") or ()
            ]
            texts.append(go_json(rule.mutate))
        lowered = [kind.lower() for kind in subresource_kinds]
        for text in texts:
            if "replicas" in text and not any("scale" in kind for kind in lowered):
                yield _SUBRESOURCE.format("replicas", "scale"), None
            if (".status" in text or '"status":' in text) and not any(
                "status" in k for k in lowered
            ):
                yield _SUBRESOURCE.format("status", "status"), None
        for image in rule.verify_images:
            for attestation in image.get("attestations") or ():
                if kind := attestation.get("predicateType"):
                    instead = f"use 'type: {kind}' instead of 'predicateType: {kind}'"
                    yield f"predicateType has been deprecated {instead}", None
        yield from _operators(rule)


def _generation(rule: Rule, path: str) -> Iterator[_Warning]:
    generate = rule.generate or {}
    loops = generate.get("foreach")
    patterns = [(path, generate)]
    if loops is not None:
        patterns = [(f"{path}.foreach[{index}]", loop) for index, loop in enumerate(loops)]
    for field, pattern in patterns:
        named = [pattern.get(key) for key in ("kind", "apiVersion", "clone", "cloneList")]
        if has_variable(go_json(named)):
            text = "would lead to incorrect synchronization behavior"
            yield f"variables in {field}.clone/cloneList {text}", None


def _kind(selector: str) -> str:
    """The kind that a selector (`apps/v1/Deployment`, `Pod/status`) names."""
    parts = selector.split("/")
    return next((part for part in parts if part[:1].isupper()), parts[-1]).partition(".")[0]


def _judged(validate: Body) -> Body:
    deny = validate.get("deny")
    if not isinstance(deny, dict):
        return validate
    return {**validate, "deny": {key: deny[key] for key in deny if key != "conditions"}}


def _operators(rule: Rule) -> Iterator[_Warning]:
    validate: Body = rule.body.get("validate") or {}
    blocks: list[Json] = [(validate.get("deny") or {}).get("conditions")]
    for loop in validate.get("foreach") or ():
        blocks += [loop.get("preconditions"), (loop.get("deny") or {}).get("conditions")]
    for image in rule.verify_images:
        for attestation in image.get("attestations") or ():
            blocks += attestation.get("conditions") or ()
    for block in blocks:
        if isinstance(block, dict):
            block = [*(block.get("any") or ()), *(block.get("all") or ())]
        for condition in block if isinstance(block, list) else ():
            if isinstance(condition, dict):
                operator = str(condition.get("operator"))
                instead = _OPERATORS.get(operator)
                if instead is not None:
                    deprecated = "has been deprecated and will be removed soon"
                    yield f"Operator {operator} {deprecated}. Use these instead: {instead}", None


IsClusterWide = Callable[[str], bool | None]
"""A test whether a kind, written `v1/Namespace`, `group/version/Kind` or `Kind`, is cluster-scoped;
None where that is not known, and then nothing about its scope is refused."""


def nothing_cluster_wide(_kind: str) -> bool:
    """Return False: Kyverno's command-line program knows no kinds offline."""
    return False


_SUBRESOURCES: Final = (
    *("approval", "attach", "binding", "ephemeralcontainers", "eviction", "exec", "finalize"),
    *("log", "portforward", "proxy", "resize", "scale", "status", "token"),
)
"""The subresources of Kubernetes' own kinds."""
_SUBRESOURCE_KINDS: Final = frozenset({"Scale", "TokenRequest"}) | {
    f"{name}Options"
    for name in ("NodeProxy", "PodAttach", "PodExec", "PodPortForward", "PodProxy", "ServiceProxy")
}
"""The kinds that only subresources of Kubernetes' own resources have."""
_HINT: Final = "Kyverno's webhook refuses the policy when it is created: a cluster never has it"


def webhook_refusals(
    policy: Policy, cluster_wide: IsClusterWide, problems: Sequence[str], rule_id: str
) -> Iterator[Diagnostic]:
    """Yield a warning, in Kyverno's words, for each reason to reject a policy; problems: why its
    webhook's match conditions do not compile."""
    for path, text in _faults(policy, cluster_wide, problems):
        location = policy.resource.location.within(pointer_of(*path))
        message = f"{policy.key}: {text}"
        yield Diagnostic(rule_id, Severity.WARNING, message, location, _HINT)


def _faults(
    policy: Policy, cluster_wide: IsClusterWide, problems: Sequence[str]
) -> Iterator[tuple[FieldPath, str]]:
    if problems:
        text = f"match conditions compilation errors: [{' '.join(problems)}]"
        yield ("spec", "webhookConfiguration", "matchConditions"), text
    for index, rule in enumerate(policy.rules):
        for path, resource_filter in rule.filters():
            at = ("spec", "rules", index, *path)
            kinds, is_scanned = (
                f"{show_path(at)}.kinds",
                policy.background and rule.body.get("validate"),
            )
            for number, kind in enumerate(resource_filter.kinds):
                if policy.namespace and cluster_wide(kind):
                    text = f"Cluster wide resource '{kind}' not allowed in namespaced policy"
                    text = f"{kinds}[{number}]: Forbidden: {text}"
                elif _is_subresource(kind):
                    text = f"path: {kinds}: unable to convert GVK to GVR for kinds {kind}"
                elif is_scanned and _names_subresource(kind):
                    text = f"path: {kinds}: background scan enabled with subresource {kind}"
                else:
                    continue
                yield (*at, "resources", "kinds", number), text


def _is_subresource(text: str) -> bool:
    """Report whether a selector names the kind of a subresource alone, which discovery finds below
    no resource (`FindResources` of `pkg/clients/dclient`)."""
    selector = parse_kind_selector(text)
    is_own = selector.group in ("*", "", "autoscaling", "authentication.k8s.io")
    return is_own and not selector.subresource and selector.kind in _SUBRESOURCE_KINDS


def _names_subresource(selector: str) -> bool:
    subresource = parse_kind_selector(selector).subresource
    return bool(subresource) and any(map(compile_wildcard(subresource), _SUBRESOURCES))
