"""The checks of Kyverno's webhook that its command line leaves out, as far as files alone decide
them (`pkg/validation/policy`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.engine.kubernetes.definitions import show_path
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.model import Body, Diagnostic, FieldPath, Severity, pointer_of
from chartkit.schemas.kind_selectors import parse_kind_selector

IsClusterWide = Callable[[str], bool | None]
"""A test whether a kind, written `v1/Namespace`, `group/version/Kind` or `Kind`, is cluster-scoped;
None where that is not known, and then nothing about its scope is refused."""


def nothing_cluster_wide(_kind: str) -> bool:
    """Return False: Kyverno's command-line program knows no kinds offline."""
    return False


_KINDS_OF_PATTERN: Final = "data, clone, cloneList and foreach"


def generation_faults(
    policy: Policy, rule: Rule, place: str, cluster_wide: IsClusterWide
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
            f"{place}: Forbidden: only one of generate patterns({_KINDS_OF_PATTERN}) can be "
            "specified"
        )
        return
    blocks = [(place, body)]
    if body.get("foreach") is not None:
        blocks = [(f"{place}.foreach[{at}]", block) for at, block in enumerate(body["foreach"])]
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
    """Yield a warning, in Kyverno's words, for each reason to refuse a policy; problems: why its
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
