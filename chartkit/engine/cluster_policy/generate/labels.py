"""The labels that Kyverno puts on what it generates (`pkg/background/common`)."""

from __future__ import annotations

from typing import Final

from chartkit.engine.cluster_policy.policy import Policy
from chartkit.engine.kubernetes.kinds import parse_api_version
from chartkit.engine.ports.cluster import key_of
from chartkit.model import Body

_PREFIX: Final = "generate.kyverno.io/"


def managed_labels(policy: Policy, rule: str, trigger: Body) -> dict[str, str]:
    """Return the labels of a generated object: the policy, the rule and the trigger."""
    return {
        "app.kubernetes.io/managed-by": "kyverno",
        f"{_PREFIX}policy-name": policy.name,
        f"{_PREFIX}policy-namespace": policy.namespace,
        f"{_PREFIX}rule-name": rule,
        **_reference("trigger", trigger),
    }


def source_labels(source: Body) -> dict[str, str]:
    """Return the labels that name the source of a clone."""
    return {f"{_PREFIX}clone-source": "", **_reference("source", source)}


def _reference(role: str, body: Body) -> dict[str, str]:
    key = key_of(body)
    group, version = parse_api_version(key.api_version)
    metadata = body.get("metadata")
    uid = metadata.get("uid") if isinstance(metadata, dict) else None
    return {
        f"{_PREFIX}{role}-group": group,
        f"{_PREFIX}{role}-version": version,
        f"{_PREFIX}{role}-kind": key.kind,
        f"{_PREFIX}{role}-namespace": key.namespace,
        f"{_PREFIX}{role}-uid": uid if isinstance(uid, str) else "",
    }
