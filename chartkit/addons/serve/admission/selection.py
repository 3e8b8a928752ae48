"""The policies that a webhook's path names, by what they do at admission.

`/validate` and `/mutate` name all policies. The other paths are those that Kyverno's own webhook
configurations use: `/validate/fail`, `/mutate/ignore/finegrained/NAME`, `/vpol/NAME/NAME`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from chartkit.addons.serve.admission.findings import Shared
from chartkit.addons.serve.admission.served_policies import (
    FAIL,
    IGNORE,
    enforces,
    failure_policy,
    is_cel,
)
from chartkit.engine import Phase, RunnablePolicy
from chartkit.engine.kubernetes.kinds import NAMESPACED, CelKind

FINE_GRAINED: Final = "finegrained"
_FAILURES: Final = {"fail": FAIL, "ignore": IGNORE}
_LONGEST: Final = 16_384
"""Characters of a path; that of a webhook names its policies."""


class Webhook(StrEnum):
    """The kind of a webhook, as Kyverno's metrics name it."""

    VALIDATING = "ValidatingWebhookConfiguration"
    MUTATING = "MutatingWebhookConfiguration"


CEL_PATHS: Final = {
    "vpol": (CelKind.VALIDATING, Webhook.VALIDATING),
    "gpol": (CelKind.GENERATING, Webhook.VALIDATING),
    "mpol": (CelKind.MUTATING, Webhook.MUTATING),
    "ivpol/validate": (CelKind.IMAGE_VALIDATING, Webhook.VALIDATING),
    "ivpol/mutate": (CelKind.IMAGE_VALIDATING, Webhook.MUTATING),
}
"""The path of each kind of CEL policies; those of namespaces have an `n` in front."""


@dataclass(frozen=True, slots=True)
class Path:
    """A parsed path. chooses: whether it names a policy."""

    webhook: Webhook
    chooses: Callable[[RunnablePolicy], bool]


@dataclass(frozen=True, slots=True)
class Selection:
    """Policies by what they do, in order.

    validating: those that may refuse, ClusterPolicies first; auditing: ClusterPolicies that
    cannot; mutating, verifying: ClusterPolicies; cel_mutating, cel_verifying: CEL policies;
    failure: `Fail` if it is the failure policy of any that enforces; looks_around: whether any may
    ask for more than the object; answers, audits: results that reviews share.
    """

    validating: tuple[RunnablePolicy, ...]
    auditing: tuple[RunnablePolicy, ...]
    mutating: tuple[RunnablePolicy, ...]
    verifying: tuple[RunnablePolicy, ...]
    cel_mutating: tuple[RunnablePolicy, ...]
    cel_verifying: tuple[RunnablePolicy, ...]
    failure: str
    looks_around: bool
    answers: Shared
    audits: Shared


def admits(policy: RunnablePolicy) -> bool:
    """Return whether a policy is asked when objects are admitted: by Kyverno, and not by an API
    server alone."""
    return policy.policy.admission and not (policy.judges_json or policy.runs_in_api_server)


def selected(policies: Iterable[RunnablePolicy]) -> Selection:
    """Return policies by what they do; those that are not asked at admission are left out."""
    asked = [policy for policy in policies if admits(policy)]
    old = [policy for policy in asked if not is_cel(policy)]
    new = [policy for policy in asked if is_cel(policy)]
    validating = _in(Phase.VALIDATE, old)
    enforcing = tuple(policy for policy in validating if enforces(policy))
    auditing = tuple(policy for policy in validating if not enforces(policy))
    refusing = (*enforcing, *_in(Phase.VALIDATE, new))
    return Selection(
        validating=refusing,
        auditing=auditing,
        mutating=_in(Phase.MUTATE, old),
        verifying=_in(Phase.IMAGES, old),
        cel_mutating=_in(Phase.MUTATE, new),
        cel_verifying=_in(Phase.IMAGES, new),
        failure=FAIL if any(failure_policy(policy) == FAIL for policy in enforcing) else IGNORE,
        looks_around=any(policy.looks_around for policy in asked),
        answers=Shared(refusing),
        audits=Shared(auditing),
    )


def _in(phase: Phase, policies: Sequence[RunnablePolicy]) -> tuple[RunnablePolicy, ...]:
    return tuple(policy for policy in policies if phase in policy.phases)


def parse_path(path: str) -> Path | None:
    """Return what a path names; None for one that is no webhook's."""
    root, *rest = path.strip("/").split("/")
    if len(path) > _LONGEST:
        return None
    if root in ("validate", "mutate"):
        webhook = Webhook.VALIDATING if root == "validate" else Webhook.MUTATING
        chooses = _by_failure(rest)
        return None if chooses is None else Path(webhook, chooses)
    if root in ("ivpol", "nivpol") and rest:
        root, rest = f"{root}/{rest[0]}", rest[1:]
    prefix, name = ("", root) if root in CEL_PATHS else (NAMESPACED, root.removeprefix("n"))
    if name not in CEL_PATHS or root not in (name, f"n{name}"):
        return None
    kind, webhook = CEL_PATHS[name]
    return Path(webhook, _by_names(f"{prefix}{kind}", frozenset(rest)))


def _by_failure(rest: Sequence[str]) -> Callable[[RunnablePolicy], bool] | None:
    """Return what chooses ClusterPolicies by `fail/finegrained/NAME`; all policies without it."""
    if not rest:
        return lambda _policy: True
    failure = _FAILURES.get(rest[0])
    if failure is None or (len(rest) > 1 and (rest[1] != FINE_GRAINED or len(rest) > 4)):
        return None
    key = "/".join(rest[2:])

    def chooses(policy: RunnablePolicy) -> bool:
        if is_cel(policy) or failure_policy(policy) != failure:
            return False
        return not key or policy.policy.key == key

    return chooses


def _by_names(kind: str, names: frozenset[str]) -> Callable[[RunnablePolicy], bool]:
    def chooses(policy: RunnablePolicy) -> bool:
        if policy.policy.resource.kind != kind:
            return False
        return not names or policy.policy.name in names

    return chooses
