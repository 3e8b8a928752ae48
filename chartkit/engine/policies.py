"""Policies of either generation, told apart by their kind: read, compiled, and asked alike.

What CEL needs is loaded when the first policy needs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from chartkit.engine.cel_policies.admission.bindings import is_binding
from chartkit.engine.cel_policies.policy import CelKind
from chartkit.engine.cel_policies.reader import is_cel_policy
from chartkit.engine.cleanup import CleanupPolicy, read_cleanup_policy
from chartkit.engine.cleanup.policy import KINDS as CLEANUP_KINDS
from chartkit.engine.cluster_policy.compile import CompiledPolicy, compile_policy
from chartkit.engine.cluster_policy.exceptions import PolicyException, read_exception
from chartkit.engine.cluster_policy.failure_action import AUDIT, ENFORCE, rule_action
from chartkit.engine.cluster_policy.policy_check.generation import (
    IsClusterWide,
    nothing_cluster_wide,
)
from chartkit.engine.cluster_policy.policy_reader import KINDS
from chartkit.model import Resource

if TYPE_CHECKING:
    from chartkit.engine.cel_policies.compile import CompiledCelPolicy
    from chartkit.engine.cel_policies.exceptions import CelException
    from chartkit.engine.cleanup.deleting import DeletingPolicy

AnyPolicy: TypeAlias = "CompiledPolicy | CompiledCelPolicy"
"""A compiled policy that judges, changes or makes objects when they are admitted."""
Cleaner: TypeAlias = "CleanupPolicy | DeletingPolicy"
"""A compiled policy that deletes objects on a schedule."""

EXCEPTION: Final = "PolicyException"
"""The kind of exceptions in both generations."""
_GROUP: Final = "kyverno.io"
_CEL_GROUP: Final = "policies.kyverno.io"
_DENY: Final = "Deny"


def is_policy(resource: Resource) -> bool:
    """Whether an object is a policy that the engine reads."""
    return is_cel_policy(resource) or (
        _group(resource) == _GROUP and resource.kind in (*KINDS, *CLEANUP_KINDS)
    )


def is_exception(resource: Resource) -> bool:
    """Whether an object is a PolicyException of either generation."""
    return resource.kind == EXCEPTION and _group(resource) in (_GROUP, _CEL_GROUP)


def _group(resource: Resource) -> str:
    return resource.api_version.partition("/")[0]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What stands beside policies and changes what they say: exceptions of both generations, the
    bindings of Kubernetes' own policies, and whether Kyverno's controllers have the flag
    `--allowHTTPInNamespacedPolicies`."""

    exceptions: tuple[PolicyException, ...] = ()
    cel_exceptions: tuple[CelException, ...] = ()
    bindings: tuple[Resource, ...] = ()
    allows_http: bool = False

    def with_bindings(self, found: Iterable[Resource]) -> Surroundings:
        """These, and the bindings among some objects."""
        return replace(self, bindings=(*self.bindings, *filter(is_binding, found)))


NOTHING_AROUND: Final = Surroundings()


def read_exceptions(found: Iterable[Resource]) -> Surroundings:
    """The exceptions among some objects; raises CompileError for one that Kyverno refuses."""
    old: list[PolicyException] = []
    new: list[CelException] = []
    for resource in filter(is_exception, found):
        if _group(resource) == _GROUP:
            old.append(read_exception(resource))
        else:
            from chartkit.engine.cel_policies.exceptions import read_cel_exception

            new.append(read_cel_exception(resource))
    return Surroundings(tuple(old), tuple(new))


def compile_any(
    resource: Resource,
    around: Surroundings = NOTHING_AROUND,
    cluster_wide: IsClusterWide = nothing_cluster_wide,
) -> AnyPolicy | Cleaner:
    """Compiles a policy of any kind that `is_policy` knows; raises CompileError.

    cluster_wide: which kinds stand outside namespaces, for what generate rules may generate there.
    """
    if resource.kind.endswith(CelKind.DELETING):
        from chartkit.engine.cleanup.deleting import read_deleting_policy

        return read_deleting_policy(resource, around.cel_exceptions, around.allows_http)
    if is_cel_policy(resource):
        from chartkit.engine.cel_policies.compile import compile_cel_policy

        return compile_cel_policy(
            resource, around.cel_exceptions, around.bindings, around.allows_http
        )
    if resource.kind in CLEANUP_KINDS:
        return read_cleanup_policy(resource)
    return compile_policy(resource, around.exceptions, cluster_wide)


def sorted_out(
    found: Iterable[AnyPolicy | Cleaner],
) -> tuple[tuple[AnyPolicy, ...], tuple[Cleaner, ...]]:
    """Policies that speak when objects are admitted, and those that delete on a schedule."""
    admitting: list[AnyPolicy] = []
    cleaners: list[Cleaner] = []
    for one in found:
        if isinstance(one, CleanupPolicy):
            cleaners.append(one)
        elif isinstance(one, CompiledPolicy):
            admitting.append(one)
        else:
            from chartkit.engine.cleanup.deleting import DeletingPolicy

            if isinstance(one, DeletingPolicy):
                cleaners.append(one)
            else:
                admitting.append(one)
    return tuple(admitting), tuple(cleaners)


def judges_json(compiled: AnyPolicy) -> bool:
    """Whether a policy is for plain JSON: Kyverno's controllers do not ask it about admissions."""
    return not isinstance(compiled, CompiledPolicy) and compiled.policy.json


def action_of(
    compiled: AnyPolicy, rule: str, namespace: str, labels: Mapping[str, str] | None = None
) -> str:
    """`Enforce` or `Audit`: whether a failure of a rule refuses an object in a namespace.

    rule: as in a result; labels: those of the namespace. Of a CEL policy its actions decide, or
    those of its bindings; without any it denies.
    """
    if isinstance(compiled, CompiledPolicy):
        return rule_action(compiled.policy, rule, namespace, labels)
    return ENFORCE if _denies(compiled.actions) else AUDIT


def _denies(actions: Sequence[str]) -> bool:
    return not actions or _DENY in actions
