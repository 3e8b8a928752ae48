"""The checks of Kyverno's webhook that its command line leaves out, as far as files alone decide
them (`pkg/validation/policy`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from chartkit.engine.cluster_policy.policy import Policy
from chartkit.engine.kubernetes.definitions import show_path
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.model import Diagnostic, FieldPath, Severity, pointer_of
from chartkit.schemas.kind_selectors import parse_kind_selector

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
