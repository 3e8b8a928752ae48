"""Kinds of a cluster to read: those that the policies can match."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from chartkit.engine import Request, RunnablePolicy
from chartkit.model import Resource
from chartkit.network.cluster.discovery import ApiResource, Discovery, sample

PASSED_OVER_GROUPS: Final = frozenset(
    ("events.k8s.io", "wgpolicyk8s.io", "openreports.io", "reports.kyverno.io")
)
PASSED_OVER: Final = frozenset((("", "Event"), ("apps", "ReplicaSet")))
"""As `resourceFilters` of Kyverno's chart has it: events and reports, and what Deployments make."""


def kinds_to_read(policies: Iterable[RunnablePolicy], discovery: Discovery) -> list[ApiResource]:
    """Return the resources of which any policy may say something, in the order they are served.

    Of a kind with several versions the one that the server prefers is read, and another only for a
    policy that does not speak of that one.
    """
    policies = [one for one in policies if not one.judges_json]
    chosen: list[ApiResource] = []
    spoken: dict[tuple[str, str], set[int]] = {}
    for served in discovery.all:
        group, _, kind = served.kind
        if group in PASSED_OVER_GROUPS or (group, kind) in PASSED_OVER:
            continue
        speaking = {index for index, one in enumerate(policies) if _concerns(one, served)}
        known = spoken.setdefault((group, kind), set())
        if speaking - known:
            known |= speaking
            chosen.append(served)
    return chosen


def _concerns(policy: RunnablePolicy, served: ApiResource) -> bool:
    return policy.concerns(Request(Resource(sample(served)), plural=served.plural))
