"""The checks of Kyverno's webhook that its command line leaves out, as far as files alone decide
them (`pkg/validation/policy`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from chartkit.engine.cluster_policy.policy import Match, Policy, ResourceFilter, Rule
from chartkit.engine.cluster_policy.policy_check.generation import IsClusterWide
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.model import Diagnostic, Severity, pointer_of
from chartkit.schemas.kind_selectors import parse_kind_selector

_SUBRESOURCES: Final = (
    *("approval", "attach", "binding", "ephemeralcontainers", "eviction", "exec", "finalize"),
    *("log", "portforward", "proxy", "resize", "scale", "status", "token"),
)
"""The subresources of Kubernetes' own kinds."""
_HINT: Final = "Kyverno's webhook refuses the policy when it is created: a cluster never has it"
_Path = tuple[str | int, ...]


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
) -> Iterator[tuple[_Path, str]]:
    if problems:
        text = f"match conditions compilation errors: [{' '.join(problems)}]"
        yield ("spec", "webhookConfiguration", "matchConditions"), text
    for index, rule in enumerate(policy.rules):
        for path, resource_filter in filters_of(rule):
            at = ("spec", "rules", index, *path)
            shown = ""
            for part in at:
                shown += f"[{part}]" if isinstance(part, int) else f".{part}" if shown else part
            for number, kind in enumerate(resource_filter.kinds):
                where = (*at, "resources", "kinds", number)
                if policy.namespace and cluster_wide(kind):
                    yield (
                        where,
                        f"{shown}.kinds[{number}]: Forbidden: Cluster wide resource '{kind}' not "
                        "allowed in namespaced policy",
                    )
                elif _is_scanned(policy, rule) and _names_subresource(kind):
                    yield (
                        where,
                        f"path: {shown}.kinds: background scan enabled with subresource {kind}",
                    )


def filters_of(rule: Rule) -> Iterator[tuple[_Path, ResourceFilter]]:
    """Yield the filters of a rule's match and exclude blocks, with their paths in the rule."""
    blocks: list[tuple[str, Match | None]] = [("match", rule.match), ("exclude", rule.exclude)]
    for name, block in blocks:
        if block is not None:
            yield from (((name, "any", at), one) for at, one in enumerate(block.any))
            yield from (((name, "all", at), one) for at, one in enumerate(block.all))
            yield (name,), block.direct


def _is_scanned(policy: Policy, rule: Rule) -> bool:
    return policy.background and bool(rule.body.get("validate"))


def _names_subresource(selector: str) -> bool:
    subresource = parse_kind_selector(selector).subresource
    return bool(subresource) and any(map(compile_wildcard(subresource), _SUBRESOURCES))
